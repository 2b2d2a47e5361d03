/* Owns the locks of base/lock.h: futex words that say who has them and whether somebody sleeps. */
#include "base/lock.h"
#include "base/atomic.h"
#include "base/sys.h"
#include "base/tls.h"
#include "base/wiped.h"

#include <stdbool.h>
#include <stddef.h>

/* A word: 0 when it is free, else the owner's mark, and bit 0 if somebody sleeps on it. */
#define FREE ((uint32_t)0)
#define SLEEPERS ((uint32_t)1)

static struct {
    _Alignas(64) _Atomic uint32_t word;
} locks[PFA_LOCK_COUNT];

_Static_assert(4 * PFA_LOCK_COUNT <= 64, "pfa_tls.locks_again has four bits for each");

/* Of the calling thread, never 0. Two threads may have the same: that counts only while one of them waits for the other and
 * is interrupted by a handler that wants the same lock. */
static uint32_t own_mark(void)
{
    uint64_t mixed = (uint64_t)(uintptr_t)&pfa_tls * 0x9e3779b97f4a7c15u;
    return (uint32_t)(mixed >> 32) | 2;
}

static bool has(uint32_t word, uint32_t mark)
{
    return ((word ^ mark) & ~SLEEPERS) == 0;
}

/* Is this a handler that came while its thread had the lock? */
static bool has_already(pfa_lock_rank_t rank)
{
    return pfa_tls.locks != 0 && has(pfa_load_relaxed(&locks[rank].word), own_mark());
}

static uint64_t once_again(pfa_lock_rank_t rank)
{
    return (uint64_t)1 << (4 * (unsigned)rank);
}

static uint64_t times_again(pfa_lock_rank_t rank)
{
    return pfa_tls.locks_again >> (4 * (unsigned)rank) & 15;
}

static void acquire(_Atomic uint32_t *word, uint32_t mark)
{
    uint32_t seen = FREE;
    if (pfa_cas_acq_rel(word, &seen, mark)) {
        return;
    }
    for (;;) {
        if (seen == FREE) {
            if (pfa_cas_acq_rel(word, &seen, mark | SLEEPERS)) { /* there may be others */
                return;
            }
        } else if ((seen & SLEEPERS) != 0 || pfa_cas_acq_rel(word, &seen, seen | SLEEPERS)) {
            pfa_sys_futex_wait(word, seen | SLEEPERS, 0);
            seen = pfa_load_relaxed(word);
        }
    }
}

void pfa_lock(pfa_lock_rank_t rank)
{
    pfa_wiped_check();
    if (has_already(rank)) {
        pfa_tls.locks_again += once_again(rank);
        return;
    }
    pfa_tls.locks++;
    pfa_fence_compiler(); /* a handler that interrupts us finds it so */
    acquire(&locks[rank].word, own_mark() & ~SLEEPERS);
}

bool pfa_try_lock(pfa_lock_rank_t rank)
{
    uint32_t expected = FREE;
    pfa_wiped_check();
    pfa_tls.locks++;
    pfa_fence_compiler();
    if (pfa_cas_acq_rel(&locks[rank].word, &expected, own_mark() & ~SLEEPERS)) {
        return true;
    }
    pfa_tls.locks--;
    return false;
}

void pfa_unlock(pfa_lock_rank_t rank)
{
    _Atomic uint32_t *word = &locks[rank].word;
    if (times_again(rank) != 0) {
        pfa_tls.locks_again -= once_again(rank);
        return;
    }
    if ((pfa_swap_acq_rel(word, FREE) & SLEEPERS) != 0) {
        pfa_sys_futex_wake(word, 1);
    }
    pfa_fence_compiler();
    pfa_tls.locks--;
}

bool pfa_locks_held(void)
{
    return pfa_tls.locks != 0;
}

void pfa_locks_after_fork(void)
{
    for (int rank = 0; rank < PFA_LOCK_COUNT; rank++) {
        if (!has_already((pfa_lock_rank_t)rank)) { /* else the handler that forked will return there */
            pfa_store_relaxed(&locks[rank].word, FREE);
        }
    }
}
