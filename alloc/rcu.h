/* Read-copy-update, as far as the interval map needs it. Readers do what those of liburcu's flavour "bp" do; the update side
 * keeps no lock, leaves the signal mask alone, never gives up on the program and never waits, which a malloc needs that is
 * used around fork, in signal handlers and behind filters of system calls.
 *
 *   reader:   counter = the period's (its phase and one)   ...uses what it finds...   counter - 1
 *   registry: chunks of readers, linked; a reader is one thread's while it is taken, a chunk is never unlinked
 *   grace:    all readers were seen outside or in the present phase; the phase is changed; once more
 *
 * Guarantees:
 *   1. pfa_rcu_enter takes no lock. For the first section of one thread in hundreds it maps memory, and makes no other
 *      system call. It may be called in any thread at any time, also in a handler that interrupted it. It keeps errno.
 *   2. pfa_rcu_poll never waits. There is one grace period at a time; readers come, go and register meanwhile.
 *   3. When pfa_rcu_poll says that a grace period is over, every section that was under way when it began is over.
 *   4. A fork child finds the registry whole, whatever other threads were in the middle of: a chunk is linked by one store
 *      when it is complete, and a reader is taken by one. pfa_rcu_after_fork frees the readers of threads that it has not.
 *
 * Memory order: a reader's store of its counter and its loads after that are ordered by membarrier, which the updater calls;
 * where that is not to be had, or not to be used, by a fence in the reader. */
#ifndef PFA_ALLOC_RCU_H
#define PFA_ALLOC_RCU_H

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/tls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sections may be nested; a signal handler has sections of its own. */
#define PFA_RCU_ONE ((uint64_t)1)
#define PFA_RCU_PHASE ((uint64_t)1 << 32)
#define PFA_RCU_NESTED (PFA_RCU_PHASE - 1)

typedef struct pfa_rcu_reader {
    _Alignas(PFA_CACHE_LINE) _Atomic uint64_t counter;
    _Atomic bool taken;
} pfa_rcu_reader_t;

extern _Atomic uint64_t pfa_rcu_period; /* the phase, and one */
extern bool pfa_rcu_fences;             /* do readers need a fence? */

/* Once, before the first reader. Without membarrier a section costs two fences, and a grace period no system call. */
void pfa_rcu_open(bool may_use_membarrier);

/* Partner: fence_readers in alloc/rcu.c. */
PFA_INLINE void pfa_rcu_reader_fence(void)
{
    if (PFA_LIKELY(!pfa_rcu_fences)) {
        pfa_fence_compiler();
    } else {
        pfa_fence_seq_cst();
    }
}

/* Of a thread that is registered: it has been in a section before. */
PFA_INLINE void pfa_rcu_read_lock_as(pfa_tls_t *tls)
{
    _Atomic uint64_t *counter = &tls->reader->counter;
    uint64_t before = pfa_load_relaxed(counter);
    if (PFA_LIKELY((before & PFA_RCU_NESTED) == 0)) {
        pfa_store_relaxed(counter, pfa_load_relaxed(&pfa_rcu_period));
        pfa_rcu_reader_fence();
    } else {
        pfa_store_relaxed(counter, before + PFA_RCU_ONE);
    }
}

/* A read section. False, and none, if there is no memory to register the thread; the nodes of live chunks are then safe all
 * the same, only those of chunks that another thread frees at the same time are not. */
PFA_NOINLINE bool pfa_rcu_register(pfa_tls_t *tls);
PFA_INLINE bool pfa_rcu_enter(pfa_tls_t *tls)
{
    if (PFA_UNLIKELY(tls->reader == NULL) && !pfa_rcu_register(tls)) {
        return false;
    }
    pfa_rcu_read_lock_as(tls);
    return true;
}

PFA_INLINE void pfa_rcu_leave_as(pfa_tls_t *tls, bool entered)
{
    if (PFA_LIKELY(entered)) {
        _Atomic uint64_t *counter = &tls->reader->counter;
        uint64_t before = pfa_load_relaxed(counter);
        pfa_rcu_reader_fence();
        pfa_store_release(counter, before - PFA_RCU_ONE); /* partner: has_old_reader in alloc/rcu.c */
    }
}

PFA_INLINE void pfa_rcu_leave(bool entered)
{
    pfa_rcu_leave_as(&pfa_tls, entered);
}

/* Gives the calling thread's place in the registry back, until its next section. For one of which nobody tells when it ends: its
 * destructors have run, or it has only freed so far. */
void pfa_rcu_rest(pfa_tls_t *tls);
/* Places that threads have: for tests. */
uint32_t pfa_rcu_taken(void);

/* Is the calling thread in one? */
PFA_INLINE bool pfa_rcu_is_inside(void)
{
    return pfa_tls.reader != NULL && (pfa_load_relaxed(&pfa_tls.reader->counter) & PFA_RCU_NESTED) != 0;
}

/* How far a grace period has come; zeros: it has not begun. */
typedef struct pfa_rcu_grace {
    unsigned progress;
} pfa_rcu_grace_t;
/* Begins it or takes it further, unless another is under way; true, once, when it is over. By one thread at a time. */
bool pfa_rcu_poll(pfa_rcu_grace_t *grace);
/* Waits for one, by a thread that is in no section: for tests and benches. */
void pfa_rcu_wait(void);

/* In a fork child, alone. Grace periods begin anew. */
void pfa_rcu_after_fork(void);

#endif
