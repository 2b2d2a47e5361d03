/*
 * A bounded queue of pointers from one thread to one other.
 *
 * push by its producer only, pop by its consumer only; neither blocks, both say false when there is no room or nothing
 * there. Zeroed memory is an empty ring.
 */
#ifndef PFA_BENCH_RING_H
#define PFA_BENCH_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { PFA_RING_SLOTS = 256 };

/* Each side keeps what it last saw of the other, so that the shared lines move only when a side runs dry or full. */
typedef struct {
    _Alignas(64) _Atomic size_t pushed;
    size_t popped_seen;
    _Alignas(64) _Atomic size_t popped;
    size_t pushed_seen;
    _Alignas(64) void *slot[PFA_RING_SLOTS];
} pfa_ring_t;

static inline bool pfa_ring_push(pfa_ring_t *ring, void *item)
{
    size_t at = atomic_load_explicit(&ring->pushed, memory_order_relaxed);
    if (at - ring->popped_seen == PFA_RING_SLOTS) {
        /* Pairs with the release in pop: the slot has been read before it is written again. */
        ring->popped_seen = atomic_load_explicit(&ring->popped, memory_order_acquire);
        if (at - ring->popped_seen == PFA_RING_SLOTS) {
            return false;
        }
    }
    ring->slot[at % PFA_RING_SLOTS] = item;
    /* Pairs with the acquire in pop: slot and item are written before they are seen. */
    atomic_store_explicit(&ring->pushed, at + 1, memory_order_release);
    return true;
}

static inline bool pfa_ring_pop(pfa_ring_t *ring, void **item)
{
    size_t at = atomic_load_explicit(&ring->popped, memory_order_relaxed);
    if (at == ring->pushed_seen) {
        ring->pushed_seen = atomic_load_explicit(&ring->pushed, memory_order_acquire);
        if (at == ring->pushed_seen) {
            return false;
        }
    }
    *item = ring->slot[at % PFA_RING_SLOTS];
    atomic_store_explicit(&ring->popped, at + 1, memory_order_release);
    return true;
}

#endif
