/* Owns the locks of base/lock.h: three-state futex words (free, taken, taken with sleepers). */
#include "base/lock.h"
#include "base/atomic.h"
#include "base/sys.h"
#include "base/tls.h"

#include <stdbool.h>
#include <stddef.h>

enum { FREE, TAKEN, CONTENDED };

static struct {
    _Alignas(64) _Atomic uint32_t word;
} locks[PFA_LOCK_COUNT];

/* The thread that is forking, which holds all locks: handlers of the program that run meanwhile may allocate. */
static _Atomic(const pfa_tls_t *) forker;

static bool holds_all(void)
{
    return pfa_load_relaxed(&forker) == &pfa_tls;
}

void pfa_lock(pfa_lock_rank_t rank)
{
    if (holds_all()) {
        return;
    }
    _Atomic uint32_t *word = &locks[rank].word;
    uint32_t expected = FREE;
    pfa_tls.locks++;
    pfa_fence_compiler(); /* a handler that interrupts us finds it so */
    if (pfa_cas_acq_rel(word, &expected, TAKEN)) {
        return;
    }
    while (pfa_swap_acq_rel(word, CONTENDED) != FREE) {
        pfa_sys_futex_wait(word, CONTENDED, 0);
    }
}

bool pfa_try_lock(pfa_lock_rank_t rank)
{
    uint32_t expected = FREE;
    if (holds_all()) {
        return true;
    }
    pfa_tls.locks++;
    pfa_fence_compiler();
    if (pfa_cas_acq_rel(&locks[rank].word, &expected, TAKEN)) {
        return true;
    }
    pfa_tls.locks--;
    return false;
}

void pfa_unlock(pfa_lock_rank_t rank)
{
    if (holds_all()) {
        return;
    }
    _Atomic uint32_t *word = &locks[rank].word;
    if (pfa_swap_acq_rel(word, FREE) == CONTENDED) {
        pfa_sys_futex_wake(word, 1);
    }
    pfa_fence_compiler();
    pfa_tls.locks--;
}

bool pfa_locks_held(void)
{
    return pfa_tls.locks != 0;
}

void pfa_locks_before_fork(void)
{
    for (int rank = 0; rank < PFA_LOCK_COUNT; rank++) {
        pfa_lock((pfa_lock_rank_t)rank);
    }
    pfa_store_relaxed(&forker, &pfa_tls);
}

void pfa_locks_after_fork_parent(void)
{
    pfa_store_relaxed(&forker, (const pfa_tls_t *)NULL);
    for (int rank = PFA_LOCK_COUNT - 1; rank >= 0; rank--) {
        pfa_unlock((pfa_lock_rank_t)rank);
    }
}

void pfa_locks_after_fork_child(void)
{
    pfa_store_relaxed(&forker, (const pfa_tls_t *)NULL);
    for (int rank = 0; rank < PFA_LOCK_COUNT; rank++) {
        pfa_store_relaxed(&locks[rank].word, FREE);
    }
    pfa_tls.locks = 0;
}
