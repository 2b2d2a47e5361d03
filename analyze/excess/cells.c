/* Owns sums of chunks and the table they are in. See analyze/excess/cells.h. */
#include "analyze/excess/cells.h"

#include "analyze/base/memory.h"
#include "analyze/base/slots.h"
#include "analyze/base/text.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void pfa_object_sum_add(pfa_object_sum_t *sum, const pfa_object_sum_t *other)
{
    sum->chunks += other->chunks;
    sum->variance += other->variance;
    sum->life += other->life;
    sum->step = sum->step > other->step ? sum->step : other->step;
    sum->run += other->run;
    sum->bytes += other->bytes;
    sum->moved += other->moved;
}

double pfa_object_sum_lifetime(const pfa_object_sum_t *sum, double least)
{
    return fmax(fmax(sum->life, sum->step) / sum->chunks, least);
}

double pfa_object_sum_lifetime_within(const pfa_object_sum_t *sum)
{
    double each = (sum->variance + sum->chunks) / sum->chunks; /* the mean of w w by that of w */
    double variance = each * sum->step * fmin(fmax(sum->life, sum->step), sum->chunks * sum->step / 4);
    return fmin(pfa_half_width(variance) / sum->chunks, sum->step);
}

double pfa_object_sum_within(const pfa_object_sum_t *sum)
{
    return pfa_half_width(sum->variance);
}

enum { FEWEST = 64 }; /* slots */

static size_t hash_of(const pfa_cell_key_t *key)
{
    uint64_t hash = pfa_hash_mix((uint64_t)key->from << 32 | key->to, key->size);
    return pfa_slots_fold(pfa_hash_mix(hash, (uint64_t)key->group << 32 | key->source));
}

static bool is_same(const pfa_cell_key_t *a, const pfa_cell_key_t *b)
{
    return a->from == b->from && a->size == b->size && a->to == b->to && a->group == b->group && a->source == b->source;
}

static uint32_t *find_slot(const pfa_cells_t *cells, const pfa_cell_key_t *key)
{
    size_t mask = cells->slot_count - 1;
    size_t at = hash_of(key) & mask;
    while (cells->slots[at] != 0 && !is_same(&cells->list[cells->slots[at] - 1].key, key)) {
        at = (at + 1) & mask;
    }
    return &cells->slots[at];
}

static void grow_slots(pfa_cells_t *cells)
{
    pfa_memory_free(cells->slots);
    cells->slot_count = cells->slot_count != 0 ? 2 * cells->slot_count : FEWEST;
    cells->slots = pfa_memory_get(cells->slot_count, sizeof *cells->slots);
    for (size_t i = 0; i < cells->count; i++) {
        *find_slot(cells, &cells->list[i].key) = (uint32_t)i + 1;
    }
}

pfa_object_cell_t *pfa_cells_get(pfa_cells_t *cells, const pfa_cell_key_t *key)
{
    if (2 * cells->count >= cells->slot_count) {
        grow_slots(cells);
    }
    uint32_t *slot = find_slot(cells, key);
    if (*slot == 0) {
        cells->list = pfa_memory_grow(cells->list, &cells->room, cells->count + 1, sizeof *cells->list);
        cells->list[cells->count++] =
            (pfa_object_cell_t){.key = *key, .low = UINT64_MAX, .first = INFINITY, .next = PFA_CELL_NONE};
        *slot = (uint32_t)cells->count;
    }
    return &cells->list[*slot - 1];
}

void pfa_cell_join(pfa_object_cell_t *cell, const pfa_object_cell_t *other)
{
    pfa_object_sum_add(&cell->sum, &other->sum);
    cell->low = other->low < cell->low ? other->low : cell->low;
    cell->high = other->high > cell->high ? other->high : cell->high;
    cell->first = cell->first < other->first ? cell->first : other->first;
    cell->last = cell->last > other->last ? cell->last : other->last;
}

/* In place: there are never more new ones than old ones that were looked at. */
void pfa_cells_coarsen(pfa_cells_t *cells, uint64_t (*size_of)(void *to, uint64_t size), void *to)
{
    size_t count = cells->count;
    if (count == 0) {
        return;
    }
    cells->count = 0;
    memset(cells->slots, 0, cells->slot_count * sizeof *cells->slots);
    for (size_t i = 0; i < count; i++) {
        pfa_object_cell_t old = cells->list[i];
        old.key.size = size_of(to, old.key.size);
        pfa_cell_join(pfa_cells_get(cells, &old.key), &old);
    }
}

void pfa_cells_free(pfa_cells_t *cells)
{
    pfa_memory_free(cells->list);
    pfa_memory_free(cells->slots);
    *cells = (pfa_cells_t){.list = NULL};
}
