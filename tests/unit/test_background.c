/* The background thread: that work asked for is done, by a thread that bothers nobody. */
#define _GNU_SOURCE 1
#include "export/background.h"
#include "base/tls.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static _Atomic unsigned asked; /* work there is */
static _Atomic unsigned done;  /* work that was seen to */
static _Atomic unsigned calls;
static _Atomic int worker_tid;
static _Atomic bool hold;
static sigset_t worker_mask;
static cpu_set_t processors_at_start;
static cpu_set_t worker_processors;

static void work(void)
{
    bool held = atomic_load(&hold); /* not in the middle of a round */
    atomic_store(&worker_tid, (int)syscall(SYS_gettid));
    (void)pthread_sigmask(SIG_SETMASK, NULL, &worker_mask);
    pfa_background_settle();
    (void)sched_getaffinity(0, sizeof worker_processors, &worker_processors);
    must(pfa_tls.thread == NULL && pfa_tls.state == PFA_THREAD_GONE); /* its allocations are nobody's business */
    atomic_fetch_add(&calls, 1);
    atomic_store(&done, atomic_load(&asked));
    while (held && atomic_load(&hold)) {
        sched_yield();
    }
}

/* True once all work asked for so far is done. */
static bool is_done_in_time(void)
{
    for (int i = 0; i < 100000; i++) {
        if (atomic_load(&done) == atomic_load(&asked)) {
            return true;
        }
        usleep(100);
    }
    return false;
}

static void nothing_happens_before_there_is_work(void **state)
{
    (void)state;
    pfa_background_wake(); /* before init: nobody there, nothing to do */
    assert_int_equal(sched_getaffinity(0, sizeof processors_at_start, &processors_at_start), 0);
    pfa_background_init(work);
    usleep(10000);
    assert_int_equal(atomic_load(&calls), 0);
}

/* The thread is made by one that is pinned to a processor, as programs do with theirs. */
static void it_runs_where_the_process_may(void **state)
{
    (void)state;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    atomic_fetch_add(&asked, 1);
    pfa_background_wake();
    assert_true(is_done_in_time());
    assert_true(CPU_EQUAL(&worker_processors, &processors_at_start));
    assert_int_equal(sched_setaffinity(0, sizeof processors_at_start, &processors_at_start), 0);
}

static void every_wake_is_followed_by_work(void **state)
{
    (void)state;
    for (int i = 0; i < 3000; i++) {
        atomic_fetch_add(&asked, 1);
        pfa_background_wake();
        if (i % 10 == 0) {
            assert_true(is_done_in_time());
        }
    }
    assert_true(is_done_in_time());
    assert_true(atomic_load(&worker_tid) != getpid());
}

/* Work that comes up while the thread is at it must not be lost, nor wait for the next wake. */
static void a_wake_during_work_makes_another_round(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        unsigned before = atomic_load(&calls);
        atomic_store(&hold, true);
        atomic_fetch_add(&asked, 1);
        pfa_background_wake();
        while (atomic_load(&calls) == before) {
            sched_yield();
        }
        atomic_fetch_add(&asked, 1); /* the round under way has looked already */
        for (int w = 0; w < 5; w++) {
            pfa_background_wake();
        }
        atomic_store(&hold, false);
        assert_true(is_done_in_time());
    }
}

static void the_thread_blocks_all_signals(void **state)
{
    (void)state;
    sigset_t own;
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &own), 0);
    for (int signal = 1; signal < 32; signal++) { /* the next two are the C library's own */
        if (signal != SIGKILL && signal != SIGSTOP) {
            assert_int_equal(sigismember(&worker_mask, signal), 1);
            assert_int_equal(sigismember(&own, signal), 0); /* and waking left ours alone */
        }
    }
}

static void waking_keeps_errno(void **state)
{
    (void)state;
    errno = 4711;
    atomic_fetch_add(&asked, 1);
    pfa_background_wake();
    assert_int_equal(errno, 4711);
    assert_true(is_done_in_time());
}

static void use_after_fork(void)
{
    pfa_background_after_fork(true);
    errno = 4712;
    int parents_worker = atomic_load(&worker_tid);
    atomic_fetch_add(&asked, 1);
    pfa_background_wake(); /* makes a thread of the child's own */
    must(errno == 4712);
    must(is_done_in_time());
    must(atomic_load(&worker_tid) != parents_worker);
}

static void a_fork_child_gets_a_thread_when_it_needs_one(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        in_child(use_after_fork);
    }
}

static void wake_without_room_for_a_thread(void)
{
    enum { NOBODY = 65534 }; /* the limit does not hold for root */
    struct rlimit none = {0, 0};
    pfa_background_after_fork(true); /* no thread yet */
    must(setrlimit(RLIMIT_NPROC, &none) == 0);
    must(geteuid() != 0 || setuid(NOBODY) == 0);
    unsigned before = atomic_load(&calls);
    errno = 4713;
    for (int i = 0; i < 100; i++) {
        atomic_fetch_add(&asked, 1);
        pfa_background_wake(); /* comes back, every time */
    }
    must(errno == 4713);
    must(atomic_load(&calls) == before);
}

static void no_thread_to_be_had_is_survived(void **state)
{
    (void)state;
    in_child(wake_without_room_for_a_thread);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_happens_before_there_is_work),
        cmocka_unit_test(it_runs_where_the_process_may),
        cmocka_unit_test(every_wake_is_followed_by_work),
        cmocka_unit_test(a_wake_during_work_makes_another_round),
        cmocka_unit_test(the_thread_blocks_all_signals),
        cmocka_unit_test(waking_keeps_errno),
        cmocka_unit_test(a_fork_child_gets_a_thread_when_it_needs_one),
        cmocka_unit_test(no_thread_to_be_had_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
