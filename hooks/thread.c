/* Owns the birth and death of threads as the allocator sees them. A thread is born at its first allocation and dies in a
 * destructor of thread-specific data. Other destructors may run after ours and allocate: the thread is then born again,
 * with another destructor to come, as often as the C library has rounds of destructors left. What comes after those is
 * served without counting. */
#include "base/sys.h"
#include "hooks/hooks.h"
#include "meta/thread.h"

#include <limits.h>
#include <pthread.h>

static pthread_key_t key;
static _Atomic bool has_key;

static void leave(void *arg)
{
    pfa_tls_t *tls = arg;
    pfa_thread_t *thread = tls->thread;
    /* In the last round nothing would call us again. */
    tls->state = ++tls->leaves < PTHREAD_DESTRUCTOR_ITERATIONS - 1 ? PFA_THREAD_NEW : PFA_THREAD_GONE;
    tls->clock_may_skip = false;
    pfa_store_relaxed(&tls->epoch, 0);
    pfa_live_settle(tls);
    tls->thread = NULL;
    pfa_chunk_thread_end(tls);
    /* Off the list first: nobody may write the countdown of a thread whose memory goes away. */
    pfa_thread_list_leave(thread);
    tls->countdown = tls->state == PFA_THREAD_GONE ? PFA_COUNTDOWN_OFF : -1;
    /* The main thread's heap stays: giving up its heaps would put recorded regions into its default heap, which lives
     * on. */
    if (!tls->is_main) {
        pfa_backing_thread_end();
    }
}

int pfa_thread_make_key(void)
{
    int err = pthread_key_create(&key, leave);
    pfa_store_release(&has_key, err == 0);
    return err;
}

bool pfa_thread_enter(pfa_tls_t *tls)
{
    if (tls->state != PFA_THREAD_NEW) {
        return tls->state == PFA_THREAD_READY;
    }
    tls->state = PFA_THREAD_ENTERING;
    if (!pfa_process_enter() || (tls->thread = pfa_thread_list_join(tls)) == NULL) {
        tls->state = PFA_THREAD_NEW;
        return false;
    }
    tls->record_tail = pfa_record_tail(tls->thread->number, 0);
    tls->is_main = pfa_sys_tid() == pfa_sys_pid();
    tls->random = pfa_sys_random() | 1;
    /* May allocate: it then comes back here and is turned away above. */
    if (!pfa_load_acquire(&has_key) || pthread_setspecific(key, tls) != 0) {
        /* Nobody would tell us when it ends, and its block would outlive its memory. */
        pfa_thread_list_leave(tls->thread);
        tls->thread = NULL;
        tls->state = PFA_THREAD_GONE;
        return false;
    }
    tls->state = PFA_THREAD_READY;
    return true;
}
