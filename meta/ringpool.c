/* Owns the memory of rings and the lists of those that no thread has. See meta/ringpool.h. */
#include "meta/ringpool.h"
#include "base/options.h"
#include "meta/accesses.h"
#include "meta/extents.h"

#include <string.h>

typedef enum size_class { TINY, SMALL, MIDDLE, BIG, SIZES, LENT = SIZES, LISTS } size_class_t;

/* Entries, the extent for several at once (0: each has its own), and in how many parts: the writer is told when one is full. Those of
 * the middle size are what busy threads of a sampled recording have, and each call of the writer takes the processor from one of
 * them: 4096 entries at a time cost them 2 % less than 1024 (strewn of bench/run alloc). One that is full all the same is
 * exchanged for a big one. */
static const struct {
    uint32_t capacity;
    uint32_t extent;
    uint32_t parts;
} sizes[SIZES] = {{64, PFA_LIVE_PAGE, 4}, {512, 2 * PFA_LIVE_PAGE, 4}, {8192, 0, 2}, {65536, 0, 4}};
enum { TINY_WITH_MORE = 32, FAILURES_MAX = 64 };

static pfa_ring_t rings[PFA_RINGS];
static _Atomic uint32_t ring_count;
static _Atomic uint64_t memory_used[SIZES];
static _Atomic uint32_t lent_made;
static _Atomic uint32_t makers;   /* threads that are making rings */
static _Atomic uint32_t failures; /* numbers of rings that were lost to them are not used again */

/* Lists of rings without a thread: the number of the first and 1, and above that a count of changes, so that a list whose
 * first ring went and came back meanwhile is not taken for the same. */
static struct {
    _Alignas(64) _Atomic uint64_t first;
} lists[LISTS];
#define CHANGED ((uint64_t)1 << 32)

static void push(unsigned list, pfa_ring_t *ring)
{
    _Atomic uint64_t *first = &lists[list].first;
    uint64_t seen = pfa_load_relaxed(first);
    uint64_t next;
    do {
        pfa_store_relaxed(&ring->next_free, (uint32_t)seen);
        next = ((seen & ~(uint64_t)UINT32_MAX) + CHANGED) | (ring->number + 1);
    } while (!pfa_cas_weak_acq_rel(first, &seen, next)); /* partner: the same in pop */
}

static pfa_ring_t *pop(unsigned list)
{
    _Atomic uint64_t *first = &lists[list].first;
    uint64_t seen = pfa_load_acquire(first);
    while ((uint32_t)seen != 0) {
        pfa_ring_t *ring = &rings[(uint32_t)seen - 1];
        uint64_t next = ((seen & ~(uint64_t)UINT32_MAX) + CHANGED) | pfa_load_relaxed(&ring->next_free);
        if (pfa_cas_weak_acq_rel(first, &seen, next)) {
            return ring;
        }
    }
    return NULL;
}

/* --- memory ------------------------------------------------------------------------------------------------------ */

static uint64_t capacity_of(size_class_t size)
{
    return size == TINY && (pfa_accesses_kept || pfa_options.addresses) ? TINY_WITH_MORE : sizes[size].capacity;
}

/* From one ring to the next, in an extent for several. */
static size_t stride_of(size_class_t size)
{
    size_t entry = sizeof(pfa_event_t) + (pfa_accesses_kept ? sizeof(pfa_event_accesses_t) : 0) +
                   (pfa_options.addresses ? sizeof(uint64_t) : 0);
    return (sizes[size].extent == 0 ? PFA_LIVE_RING_ENTRIES : sizeof(pfa_live_ring_t)) + capacity_of(size) * entry;
}

static size_t extent_size(size_class_t size)
{
    size_t one = (stride_of(size) + PFA_LIVE_PAGE - 1) & ~(size_t)(PFA_LIVE_PAGE - 1);
    return sizes[size].extent == 0 ? one : sizes[size].extent;
}

static uint32_t rings_in_extent(size_class_t size)
{
    size_t count = sizes[size].extent / stride_of(size);
    return count == 0 ? 1 : count < PFA_LIVE_RINGS_MAX ? (uint32_t)count : PFA_LIVE_RINGS_MAX;
}

