/* The ranked locks: exclusion, sleeping and waking, and fork. */
#define _GNU_SOURCE 1
#include "base/lock.h"
#include "base/sys.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <pthread.h>
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
        pfa_locks_before_fork();
        uint64_t frozen[PFA_LOCK_COUNT];
        for (int rank = 0; rank < PFA_LOCK_COUNT; rank++) {
            frozen[rank] = counters[rank].plain;
        }
        pid_t child = fork();
        must(child >= 0);
        if (child == 0) {
            pfa_locks_after_fork_child();
            for (int rank = 0; rank < PFA_LOCK_COUNT; rank++) {
                must(counters[rank].plain == frozen[rank]); /* nobody was inside when the picture was taken */
            }
            use_all_locks();
            use_all_locks();
            _exit(0);
        }
        pfa_locks_after_fork_parent();
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

static _Atomic bool forked;

static void *fork_locks(void *unused)
{
    pfa_locks_before_fork();
    atomic_store(&forked, true);
    pfa_locks_after_fork_parent();
    return unused;
}

static void fork_waits_for_whoever_is_inside(void **state)
{
    (void)state;
    pthread_t thread;
    pfa_lock(PFA_LOCK_THREADS);
    assert_int_equal(pthread_create(&thread, NULL, fork_locks, NULL), 0);
    usleep(20000);
    assert_false(atomic_load(&forked));
    pfa_unlock(PFA_LOCK_THREADS);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(atomic_load(&forked));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_one_thread_is_inside),
        cmocka_unit_test(exclusion_does_not_hang_on_futexes),
        cmocka_unit_test(sleepers_wake_one_after_another),
        cmocka_unit_test(ranks_are_independent),
        cmocka_unit_test(fork_leaves_the_child_with_free_locks),
        cmocka_unit_test(fork_waits_for_whoever_is_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
