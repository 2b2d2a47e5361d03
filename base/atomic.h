/* Atomics with the memory order in the name (STYLE, habit 7). Every release store in the code names the acquire load it
 * pairs with; relaxed ones say why no order is needed. */
#ifndef PFA_BASE_ATOMIC_H
#define PFA_BASE_ATOMIC_H

#include "base/compiler.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define pfa_load_relaxed(p) atomic_load_explicit((p), memory_order_relaxed)
#define pfa_load_acquire(p) atomic_load_explicit((p), memory_order_acquire)
#define pfa_load_seq_cst(p) atomic_load_explicit((p), memory_order_seq_cst)
#define pfa_store_relaxed(p, v) atomic_store_explicit((p), (v), memory_order_relaxed)
#define pfa_store_release(p, v) atomic_store_explicit((p), (v), memory_order_release)
#define pfa_add_relaxed(p, v) atomic_fetch_add_explicit((p), (v), memory_order_relaxed)
#define pfa_add_release(p, v) atomic_fetch_add_explicit((p), (v), memory_order_release)
#define pfa_sub_relaxed(p, v) atomic_fetch_sub_explicit((p), (v), memory_order_relaxed)
#define pfa_sub_release(p, v) atomic_fetch_sub_explicit((p), (v), memory_order_release)
#define pfa_swap_acq_rel(p, v) atomic_exchange_explicit((p), (v), memory_order_acq_rel)
#define pfa_cas_acq_rel(p, expected, v)                                                                                \
    atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_acq_rel, memory_order_acquire)
#define pfa_cas_weak_acq_rel(p, expected, v)                                                                           \
    atomic_compare_exchange_weak_explicit((p), (expected), (v), memory_order_acq_rel, memory_order_acquire)
#define pfa_fence_release() atomic_thread_fence(memory_order_release)
#define pfa_fence_compiler() atomic_signal_fence(memory_order_seq_cst)

/* GCC's ThreadSanitizer does not understand fences, and says so; what it cannot know, the race tests tell it. */
#if defined(__SANITIZE_THREAD__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
static inline void pfa_fence_seq_cst(void)
{
    atomic_thread_fence(memory_order_seq_cst);
}
#if defined(__SANITIZE_THREAD__)
#pragma GCC diagnostic pop
#endif

/* A counter with one writer: a plain add that other threads may read. Not an atomic object, since a compiler makes three
 * instructions of an atomic load and store where one does; readers use pfa_read_counter. */
typedef uint64_t pfa_counter_t;

#if PFA_THREAD_SANITIZER
__attribute__((no_sanitize_thread))
#endif
static inline void
pfa_own_add(pfa_counter_t *counter, uint64_t amount)
{
    *counter += amount;
}

/* The same of two that lie side by side, as a pair where the machine has that: the compiler is not to know how their address
 * came about, or it has one for each. */
#if defined(__SANITIZE_THREAD__)
__attribute__((no_sanitize_thread))
#endif
static inline void
pfa_own_add_two(pfa_counter_t *two, uint64_t to_first, uint64_t to_second)
{
    __asm__("" : "+r"(two));
    uint64_t first = two[0] + to_first;
    uint64_t second = two[1] + to_second;
    two[0] = first;
    two[1] = second;
}

static inline uint64_t pfa_read_counter(const pfa_counter_t *counter)
{
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/* Raises *max to value if it is below it. */
static inline void pfa_atomic_max(_Atomic uint64_t *max, uint64_t value)
{
    uint64_t seen = pfa_load_relaxed(max);
    while (seen < value &&
           !atomic_compare_exchange_weak_explicit(max, &seen, value, memory_order_relaxed, memory_order_relaxed)) {
    }
}

#endif
