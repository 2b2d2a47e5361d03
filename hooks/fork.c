/* Owns what happens around fork. The parent goes on as before; the child has one thread, no background thread, and
 * whatever the other threads were in the middle of. vfork and posix_spawn children share our memory with a parent that
 * waits: nothing to do for them. */
#include "alloc/inherit.h"
#include "base/lock.h"
#include "base/options.h"
#include "export/background.h"
#include "export/session.h"
#include "hooks/hooks.h"
#include "meta/clock.h"
#include "meta/names.h"
#include "meta/ring.h"
#include "meta/thread.h"

#include <pthread.h>

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
    /* What other handlers in the child do before ours must not touch the parent's records; and what they do here is
     * not worth a record. */
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

/* The records first: they are still the parent's. The counts of the child begin with nothing, as its trace does. */
static void go_on_in_child(void)
{
    bool follow = pfa_options.follow != 0;
    if (pfa_inherit(pfa_session_child_path(follow)) != 0) {
        follow = false;
    }
    pfa_ring_after_fork(&pfa_tls);
    pfa_names_after_fork();
    pfa_session_after_fork(follow);
    if (!pfa_session_is_open() && !follow) {
        (void)pfa_sampler_set(0);
    }
    if (pfa_tls.thread != NULL && pfa_session_is_open()) {
        pfa_names_thread(pfa_tls.thread->number, pfa_clock_read(&pfa_tls));
    }
}

static void after_in_child(void)
{
    bool uses_rcu = rcu_held;
    pfa_tls_resume(&pfa_tls, state_before);
    pfa_thread_list_after_fork(pfa_tls.thread);
    pfa_backing_after_fork();
    pfa_background_after_fork();
    if (pfa_range.total_span != 0) {
        go_on_in_child();
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
