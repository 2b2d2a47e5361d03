/* Owns what happens around fork. The parent goes on as before; the child has one thread, no background thread, and
 * whatever the other threads were in the middle of. vfork and posix_spawn children share our memory with a parent that
 * waits: nothing to do for them.
 *
 * The child lets go of its parent's records and trace at once. A trace of its own it gets when it has something to
 * record: most children become another program first. Handlers are called in the order of their registration in the
 * child: ours is the first (hooks/atfork.c), so that nobody frees a chunk in its parent's records. A child made by clone
 * or _Fork, past all handlers, goes on writing into its parent's table: nothing tells us of it. */
#include "alloc/inherit.h"
#include "base/lock.h"
#include "base/options.h"
#include "export/background.h"
#include "export/session.h"
#include "hooks/hooks.h"
#include "meta/accesses.h"
#include "meta/clock.h"
#include "meta/extents.h"
#include "meta/names.h"
#include "meta/ring.h"
#include "meta/thread.h"

#include <errno.h>
#include <pthread.h>

_Atomic bool pfa_fork_pending;
static bool without_trace; /* is this a child that has none? Under PFA_LOCK_PROCESS */

/* Set between before() and its counterpart: RCU is left alone until something was recorded. */
static bool rcu_held;
static uint8_t state_before; /* of the thread that forks */

/* RCU first: a thread that registers with it may allocate, and so take our locks, while it holds RCU's. A handler of the
 * program that comes after us may free a large chunk, so this thread must be registered before. */
static void before(void)
{
    bool uses_rcu = pfa_range.total_span != 0 && pfa_rcu_enter(&pfa_tls);
    if (uses_rcu) {
        pfa_rcu_leave(true);
        urcu_bp_before_fork();
    }
    pfa_locks_before_fork();
    rcu_held = uses_rcu;
    /* What handlers do between here and ours in the child is not worth a record. */
    state_before = pfa_tls_pause(&pfa_tls);
}

static void after_in_parent(void)
{
    bool uses_rcu = rcu_held;
    pfa_tls_resume(&pfa_tls, state_before);
    pfa_locks_after_fork_parent();
    if (uses_rcu) {
        urcu_bp_after_fork_parent();
    }
}

/* The records first: they are still the parent's. */
static void let_go_in_child(void)
{
    bool traced = pfa_session_leave() || pfa_load_relaxed(&pfa_fork_pending);
    (void)pfa_inherit(NULL);
    pfa_ring_after_fork(&pfa_tls);
    pfa_names_after_fork();
    pfa_access_maps_after_fork();
    without_trace = true;
    pfa_store_relaxed(&pfa_fork_pending, traced && pfa_options.follow != 0);
    if (pfa_options.follow == 0) {
        (void)pfa_sampler_set(0);
    }
}

static void make_trace(pfa_tls_t *tls)
{
    const char *path = pfa_session_new_path();
    uint64_t inherited = pfa_load_relaxed(&pfa_extents_head->inherited);
    int err = path != NULL ? pfa_inherit(path) : ENOENT;
    pfa_access_maps_after_fork();
    pfa_store_relaxed(&pfa_extents_head->inherited, inherited);
    pfa_session_after_fork(err, pfa_process_period());
    if (err == ENOMEM) {
        (void)pfa_sampler_set(0);
    }
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

static void after_in_child(void)
{
    bool uses_rcu = rcu_held;
    pfa_tls_resume(&pfa_tls, state_before);
    pfa_thread_list_after_fork(pfa_tls.thread);
    pfa_backing_after_fork();
    pfa_background_after_fork();
    if (pfa_range.total_span != 0) {
        let_go_in_child();
    }
    pfa_process_after_fork();
    pfa_intervalmap_after_fork();
    pfa_locks_after_fork_child();
    if (uses_rcu) {
        urcu_bp_after_fork_child();
    }
}

void pfa_fork_watch(void)
{
    static _Atomic bool watching;
    if (!atomic_exchange(&watching, true)) {
        (void)pthread_atfork(before, after_in_parent, after_in_child);
    }
}
