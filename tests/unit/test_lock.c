/* The ranked locks: exclusion, sleeping and waking, and fork. */
#define _GNU_SOURCE 1
#include "base/lock.h"
#include "base/sys.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

enum { THREADS = 4, ROUNDS = 20000 };

static struct {
    _Alignas(64) uint64_t plain;
} counters[PFA_LOCK_COUNT];

/* Increments that would get lost if two threads were inside at once. */
static void *count_up(void *arg)
{
    uint64_t seed = (uint64_t)(uintptr_t)arg;
    for (int i = 0; i < ROUNDS; i++) {
        pfa_lock_rank_t rank = (pfa_lock_rank_t)random_below(&seed, PFA_LOCK_COUNT);
        pfa_lock(rank);
        uint64_t seen = counters[rank].plain;
        if (i % 512 == 0) {
            pfa_sys_yield(); /* gives the others time to get in, if they can */
        }
        counters[rank].plain = seen + 1;
        pfa_unlock(rank);
    }
    return NULL;
}

static void run_counting(void)
{
    pthread_t thread[THREADS];
    uint64_t sum = 0;
    memset(counters, 0, sizeof counters);
    for (uintptr_t i = 0; i < THREADS; i++) {
        must(pthread_create(&thread[i], NULL, count_up, (void *)(i + 1)) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        must(pthread_join(thread[i], NULL) == 0);
    }
    for (int rank = 0; rank < PFA_LOCK_COUNT; rank++) {
        sum += counters[rank].plain;
    }
    must(sum == THREADS * ROUNDS);
}

static void only_one_thread_is_inside(void **state)
{
    (void)state;
    run_counting();
}

static int refuse_futex(pfa_sys_call_t call)
{
    return call == PFA_SYS_FUTEX ? EINVAL : 0;
}

/* Without a working futex the lock spins, which is slow and right. */
static void exclusion_does_not_hang_on_futexes(void **state)
{
    (void)state;
    pfa_sys_fault = refuse_futex;
    run_counting();
    pfa_sys_fault = NULL;
}

static _Atomic unsigned inside;

static void *wait_for_it(void *unused)
{
    pfa_lock(PFA_LOCK_RANGE);
    atomic_fetch_add(&inside, 1);
    pfa_unlock(PFA_LOCK_RANGE);
    return unused;
}

static _Atomic unsigned futex_calls;

static int count_futex(pfa_sys_call_t call)
{
    if (call == PFA_SYS_FUTEX) {
        atomic_fetch_add(&futex_calls, 1);
    }
    return 0;
}

static void sleepers_wake_one_after_another(void **state)
{
    (void)state;
    pthread_t thread[THREADS];
    pfa_sys_fault = count_futex;
    pfa_lock(PFA_LOCK_RANGE);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, wait_for_it, NULL), 0);
    }
    usleep(30000);
    assert_int_equal(atomic_load(&inside), 0);
    assert_in_range(atomic_load(&futex_calls), 0, 10 * THREADS); /* they sleep, and do not ask again and again */
    pfa_unlock(PFA_LOCK_RANGE);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    }
    pfa_sys_fault = NULL;
    assert_int_equal(atomic_load(&inside), THREADS);
}

static void ranks_are_independent(void **state)
{
    (void)state;
    for (int rank = 0; rank < PFA_LOCK_COUNT; rank++) {
        pfa_lock((pfa_lock_rank_t)rank); /* would hang if two ranks shared a word */
    }
    for (int rank = 0; rank < PFA_LOCK_COUNT; rank++) {
        pfa_unlock((pfa_lock_rank_t)rank);
    }
}

static _Atomic bool stop;

static void *hammer(void *arg)
{
    uint64_t seed = (uint64_t)(uintptr_t)arg;
    while (!atomic_load(&stop)) {
        pfa_lock_rank_t rank = (pfa_lock_rank_t)random_below(&seed, PFA_LOCK_COUNT);
        pfa_lock(rank);
        uint64_t seen = counters[rank].plain;
        counters[rank].plain = seen + 1;
        must(counters[rank].plain == seen + 1);
        pfa_unlock(rank);
    }
    return NULL;
}

