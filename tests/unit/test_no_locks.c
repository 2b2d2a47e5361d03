/* malloc and free take no lock: while a thread holds every one of them, hundreds of others allocate and free, threads that only
 * free do so, and those whose destructors have run. If one of them waited for a lock, it would wait for ever: the test's time
 * limit is what fails then. The entry points are linked into this program, with everything recorded.
 *
 * What is allowed to take locks (base/lock.h) has happened before: the threads have begun, and their call stacks are known. */
/* sources: hooks/accesses.c hooks/api.c hooks/fork.c hooks/introspect.c hooks/malloc.c hooks/process.c hooks/report.c hooks/resize.c hooks/signals.c hooks/slow.c hooks/summary.c hooks/thread.c */
#define _GNU_SOURCE 1
#include "alloc/rcu.h"
#include "base/lock.h"
#include "hooks/hooks.h"
#include "include/profalloc.h"
#include "meta/extents.h"
#include "meta/ring.h"
#include "meta/ringpool.h"
#include "meta/thread.h"
#include "tests/unit/unit.h"

#include <limits.h>
#include <pthread.h>

const char *profalloc_conf = "prof:true,sample:1,out:test_no_locks.pa,summary:false";

/* There is no other malloc in this program. */
bool pfa_reach_is_ours(void)
{
    return true;
}

/* Fewer deaths than the smallest ring has room for: nobody empties it while the locks are held. */
enum { THREADS = 400, BEFORE = 40, STEPS = 16, FREED = 60, STACK = 256 * 1024 };

static pthread_barrier_t ready; /* all have begun */
static pthread_barrier_t go;    /* the locks are held */
static pthread_barrier_t over;
static void *given[THREADS][FREED];

static __attribute__((noinline)) void *get(size_t size)
{
    void *chunk = malloc(size);
    __asm__ volatile("" : "+r"(chunk) : : "memory");
    return chunk;
}

/* Not inlined, so that the call stacks are the same before and after. */
static __attribute__((noinline)) void drop(void *chunk)
{
    free(chunk);
    __asm__ volatile("");
}

static __attribute__((noinline)) void pass(int step)
{
    if (step == BEFORE) {
        pthread_barrier_wait(&ready);
        pthread_barrier_wait(&go);
    }
}

static __attribute__((noinline)) void *allocate(void *arg)
{
    volatile size_t size = 16 + (size_t)(uintptr_t)arg % 64;
    for (int i = 0; i < BEFORE + STEPS; i++) {
        pass(i);
        drop(get(i % 4 == 0 ? 200000 : size));
    }
    pthread_barrier_wait(&over);
    return NULL;
}

static void *only_free(void *arg)
{
    void **chunks = arg;
    for (int i = 0; i < FREED; i++) {
        pass(i);
        drop(chunks[i]);
    }
    pthread_barrier_wait(&over);
    return NULL;
}

static pthread_key_t late;

/* In the last round of destructors the library's own has run for the last time. */
static void free_late(void *arg)
{
    static PFA_THREAD_LOCAL int rounds;
    if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
        must(pthread_setspecific(late, arg) == 0);
        free(get(10)); /* it is born again each time */
        return;
    }
    must(pfa_tls.thread == NULL);
    (void)only_free(arg);
}

static void *end_then_free(void *arg)
{
    must(pthread_setspecific(late, arg) == 0);
    return NULL;
}

static void check_without_locks(void *(*work)(void *), int threads, bool with_chunks)
{
    pthread_t thread[THREADS];
    pthread_attr_t attributes;
    must(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, STACK) == 0);
    must(pthread_barrier_init(&ready, NULL, (unsigned)threads + 1) == 0);
    must(pthread_barrier_init(&go, NULL, (unsigned)threads + 1) == 0);
    must(pthread_barrier_init(&over, NULL, (unsigned)threads + 1) == 0);
    for (int i = 0; i < threads; i++) {
        for (int n = 0; n < FREED && with_chunks; n++) {
            given[i][n] = get(n % 10 == 0 ? 200000 : 24);
        }
        void *arg = with_chunks ? (void *)given[i] : (void *)(uintptr_t)i;
        must(pthread_create(&thread[i], &attributes, work, arg) == 0);
    }
    profalloc_counters_t before;
    profalloc_counters_t after;
    pthread_barrier_wait(&ready);
    profalloc_counters(&before);
    for (int rank = 0; rank < PFA_LOCK_COUNT; rank++) {
        pfa_lock((pfa_lock_rank_t)rank);
    }
    pthread_barrier_wait(&go);
    pthread_barrier_wait(&over);
    for (int rank = PFA_LOCK_COUNT - 1; rank >= 0; rank--) {
        pfa_unlock((pfa_lock_rank_t)rank);
    }
    profalloc_counters(&after);
    for (int i = 0; i < threads; i++) {
        must(pthread_join(thread[i], NULL) == 0);
    }
    uint64_t frees = (uint64_t)threads * (with_chunks ? FREED - BEFORE : STEPS);
    must(after.frees - before.frees == frees && after.bad_frees == 0);
}

static void many_threads_allocate(void **state)
{
    (void)state;
    check_without_locks(allocate, THREADS, false);
    assert_int_equal(pfa_load_relaxed(&pfa_extents_head->folded), 0);
}

static void threads_that_only_free(void **state)
{
    (void)state;
    check_without_locks(only_free, THREADS, true);
    assert_int_equal(pfa_load_relaxed(&pfa_extents_head->folded), 0);
}

static void threads_past_their_destructors(void **state)
{
    (void)state;
    uint32_t readers = pfa_rcu_taken();
    check_without_locks(end_then_free, PFA_RINGS_LENT, true);
    assert_int_equal(pfa_rcu_taken(), readers); /* they leave nothing behind, though nobody tells of their end */
    assert_int_equal(pfa_load_relaxed(&pfa_extents_head->folded), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_threads_allocate),
                                       cmocka_unit_test(threads_that_only_free),
                                       cmocka_unit_test(threads_past_their_destructors)};
    (void)unlink("test_no_locks.pa");
    must(pthread_key_create(&late, free_late) == 0);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink("test_no_locks.pa");
    return failed;
}
