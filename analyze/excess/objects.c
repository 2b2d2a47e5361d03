/* Owns allocation objects and the table they are summed in. See analyze/excess/objects.h. */
#include "analyze/excess/objects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t hash_of(uint32_t from, uint64_t size, uint32_t to)
{
    uint64_t hash = ((uint64_t)from << 32 | to) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 32 ^ size) * 0xd6e8feb86659fd93u;
    return (size_t)(hash ^ hash >> 32);
}

static bool is_cell(const pfa_cell_t *cell, uint32_t from, uint64_t size, uint32_t to)
{
    return cell->from == from && cell->size == size && cell->to == to;
}

static uint32_t *find_slot(const pfa_cells_t *cells, uint32_t from, uint64_t size, uint32_t to)
{
    size_t mask = cells->slot_count - 1;
    size_t at = hash_of(from, size, to) & mask;
    while (cells->slots[at] != 0 && !is_cell(&cells->list[cells->slots[at] - 1], from, size, to)) {
        at = (at + 1) & mask;
    }
    return &cells->slots[at];
}

static void grow_slots(pfa_cells_t *cells)
{
    free(cells->slots);
    cells->slot_count = cells->slot_count != 0 ? 2 * cells->slot_count : 1024;
    cells->slots = pfa_memory_get(cells->slot_count, sizeof *cells->slots);
    for (size_t i = 0; i < cells->count; i++) {
        const pfa_cell_t *cell = &cells->list[i];
        *find_slot(cells, cell->from, cell->size, cell->to) = (uint32_t)i + 1;
    }
}

pfa_cell_t *pfa_cells_get(pfa_cells_t *cells, uint32_t from, uint64_t size, uint32_t to)
{
    if (2 * cells->count >= cells->slot_count) {
        grow_slots(cells);
    }
    uint32_t *slot = find_slot(cells, from, size, to);
    if (*slot == 0) {
        cells->list = pfa_memory_grow(cells->list, &cells->room, cells->count + 1, sizeof *cells->list);
        cells->list[cells->count++] = (pfa_cell_t){.size = size, .from = from, .to = to, .next = PFA_CELL_NONE};
        *slot = (uint32_t)cells->count;
    }
    return &cells->list[*slot - 1];
}

void pfa_cells_free(pfa_cells_t *cells)
{
    free(cells->list);
    free(cells->slots);
    *cells = (pfa_cells_t){.list = NULL};
}

void pfa_objects_take(pfa_objects_t *objects, const pfa_taken_t *taken)
{
    pfa_cell_t *cell = pfa_cells_get(&objects->cells, taken->stack, taken->size, taken->destroyer);
    pfa_sum_add(&cell->sum, &(pfa_sum_t){.chunks = taken->weight,
                                         .variance = taken->weight * (taken->weight - 1),
                                         .life = taken->weight * taken->life,
                                         .step = taken->step});
}

static bool is_freed(const pfa_object_t *object)
{
    return object->destroyer != PFA_ROUTINE_NEVER;
}

/* Of equal frequency: by what does not change from run to run. */
static int compare_objects(const void *left, const void *right, void *context)
{
    const pfa_object_t *a = left;
    const pfa_object_t *b = right;
    const pfa_routines_t *routines = context;
    if (is_freed(a) != is_freed(b)) {
        return is_freed(a) ? -1 : 1;
    }
    if (a->sum.chunks != b->sum.chunks) {
        return a->sum.chunks > b->sum.chunks ? -1 : 1;
    }
    int order = strcmp(routines->list[a->caller].name, routines->list[b->caller].name);
    order = order != 0 ? order : (a->size > b->size) - (a->size < b->size);
    order = order != 0 ? order : strcmp(routines->list[a->destroyer].name, routines->list[b->destroyer].name);
    order = order != 0 ? order : (a->lifetime > b->lifetime) - (a->lifetime < b->lifetime);
    order = order != 0 ? order : (a->caller > b->caller) - (a->caller < b->caller);
    return order != 0 ? order : (a->destroyer > b->destroyer) - (a->destroyer < b->destroyer);
}

/* Puts the cells of each object into one, with a list of them. */
static void join_cells(pfa_cells_t *cells, pfa_routines_t *routines, pfa_cells_t *joined)
{
    for (size_t i = 0; i < cells->count; i++) {
        pfa_cell_t *cell = &cells->list[i];
        pfa_cell_t *joint = pfa_cells_get(joined, pfa_routines_of_stack(routines, cell->from), cell->size, cell->to);
        pfa_sum_add(&joint->sum, &cell->sum);
        cell->next = joint->next;
        joint->next = (uint32_t)i;
    }
}

static pfa_object_t make_object(const pfa_cell_t *joint, double least)
{
    double lifetime = pfa_sum_lifetime(&joint->sum, least);
    return (pfa_object_t){.size = joint->size,
                          .caller = joint->from,
                          .destroyer = joint->to,
                          .cells = joint->next,
                          .sum = joint->sum,
                          .lifetime = lifetime,
                          .ratio = joint->sum.chunks / lifetime};
}

void pfa_objects_finish(pfa_objects_t *objects, pfa_routines_t *routines, double least)
{
    pfa_cells_t joined = {.list = NULL};
    objects->least = least;
    free(objects->cells.slots);
    objects->cells.slots = NULL;
    objects->cells.slot_count = 0;
    join_cells(&objects->cells, routines, &joined);
    objects->list = pfa_memory_get(joined.count + 1, sizeof *objects->list);
    objects->count = joined.count;
    for (size_t i = 0; i < joined.count; i++) {
        pfa_object_t object = make_object(&joined.list[i], least);
        objects->list[i] = object;
        objects->chunks += object.sum.chunks;
        objects->bytes += object.sum.chunks * (double)object.size;
        objects->freed += is_freed(&object);
        objects->live += is_freed(&object) ? 0 : object.sum.chunks;
    }
    pfa_cells_free(&joined);
    qsort_r(objects->list, objects->count, sizeof *objects->list, compare_objects, routines);
}

void pfa_objects_free(pfa_objects_t *objects)
{
    pfa_cells_free(&objects->cells);
    free(objects->list);
}