static void use_all_locks(void)
{
    for (int rank = 0; rank < PFA_LOCK_COUNT; rank++) {
        pfa_lock((pfa_lock_rank_t)rank);
    }
    for (int rank = 0; rank < PFA_LOCK_COUNT; rank++) {
        pfa_unlock((pfa_lock_rank_t)rank);
    }
}

/* Other threads hold and want every lock at the moment of the fork; the child, where they are gone, can take each, and
 * the parent goes on. */
static void fork_leaves_the_child_with_free_locks(void **state)
{
    (void)state;
    pthread_t thread[THREADS];
    atomic_store(&stop, false);
    for (uintptr_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, hammer, (void *)(i + 9)), 0);
    }
    for (int round = 0; round < 50; round++) {
        pid_t child = fork();
        must(child >= 0);
        if (child == 0) {
            pfa_locks_after_fork();
            use_all_locks();
            use_all_locks();
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        use_all_locks();
    }
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    }
}

static unsigned handled;

/* As an allocation does that is made here: it takes the lock that its thread has, others, and that one once more. */
static void lock_in_handler(int signal)
{
    (void)signal;
    must(pfa_locks_held());
    must(!pfa_try_lock(PFA_LOCK_TAGS));
    pfa_lock(PFA_LOCK_TAGS);
    pfa_lock(PFA_LOCK_DEPOT);
    pfa_lock(PFA_LOCK_TAGS);
    pfa_unlock(PFA_LOCK_TAGS);
    pfa_unlock(PFA_LOCK_DEPOT);
    pfa_unlock(PFA_LOCK_TAGS);
    handled++;
    if (handled == 1) {
        must(raise(SIGUSR2) == 0); /* and in the middle of that */
    }
}

static void *try_tags(void *got)
{
    *(bool *)got = pfa_try_lock(PFA_LOCK_TAGS);
    if (*(bool *)got) {
        pfa_unlock(PFA_LOCK_TAGS);
    }
    return NULL;
}

static bool others_get_it(void)
{
    pthread_t thread;
    bool got = false;
    must(pthread_create(&thread, NULL, try_tags, &got) == 0 && pthread_join(thread, NULL) == 0);
    return got;
}

static void a_handler_does_not_wait_for_its_own_thread(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = lock_in_handler};
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    assert_int_equal(sigaction(SIGUSR2, &action, NULL), 0);
    pfa_lock(PFA_LOCK_TAGS);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_int_equal(handled, 2);
    assert_false(others_get_it()); /* it is still the thread's */
    pfa_unlock(PFA_LOCK_TAGS);
    assert_false(pfa_locks_held());
    assert_true(others_get_it());
}

static void unlock_in_child(void)
{
    pfa_locks_after_fork();
    must(pfa_locks_held());
    must(!others_get_it());
    pfa_unlock(PFA_LOCK_TAGS);
    must(!pfa_locks_held());
    must(others_get_it());
}

/* A handler that forks returns, in the child too, to where its thread has a lock and will let go of it. */
static void a_fork_child_keeps_the_locks_of_its_thread(void **state)
{
    (void)state;
    pfa_lock(PFA_LOCK_TAGS);
    in_child(unlock_in_child);
    pfa_unlock(PFA_LOCK_TAGS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_one_thread_is_inside),
        cmocka_unit_test(exclusion_does_not_hang_on_futexes),
        cmocka_unit_test(sleepers_wake_one_after_another),
        cmocka_unit_test(ranks_are_independent),
        cmocka_unit_test(fork_leaves_the_child_with_free_locks),
        cmocka_unit_test(a_handler_does_not_wait_for_its_own_thread),
        cmocka_unit_test(a_fork_child_keeps_the_locks_of_its_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
