/* Owns the cells of large chunks. See alloc/cells.h. */
#include "alloc/cells.h"
#include "meta/extents.h"

#include <stddef.h>

enum { EXTENTS = 4096, EXTENT_SIZE = 256 * 1024, PER_EXTENT = EXTENT_SIZE / PFA_LIVE_LARGE_CELL };
_Static_assert(sizeof(pfa_large_t) <= PFA_LIVE_LARGE_CELL, "a node fits its cell");
_Static_assert(offsetof(pfa_large_t, record) == 0, "a cell begins with the record");
_Static_assert(EXTENT_SIZE % PFA_LIVE_PAGE == 0, "extents are whole pages");

static char *extents[EXTENTS];
static _Atomic uint32_t extent_count;
/* The first free cell's number plus one, and above it a count of changes, so that a cell that was taken and given back
 * meanwhile is noticed. */
static _Atomic uint64_t first_free;

static pfa_large_t *cell_at(uint32_t number)
{
    return (pfa_large_t *)(void *)(extents[number / PER_EXTENT] + number % PER_EXTENT * (size_t)PFA_LIVE_LARGE_CELL);
}

static void push(pfa_large_t *cell)
{
    uint64_t head = pfa_load_relaxed(&first_free);
    uint64_t fresh;
    do {
        pfa_store_relaxed(&cell->next_free, (uint32_t)head);
        fresh = ((head >> 32) + 1) << 32 | (cell->number + 1u);
    } while (!pfa_cas_weak_acq_rel(&first_free, &head, fresh));
}

static pfa_large_t *pop(void)
{
    uint64_t head = pfa_load_acquire(&first_free);
    while ((uint32_t)head != 0) {
        pfa_large_t *cell = cell_at((uint32_t)head - 1);
        uint64_t fresh = ((head >> 32) + 1) << 32 | pfa_load_relaxed(&cell->next_free);
        if (pfa_cas_weak_acq_rel(&first_free, &head, fresh)) {
            return cell;
        }
    }
    return NULL;
}

/* One for the caller, the others free. */
static pfa_large_t *make_more(void)
{
    void *memory;
    uint32_t extent;
    uint32_t number = pfa_load_relaxed(&extent_count);
    if (number >= EXTENTS || pfa_extents_add(PFA_EXTENT_LARGES, number, EXTENT_SIZE, NULL, &memory, &extent) != 0) {
        return NULL;
    }
    if (pfa_extents_make_room(extent, 0, EXTENT_SIZE) != 0 || (number = pfa_add_relaxed(&extent_count, 1)) >= EXTENTS) {
        return NULL;
    }
    extents[number] = memory; /* seen by whoever gets a number of its cells from the list */
    uint32_t first = number * (uint32_t)PER_EXTENT;
    for (uint32_t i = 1; i < PER_EXTENT; i++) {
        cell_at(first + i)->number = first + i;
        push(cell_at(first + i));
    }
    cell_at(first)->number = first;
    return cell_at(first);
}

pfa_large_t *pfa_cells_take(void)
{
    pfa_large_t *cell = pop();
    return cell != NULL ? cell : make_more(); /* without a lock: two threads make more than one needs */
}

void pfa_cells_give(void *cell)
{
    push(cell);
}

void pfa_cells_after_fork(void)
{
    pfa_store_relaxed(&first_free, 0);
}
