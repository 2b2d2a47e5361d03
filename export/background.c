/* Owns the background thread. See export/background.h. */
#include "export/background.h"
#include "base/atomic.h"
#include "base/sys.h"
#include "base/tls.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

typedef enum state { NONE, MADE, FAILED } state_t;

static void (*work_to_do)(void);
static _Atomic uint32_t state;   /* state_t */
static _Atomic uint32_t pending; /* 1: there is work; the thread sleeps on 0 */
static _Atomic uint64_t period;
/* The process whose thread it is: a child of vfork shares our memory, and threads that it made were its own. 0: a
 * fork child in which none was expected, until one is asked for. */
static _Atomic int owner;

/* Those of the process at its start. */
static struct {
    uint64_t set[128];
    size_t size;
} processors;

_Atomic bool pfa_background_asked;
static _Atomic(const pfa_tls_t *) itself;

static void *run(void *unused)
{
    /* Our own allocations are nobody's business: no set-up, no counting. */
    pfa_tls.state = PFA_THREAD_GONE;
    pfa_tls.countdown = PFA_COUNTDOWN_OFF;
    pfa_store_relaxed(&itself, &pfa_tls);
    for (;;) {
        uint64_t limit = pfa_load_relaxed(&period);
        while (pfa_swap_acq_rel(&pending, 0) == 0) {
            pfa_sys_futex_wait(&pending, 0, limit);
            if (limit != 0) {
                break;
            }
        }
        work_to_do();
    }
    return unused;
}

static bool settled; /* the thread's own */

void pfa_background_settle(void)
{
    if (settled || pfa_sys_is_filtered()) {
        return;
    }
    settled = true;
    if (processors.size != 0) {
        pfa_sys_set_processors(processors.set, processors.size);
    }
    pfa_sys_schedule_normally();
}

static int make_thread(void)
{
    enum { STACK_SIZE = 256 * 1024 };
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all;
    sigset_t before;
    int err = pthread_attr_init(&attributes);
    if (err != 0) {
        return err;
    }
    (void)pthread_attr_setstacksize(&attributes, STACK_SIZE);
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    err = pthread_create(&thread, &attributes, run, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return err;
}

void pfa_background_init(void (*work)(void))
{
    work_to_do = work;
    pfa_store_relaxed(&owner, pfa_sys_pid());
    processors.size = pfa_sys_processors(processors.set, sizeof processors.set);
}

void pfa_background_set_period(uint64_t nanoseconds)
{
    pfa_store_relaxed(&period, nanoseconds);
}

bool pfa_background_exists(void)
{
    return pfa_load_relaxed(&state) == MADE;
}

bool pfa_background_is_me(void)
{
    return pfa_load_relaxed(&itself) == &pfa_tls;
}

void pfa_background_ask(void)
{
    if (pfa_load_relaxed(&state) == MADE) {
        pfa_background_wake();
    } else {
        pfa_store_relaxed(&pfa_background_asked, true);
    }
}

void pfa_background_make_if_asked(void)
{
    if (pfa_load_relaxed(&pfa_background_asked)) {
        pfa_store_relaxed(&pfa_background_asked, false);
        pfa_background_wake();
    }
}

static bool is_owner(void)
{
    int pid = pfa_sys_pid();
    if (pfa_load_relaxed(&owner) == 0) {
        pfa_store_relaxed(&owner, pid);
    }
    return pfa_load_relaxed(&owner) == pid;
}

void pfa_background_wake(void)
{
    uint32_t none = NONE;
    if (pfa_load_relaxed(&pending) != 0 || work_to_do == NULL) {
        return;
    }
    if (pfa_load_relaxed(&state) == NONE && !is_owner()) {
        pfa_store_relaxed(&pfa_background_asked, true); /* for the owner */
        return;
    }
    if (pfa_load_relaxed(&state) == NONE && pfa_cas_acq_rel(&state, &none, MADE)) {
        int kept = errno;
        uint8_t before = pfa_tls_pause(&pfa_tls);
        if (make_thread() != 0) {
            pfa_store_release(&state, FAILED);
        }
        pfa_tls_resume(&pfa_tls, before);
        errno = kept;
    }
    if (pfa_load_relaxed(&state) == MADE && pfa_swap_acq_rel(&pending, 1) == 0) {
        pfa_sys_futex_wake(&pending, 1);
    }
}

void pfa_background_after_fork(bool expected)
{
    pfa_store_relaxed(&state, NONE);
    pfa_store_relaxed(&pending, 0);
    settled = false;
    pfa_store_relaxed(&owner, expected ? pfa_sys_pid() : 0);
    pfa_store_relaxed(&itself, (const pfa_tls_t *)NULL);
}
