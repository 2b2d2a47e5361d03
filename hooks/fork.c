/* Owns what happens around fork. The parent goes on as before; the child has one thread, no background thread, and whatever
 * the other threads were in the middle of. Children of vfork and posix_spawn share our memory with a parent that waits:
 * nothing to do for them.
 *
 *   1. No lock is held across fork, by anybody: the C library takes those of its streams after it has called us, and a thread
 *      inside getline holds one of them and asks for memory. Nor is anything waited for that a thread of the program could
 *      hold up. So fork may also be called in a signal handler that came into the middle of malloc.
 *   2. The child sets its state right, alone. What it finds of a change that another thread was in the middle of, and why it
 *      can go on from there:
 *        locks              base/lock.h: those of others are free
 *        thread list        rebuilt of all blocks there are; a block's memory is never unmapped (meta/thread.h)
 *        rings, folds       the parent's: there are none yet (meta/ring.h)
 *        depot              a node is there when node_count says so, a slot of the index is one store behind that
 *        extents, records   made anew, empty (alloc/inherit.h); units that were being made are made again (alloc/places.c)
 *        names, tags        likewise a count or a pointer that is stored last
 *        cells              a list without locks; those on their way to or from it are lost
 *        interval map, RCU  alloc/intervalmap.h, 5; alloc/rcu.h, 4
 *        tables of R        a step that was being mapped is not there: R may not grow further (alloc/range.c)
 *        mimalloc           pfa_backing_after_fork; blocks and segments that were on their way are lost
 *        sampler, reports   arrays with a count; an entry behind the count was not made yet
 *        unwinder's caches  words on their own (meta/unwind_cache.c)
 *        session, writer    the parent's: begun anew with the child's trace (pfa_block_after_fork, pfa_writer_reset)
 *        modules            export/loader.h: the loader's own lock may be nobody's in the child
 *   3. The child lets go of its parent's records and trace before it looks at a record or takes a lock, whether fork handlers
 *      were called or not (base/wiped.h). A trace of its own it gets when it has something to record: most children become
 *      another program first.
 *   4. A child that cannot have records of its own, since it may map no memory, or since its only thread is in the middle of
 *      our own doings (a handler forked there), is blind: it looks at none, records nothing, and takes it on trust that
 *      what it frees is a chunk. */
#include "alloc/inherit.h"
#include "base/lock.h"
#include "base/message.h"
#include "base/options.h"
#include "base/sys.h"
#include "base/wiped.h"
#include "export/background.h"
#include "export/loader.h"
#include "export/session.h"
#include "hooks/hooks.h"
#include "meta/accesses.h"
#include "meta/clock.h"
#include "meta/extents.h"
#include "meta/names.h"
#include "meta/ring.h"
#include "meta/thread.h"
#include "meta/types.h"

#include <errno.h>
#include <pthread.h>

_Atomic bool pfa_fork_pending;
static bool without_trace; /* is this a child that has none? Under PFA_LOCK_PROCESS */

/* For good: its children are, too. */
static void become_blind(void)
{
    pfa_range.blind = true;
    pfa_accesses_close();
    (void)pfa_sampler_set(0);
    pfa_store_relaxed(&pfa_fork_pending, false);
    pfa_store_release(&pfa_wiped.word, (uint32_t)PFA_BLIND);
}

/* They are the parent's, and memory to put in their place cannot be had. */
static void forget_records(void)
{
    pfa_extents_forget();
    pfa_names_forget();
    pfa_types_forget();
}

/* The records first: they are still the parent's. */
static void let_go(void)
{
    bool interrupted = pfa_locks_held() || pfa_tls.in_ring;
    bool traced = pfa_session_leave() || pfa_load_relaxed(&pfa_fork_pending);
    if (interrupted) {
        pfa_extents_make_private(); /* when the handler has returned, what it came into goes on with what it holds */
        become_blind();
        return;
    }
    bool is_lost = pfa_range.blind || (pfa_extents_head != NULL && pfa_inherit(NULL) == ENOMEM);
    pfa_ring_after_fork(&pfa_tls);
    if (is_lost) {
        forget_records();
        become_blind();
        return;
    }
    pfa_names_after_fork();
    pfa_access_maps_after_fork();
    without_trace = pfa_extents_head != NULL; /* else the session was about to be opened for the first time */
    pfa_store_relaxed(&pfa_fork_pending, traced && pfa_options.follow != 0);
    if (pfa_options.follow == 0) {
        (void)pfa_sampler_set(0);
    }
}

/* Are there a trace and a thread to think of? Else fork takes no system calls of ours but for memory: it may be forbidden all
 * others. */