/* What all rings of a size may take. The tiny ones have as much as they can need, or half; of the rest big ones have half and
 * middle ones a quarter, in whole rings, and small ones what is left. */
static uint64_t memory_for(size_class_t size)
{
    uint64_t extents = (PFA_RINGS_WANTED + PFA_RINGS_LENT) / rings_in_extent(TINY) + 1;
    uint64_t tiny = extents * extent_size(TINY);
    tiny = tiny < pfa_options.buffers / 2 ? tiny : pfa_options.buffers / 2;
    uint64_t rest = pfa_options.buffers - tiny;
    for (size_class_t larger = BIG; larger > SMALL && size != TINY; larger--) {
        uint64_t part = rest / 2 - rest / 2 % extent_size(larger);
        if (larger == size) {
            return part;
        }
        rest -= part;
    }
    return size == TINY ? tiny : rest;
}

static bool has_memory(size_class_t size)
{
    return pfa_load_acquire(&memory_used[size]) + extent_size(size) <= memory_for(size);
}

static bool claim_memory(size_class_t size)
{
    uint64_t used = pfa_load_relaxed(&memory_used[size]);
    uint64_t most = memory_for(size);
    do {
        if (used + extent_size(size) > most) {
            return false;
        }
    } while (!pfa_cas_weak_acq_rel(&memory_used[size], &used, used + extent_size(size)));
    return true;
}

static bool claim_numbers(uint32_t wanted, uint32_t *first)
{
    *first = pfa_load_relaxed(&ring_count);
    do {
        if (*first + wanted > PFA_RINGS) {
            return false;
        }
    } while (!pfa_cas_weak_acq_rel(&ring_count, first, *first + wanted));
    return true;
}

static void make_ring(uint32_t number, size_class_t size, char *memory)
{
    uint64_t capacity = capacity_of(size);
    size_t entries = sizes[size].extent == 0 ? PFA_LIVE_RING_ENTRIES : sizeof(pfa_live_ring_t);
    pfa_ring_t *ring = &rings[number];
    ring->head = 0;
    ring->limit = capacity;
    ring->mask = capacity - 1;
    ring->wake_mask = (uint32_t)(capacity / sizes[size].parts - 1);
    ring->shared = (pfa_live_ring_t *)(void *)memory;
    ring->entries = (pfa_event_t *)(void *)(memory + entries);
    char *more = (char *)(ring->entries + capacity);
    ring->accesses = pfa_accesses_kept ? (pfa_event_accesses_t *)(void *)more : NULL;
    more += pfa_accesses_kept ? capacity * sizeof *ring->accesses : 0;
    ring->addresses = pfa_options.addresses ? (uint64_t *)(void *)more : NULL;
    ring->has_more = ring->accesses != NULL || ring->addresses != NULL;
    ring->number = number;
    ring->size = (uint8_t)size;
    ring->is_outgrown = false;
    /* What readers of the live table are told. */
    ring->shared->number = number;
    ring->shared->entry_size = sizeof(pfa_event_t);
    ring->shared->capacity = capacity;
    ring->shared->has_addresses = ring->addresses != NULL;
    ring->shared->stride = sizes[size].extent == 0 ? 0 : stride_of(size);
    pfa_store_release(&ring->ready, true); /* partner: pfa_ringpool_at */
}

/* As many of a size as an extent has; the first is the caller's, the others go to the list. */
static pfa_ring_t *make_rings(size_class_t size)
{
    uint32_t count = rings_in_extent(size);
    uint32_t first;
    void *memory;
    uint32_t extent;
    if (pfa_extents_full() || pfa_load_relaxed(&failures) >= FAILURES_MAX || !claim_memory(size)) {
        return NULL;
    }
    if (!claim_numbers(count, &first)) {
        return NULL;
    }
    pfa_extent_kind_t kind = sizes[size].extent == 0 ? PFA_EXTENT_RING : PFA_EXTENT_RINGS;
    if (pfa_extents_add(kind, first, extent_size(size), NULL, &memory, &extent) != 0 ||
        pfa_extents_make_room(extent, 0, extent_size(size)) != 0) {
        pfa_add_relaxed(&failures, 1);
        return NULL;
    }
    for (uint32_t i = count; i-- > 0;) {
        make_ring(first + i, size, (char *)memory + i * stride_of(size));
        if (i != 0) {
            push(size, &rings[first + i]);
        }
    }
    return &rings[first];
}

