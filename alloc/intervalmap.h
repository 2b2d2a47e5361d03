/* The interval map: from any address inside a large chunk to its node, without a lock.
 *
 * A table with one pointer per 64 KiB granule of the map's span; a chunk's node stands in every granule it covers (two
 * large chunks never share one). Chunks outside the span go to a second level of the same shape: a root over the whole
 * address space with leaves made on demand, consulted only once something was put there.
 *
 *   find:  granules[(address - base) >> 16] -> node; and, unless the entry says that the chunk covers all of the granule,
 *          start <= address < start + size
 *
 * Guarantees:
 *   1. find is one load (two more on the second level), whatever the number of chunks. It may run at any time in any
 *      thread, also in a signal handler.
 *   2. insert and remove take no lock and never wait, neither for each other nor for readers. Only the thread that owns
 *      the interval calls insert; of several threads that remove one interval, exactly one gets the node.
 *   3. A node found is used inside an RCU read section (pfa_rcu_enter) only. A removed node goes to pfa_intervalmap_retire;
 *      pfa_intervalmap_reclaim frees those that no reader can hold any more. Neither waits.
 *   4. Only insert on the second level allocates (leaves, from the system); it may fail with ENOMEM.
 *   5. A fork child finds the map whole, since each entry is one store: of an interval that another thread was in the middle
 *      of inserting or removing some granules may be there, and its memory is that thread's alone. Nodes that another
 *      thread was in the middle of freeing are lost; the others are freed as ever.
 *
 * Memory order: insert's release stores are partners of find's acquire load: who finds a node sees it filled in. */
#ifndef PFA_ALLOC_INTERVALMAP_H
#define PFA_ALLOC_INTERVALMAP_H

#include "alloc/rcu.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "meta/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PFA_GRANULE_SHIFT 16
/* The second level: a root entry covers 4 GiB, enough of them for 48 bits of address. */
#define PFA_LEAF_SHIFT 32
#define PFA_ROOT_ENTRIES ((size_t)1 << (48 - PFA_LEAF_SHIFT))
#define PFA_LEAF_ENTRIES ((size_t)1 << (PFA_LEAF_SHIFT - PFA_GRANULE_SHIFT))

typedef struct pfa_large {
    pfa_record_t *record; /* in its cell (alloc/cells.h); wide, always: there are never many of them */
    uintptr_t start;
    size_t size; /* bytes the program may use, at least what it asked for */
    struct pfa_large *next_retired;
    void *mapping; /* of a chunk with memory of its own (alloc/large.c), else NULL */
    size_t mapping_size;
    uint32_t cell; /* the number of the record's */
    bool aligned;
} pfa_large_t;

/* A node's address, with bit 0 set when its chunk covers the whole granule: then the node need not be looked at. */
typedef _Atomic uintptr_t pfa_granule_t;
#define PFA_GRANULE_WHOLE ((uintptr_t)1)

PFA_INLINE pfa_large_t *pfa_granule_node(uintptr_t entry)
{
    return (pfa_large_t *)(entry & ~PFA_GRANULE_WHOLE);
}

typedef struct pfa_intervalmap {
    uintptr_t base;
    uint64_t span;
    pfa_granule_t *granules;
    _Atomic(pfa_granule_t *) *root; /* of the second level */
    _Atomic bool has_outside;
} pfa_intervalmap_t;

/* Makes an empty map; base and span are multiples of a granule. Returns 0 or an errno value. */
int pfa_intervalmap_open(pfa_intervalmap_t *map, uintptr_t base, uint64_t span);
void pfa_intervalmap_close(pfa_intervalmap_t *map);

int pfa_intervalmap_insert(pfa_intervalmap_t *map, pfa_large_t *node);
/* Takes the interval out that starts exactly at `start`, and returns its node; NULL if there is none. Call inside an RCU
 * read section: another thread may be removing it too. */
pfa_large_t *pfa_intervalmap_remove(pfa_intervalmap_t *map, uintptr_t start);

PFA_COLD pfa_granule_t *pfa_intervalmap_outside(const pfa_intervalmap_t *map, uintptr_t address);

/* The node of the interval that contains the address, or NULL. Inside an RCU read section. */
PFA_INLINE pfa_large_t *pfa_intervalmap_find(const pfa_intervalmap_t *map, uintptr_t address)
{
    uint64_t offset = address - map->base;
    const pfa_granule_t *granule;
    if (PFA_LIKELY(offset < map->span)) {
        granule = &map->granules[offset >> PFA_GRANULE_SHIFT];
    } else if (PFA_LIKELY(!pfa_load_relaxed(&map->has_outside))) {
        return NULL;
    } else {
        granule = pfa_intervalmap_outside(map, address);
        if (granule == NULL) {
            return NULL;
        }
    }
    uintptr_t entry = pfa_load_acquire(granule);
    pfa_large_t *node = pfa_granule_node(entry);
    if (PFA_LIKELY((entry & PFA_GRANULE_WHOLE) != 0)) {
        return node;
    }
    return node != NULL && address - node->start < node->size ? node : NULL;
}

/* Puts a removed node aside until no reader can hold it. Never waits. */
void pfa_intervalmap_retire(pfa_large_t *node);
/* Number of nodes put aside and not yet freed. */
size_t pfa_intervalmap_retired(void);
/* In a fork child: counts them anew. */
void pfa_intervalmap_after_fork(void);
/* Takes the grace period under way further, or begins one for what was retired up to now. Frees with `release` those for
 * which it is over; true if it did, or if there are none: false says that it is worth while to call again soon. Any thread
 * may call it; if another is at it, nothing happens. */
bool pfa_intervalmap_reclaim(void (*release)(void *node));

#endif