static bool asks_kernel(void)
{
    return pfa_range.total_span != 0 && !pfa_sys_is_frugal();
}

/* With signals held: a handler that freed or allocated meanwhile would do it in the parent's records. */
static void set_right(void)
{
    pfa_store_relaxed(&pfa_wiped.word, (uint32_t)PFA_MENDING);
    pfa_locks_after_fork();
    if (!pfa_locks_held()) {
        pfa_thread_list_after_fork(pfa_tls.thread);
    }
    pfa_backing_after_fork();
    pfa_range_after_fork();
    pfa_background_after_fork(asks_kernel());
    pfa_rcu_after_fork();
    pfa_intervalmap_after_fork();
    pfa_loader_after_fork_child();
    if (pfa_range.total_span != 0) {
        let_go();
    }
    if (pfa_wiped_now() == PFA_MENDING) { /* not blind */
        pfa_ring_set_open(false);
    }
    pfa_process_after_fork();
    pfa_forget_troubles();
    pfa_tls_disarm(&pfa_tls); /* the next allocation looks what is in force now */
}

static _Atomic(const pfa_tls_t *) at_it; /* who sets it right */

static void set_right_if_wiped(void)
{
    uint64_t before = pfa_sys_hold_signals();
    uint32_t wiped = PFA_WIPED;
    if (atomic_compare_exchange_strong(&pfa_wiped.word, &wiped, (uint32_t)PFA_MENDING)) {
        int kept = errno;
        pfa_store_relaxed(&at_it, &pfa_tls);
        set_right();
        pfa_store_relaxed(&at_it, (const pfa_tls_t *)NULL);
        errno = kept;
    }
    pfa_sys_let_signals(before);
}

/* The word was found wiped, or nearly so. A child of clone may have made threads before it came here: they wait. */
static void notice(void)
{
    if (pfa_wiped_now() == PFA_WIPED) {
        set_right_if_wiped();
    }
    /* Partner: the release store in set_right or become_blind. */
    while (pfa_load_acquire(&pfa_wiped.word) == PFA_MENDING && pfa_load_relaxed(&at_it) != &pfa_tls) {
        pfa_sys_yield();
    }
}

static void make_trace(pfa_tls_t *tls)
{
    const char *path = pfa_session_new_path();
    uint64_t inherited = pfa_load_relaxed(&pfa_extents_head->inherited);
    int err = path != NULL ? pfa_inherit(path) : ENOENT;
    if (err == ENOMEM) {
        pfa_session_after_fork(err, 0);
        forget_records();
        become_blind();
        return;
    }
    pfa_access_maps_after_fork();
    pfa_store_relaxed(&pfa_extents_head->inherited, inherited);
    pfa_session_after_fork(err, pfa_process_period());
    without_trace = !pfa_session_is_open();
    if (!without_trace && tls->thread != NULL) {
        pfa_names_thread(tls->thread->number, pfa_clock_read(tls));
    }
}

/* Other threads of the child that have something to record wait here until there is a trace. */
void pfa_fork_go_on(pfa_tls_t *tls)
{
    int kept = errno;
    uint8_t before_state = pfa_tls_pause(tls);
    pfa_lock(PFA_LOCK_PROCESS);
    pfa_lock(PFA_LOCK_WRITER);
    if (pfa_load_relaxed(&pfa_fork_pending)) {
        make_trace(tls);
        pfa_store_release(&pfa_fork_pending, false);
    }
    pfa_unlock(PFA_LOCK_WRITER);
    pfa_unlock(PFA_LOCK_PROCESS);
    pfa_tls_resume(tls, before_state);
    errno = kept;
}

void pfa_fork_forget(void)
{
    pfa_store_relaxed(&pfa_fork_pending, false);
}

bool pfa_fork_ask(void)
{
    pfa_store_relaxed(&pfa_fork_pending, without_trace);
    return without_trace;
}

void pfa_fork_in_child(void)
{
    if (pfa_wiped_works()) {
        pfa_wiped_check(); /* a handler of somebody else's may have come to us before */
    } else {
        uint64_t held_before = pfa_sys_hold_signals();
        set_right();
        pfa_sys_let_signals(held_before);
    }
}

static void before(void)
{
    pfa_loader_before_fork(asks_kernel());
}

void pfa_fork_watch(void)
{
    static _Atomic bool watching;
    if (!atomic_exchange(&watching, true)) {
        pfa_ring_set_open(false);
        pfa_wiped_open(notice);
        (void)pthread_atfork(before, pfa_loader_after_fork_parent, pfa_fork_in_child);
    }
}