static pfa_ring_t *get(size_class_t size)
{
    pfa_ring_t *ring = pop(size);
    if (ring == NULL && has_memory(size)) {
        pfa_add_relaxed(&makers, 1); /* before the memory is claimed: see pfa_ringpool_makes */
        ring = make_rings(size);
        pfa_sub_release(&makers, 1); /* partner: pfa_ringpool_makes */
    }
    return ring;
}

/* --- for threads ------------------------------------------------------------------------------------------------- */

pfa_ring_t *pfa_ringpool_take(void)
{
    pfa_ring_t *ring = pop(MIDDLE); /* others needed it, and have left it */
    ring = ring != NULL ? ring : get(SMALL);
    ring = ring != NULL ? ring : pop(BIG);
    return ring != NULL ? ring : get(TINY);
}

bool pfa_ringpool_is_small(const pfa_ring_t *ring)
{
    return ring->size < MIDDLE && !ring->is_lent;
}

pfa_ring_t *pfa_ringpool_take_middle(void)
{
    return get(MIDDLE);
}

pfa_ring_t *pfa_ringpool_take_larger(const pfa_ring_t *ring)
{
    pfa_ring_t *larger = NULL;
    for (unsigned size = ring->size + 1u; larger == NULL && size <= BIG; size++) {
        larger = get((size_class_t)size);
    }
    return larger;
}

/* Some are kept for this. While all of those are in use, or their borrowers are put to sleep with them, others will do. */
pfa_ring_t *pfa_ringpool_borrow(void)
{
    pfa_ring_t *ring = pop(LENT);
    if (ring != NULL) {
        return ring;
    }
    bool is_kept = pfa_load_relaxed(&lent_made) < PFA_RINGS_LENT && pfa_add_relaxed(&lent_made, 1) < PFA_RINGS_LENT;
    ring = pfa_ringpool_take();
    if (ring != NULL) {
        ring->is_lent = is_kept;
    } else if (is_kept) {
        pfa_sub_relaxed(&lent_made, 1);
    }
    return ring;
}

pfa_ring_t *pfa_ringpool_borrow_larger(pfa_ring_t *ring)
{
    pfa_ring_t *larger = pfa_ringpool_take_larger(ring);
    if (larger == NULL) {
        return ring;
    }
    larger->is_lent = ring->is_lent;
    ring->is_lent = false;
    pfa_ringpool_give(ring);
    return larger;
}

bool pfa_ringpool_lends(void)
{
    return pfa_load_relaxed(&lent_made) != 0;
}

/* Who found no memory left saw that it was claimed (has_memory), and so sees the maker here, or after that its rings. */
bool pfa_ringpool_makes(void)
{
    return pfa_load_acquire(&makers) != 0;
}

void pfa_ringpool_give(pfa_ring_t *ring)
{
    push(ring->is_lent ? LENT : ring->size, ring);
}

uint32_t pfa_ringpool_count(void)
{
    return pfa_load_acquire(&ring_count);
}

pfa_ring_t *pfa_ringpool_at(uint32_t number)
{
    return pfa_load_acquire(&rings[number].ready) ? &rings[number] : NULL;
}

void pfa_ringpool_after_fork(void)
{
    memset(rings, 0, pfa_ringpool_count() * sizeof *rings);
    for (unsigned i = 0; i < SIZES; i++) {
        pfa_store_relaxed(&memory_used[i], 0);
    }
    for (unsigned i = 0; i < LISTS; i++) {
        pfa_store_relaxed(&lists[i].first, 0);
    }
    pfa_store_relaxed(&ring_count, 0);
    pfa_store_relaxed(&lent_made, 0);
    pfa_store_relaxed(&makers, 0);
    pfa_store_relaxed(&failures, 0);
}
