/* Owns the cells of large chunks. See alloc/cells.h. What links the free ones is not in the cells: a fork child must find
 * it as it was at the fork. */
#include "alloc/cells.h"
#include "base/atomic.h"
#include "base/sys.h"
#include "meta/extents.h"

#include <stddef.h>
#include <sys/mman.h>

/* An extent has cells, then the address of each one's chunk. */
enum {
    EXTENTS = 4096,
    EXTENT_SIZE = 256 * 1024,
    PER_EXTENT = EXTENT_SIZE / (PFA_LIVE_LARGE_CELL + sizeof(uint64_t)) /* pfa_live_cells */
};
_Static_assert(sizeof(pfa_wide_record_t) <= PFA_LIVE_LARGE_CELL, "a record fits its cell");
_Static_assert(EXTENT_SIZE % PFA_LIVE_PAGE == 0, "extents are whole pages");

typedef struct group {
    char *cells;
    _Atomic uint32_t next_free[PER_EXTENT]; /* the number of the free cell behind it, plus one */
} group_t;

static group_t *groups[EXTENTS];
static _Atomic uint32_t group_count;
/* The first free cell's number plus one, and above it a count of changes, so that a cell that was taken and given back
 * meanwhile is noticed. */
static _Atomic uint64_t first_free;

static pfa_wide_record_t *cell_at(uint32_t number)
{
    return (pfa_wide_record_t *)(void *)(groups[number / PER_EXTENT]->cells +
                                         number % PER_EXTENT * (size_t)PFA_LIVE_LARGE_CELL);
}

static _Atomic uint32_t *link_of(uint32_t number)
{
    return &groups[number / PER_EXTENT]->next_free[number % PER_EXTENT];
}

void pfa_cells_place(uint32_t number, uintptr_t address)
{
    _Atomic uint64_t *addresses =
        (_Atomic uint64_t *)(void *)(groups[number / PER_EXTENT]->cells + PER_EXTENT * (size_t)PFA_LIVE_LARGE_CELL);
    pfa_store_relaxed(&addresses[number % PER_EXTENT], address);
}

void pfa_cells_give(uint32_t number)
{
    uint64_t head = pfa_load_relaxed(&first_free);
    uint64_t fresh;
    do {
        pfa_store_relaxed(link_of(number), (uint32_t)head);
        fresh = ((head >> 32) + 1) << 32 | (number + 1u);
    } while (!pfa_cas_weak_acq_rel(&first_free, &head, fresh));
}

static bool pop(uint32_t *number)
{
    uint64_t head = pfa_load_acquire(&first_free);
    while ((uint32_t)head != 0) {
        *number = (uint32_t)head - 1;
        uint64_t fresh = ((head >> 32) + 1) << 32 | pfa_load_relaxed(link_of(*number));
        if (pfa_cas_weak_acq_rel(&first_free, &head, fresh)) {
            return true;
        }
    }
    return false;
}

static group_t *make_group(void)
{
    void *memory;
    void *cells;
    uint32_t extent;
    uint32_t index = pfa_load_relaxed(&group_count); /* for readers, who do not care if two are the same */
    if (index >= EXTENTS || pfa_sys_map(NULL, sizeof(group_t), PROT_READ | PROT_WRITE, 0, &memory) != 0) {
        return NULL;
    }
    if (pfa_extents_add(PFA_EXTENT_LARGES, index, EXTENT_SIZE, NULL, &cells, &extent) != 0 ||
        pfa_extents_make_room(extent, 0, EXTENT_SIZE) != 0) {
        (void)pfa_sys_unmap(memory, sizeof(group_t));
        return NULL;
    }
    group_t *group = memory;
    group->cells = cells;
    return group;
}

/* One for the caller, the others free. Two threads that are at it at once make more than they need. */
static bool make_more(uint32_t *number)
{
    group_t *group = make_group();
    uint32_t index = group != NULL ? pfa_add_relaxed(&group_count, 1) : EXTENTS;
    if (index >= EXTENTS) {
        return false;
    }
    groups[index] = group; /* seen by whoever gets a number of its cells from the list */
    *number = index * (uint32_t)PER_EXTENT;
    for (uint32_t i = 1; i < PER_EXTENT; i++) {
        pfa_cells_give(*number + i);
    }
    return true;
}

pfa_wide_record_t *pfa_cells_take(uint32_t *number)
{
    return pop(number) || make_more(number) ? cell_at(*number) : NULL;
}
