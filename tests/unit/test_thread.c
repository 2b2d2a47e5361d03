/* The list of threads and what they count. */
#define _GNU_SOURCE 1
#include "base/sys.h"
#include "meta/thread.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <pthread.h>

static uint64_t sum_of(size_t offset_in_class, unsigned class)
{
    static pfa_counters_t sum;
    pfa_counters_sum(&sum);
    return *(const uint64_t *)(const void *)((const char *)&sum.by_class[class] + offset_in_class);
}
#define SUM(member, class) sum_of(offsetof(pfa_class_counters_t, member), class)

static uint64_t sum_of_unrecorded(void)
{
    static pfa_counters_t sum;
    pfa_counters_sum(&sum);
    return pfa_read_counter(&sum.unrecorded);
}

static void join(pfa_tls_t *tls)
{
    memset(tls, 0, sizeof *tls);
    tls->thread = pfa_thread_list_join(tls);
    must(tls->thread != NULL);
}

/* Counting as alloc/life.h does it. */
static void count_alloc(pfa_tls_t *tls, unsigned class, uint64_t bytes)
{
    if (pfa_count_alloc(tls, class, PFA_COUNT_ONE, bytes)) {
        pfa_live_settle(tls);
    }
}

static void count_free(pfa_tls_t *tls, unsigned class, uint64_t bytes)
{
    if (pfa_count_free(tls, tls->thread, class, PFA_COUNT_ONE, bytes)) {
        pfa_live_settle(tls);
    }
}

static void leave(pfa_tls_t *tls)
{
    pfa_live_settle(tls);
    pfa_thread_list_leave(tls->thread);
    tls->thread = NULL;
}

static void numbers_are_unique(void **state)
{
    (void)state;
    enum { MANY = 100 };
    static pfa_tls_t tls[MANY];
    bool used[1000] = {true}; /* 0 means unknown */
    uint16_t highest = 0;
    for (int i = 0; i < MANY; i++) {
        join(&tls[i]);
        uint16_t number = tls[i].thread->number;
        assert_true(number < 1000 && !used[number]);
        used[number] = true;
        highest = number > highest ? number : highest;
        assert_ptr_equal(tls[i].thread->tls, &tls[i]);
    }
    for (int i = 0; i < MANY; i++) {
        leave(&tls[i]);
    }
    for (int round = 0; round < 10000; round++) {
        join(&tls[0]);
        assert_true(tls[0].thread->number == highest + round + 1); /* no thread had it before */
        leave(&tls[0]);
    }
}

/* After 65535 threads at once the number is 0, "unknown", and everything else works. */
static void exhaust_numbers(void)
{
    enum { MANY = 66000 };
    pfa_tls_t *tls = calloc(MANY, sizeof *tls);
    uint8_t *used = calloc(65536, 1);
    unsigned unknown = 0;
    must(tls != NULL && used != NULL);
    for (int i = 0; i < MANY; i++) {
        join(&tls[i]);
        uint16_t number = tls[i].thread->number;
        unknown += number == 0;
        must(number == 0 || !used[number]);
        used[number] = 1;
        count_alloc(&tls[i], 1, 8);
    }
    must(unknown > 0 && unknown <= MANY - 65535 + 16);
    must(SUM(allocations, 1) == (uint64_t)MANY * PFA_COUNT_ONE);
    for (int i = 0; i < MANY; i++) {
        leave(&tls[i]);
    }
    must(SUM(allocations, 1) == (uint64_t)MANY * PFA_COUNT_ONE);
}

static void numbers_run_out_gracefully(void **state)
{
    (void)state;
    in_child(exhaust_numbers);
}

/* Makes the threads due for the long way, and tells which of them the list reached. */
static void check_reached(pfa_tls_t *tls, int count)
{
    static uint32_t epoch = 100;
    epoch++;
    for (int i = 0; i < count; i++) {
        tls[i].countdown = 1000;
        pfa_store_relaxed(&tls[i].epoch, i % 5 == 0 ? epoch : epoch - 1); /* some know of the change already */
    }
    pfa_thread_list_interrupt(epoch);
    for (int i = 0; i < count; i++) {
        /* Everyone on the list who does not know, and nobody who left. */
        must((tls[i].countdown < 0) == (tls[i].thread != NULL && i % 5 != 0));
    }
}

static void any_order_of_leaving_keeps_the_list_whole(void **state)
{
    (void)state;
    enum { THREADS = 40, STEPS = 20000 };
    static pfa_tls_t tls[THREADS];
    uint64_t seed = 71;
    for (int step = 0; step < STEPS; step++) {
        pfa_tls_t *one = &tls[random_below(&seed, THREADS)];
        if (one->thread == NULL) {
            join(one);
        } else {
            leave(one);
        }
        if (step % 16 == 0) {
            check_reached(tls, THREADS);
        }
    }
    for (int i = 0; i < THREADS; i++) {
        if (tls[i].thread != NULL) {
            leave(&tls[i]);
        }
    }
}

/* --- counters ---------------------------------------------------------------------------------------------------- */

typedef struct job {
    unsigned class;
    uint64_t rounds;
} job_t;

static void *count_and_end(void *arg)
{
    const job_t *job = arg;
    pfa_tls_t tls;
    join(&tls);
    for (uint64_t i = 0; i < job->rounds; i++) {
        count_alloc(&tls, job->class, 100);
        pfa_own_add(&tls.thread->counters.unrecorded, 1);
        if (i % 2 == 0) {
            count_free(&tls, job->class, 100);
        }
    }
    leave(&tls);
    return NULL;
}

static void the_dead_are_counted(void **state)
{
    (void)state;
    enum { GENERATIONS = 30, AT_ONCE = 6, ROUNDS = 1000 };
    uint64_t before = SUM(allocations, 7);
    uint64_t bytes = SUM(bytes, 8);
    uint64_t frees = SUM(frees, 9);
    uint64_t freed = SUM(freed_bytes, 9);
    uint64_t unrecorded = sum_of_unrecorded();
    for (int generation = 0; generation < GENERATIONS; generation++) {
        pthread_t thread[AT_ONCE];
        job_t job[AT_ONCE];
        for (unsigned i = 0; i < AT_ONCE; i++) {
            job[i] = (job_t){7 + i % 3, ROUNDS};
            assert_int_equal(pthread_create(&thread[i], NULL, count_and_end, &job[i]), 0);
        }
        for (int i = 0; i < AT_ONCE; i++) {
            assert_int_equal(pthread_join(thread[i], NULL), 0);
        }
    }
    uint64_t per_class = GENERATIONS * AT_ONCE / 3 * ROUNDS;
    assert_true(SUM(allocations, 7) - before == per_class * PFA_COUNT_ONE);
    assert_true(SUM(bytes, 8) - bytes == per_class * 100);
    assert_true(SUM(frees, 9) - frees == per_class / 2 * PFA_COUNT_ONE);
    assert_true(SUM(freed_bytes, 9) - freed == per_class / 2 * 100);
    assert_true(sum_of_unrecorded() - unrecorded == 3 * per_class);
}

static void the_living_are_counted_too(void **state)
{
    (void)state;
    pfa_tls_t tls;
    join(&tls);
    uint64_t before = SUM(allocations, 20);
    count_alloc(&tls, 20, 10);
    assert_true(SUM(allocations, 20) - before == PFA_COUNT_ONE);
    /* A block that is used again starts from nothing, and what it held is kept. */
    leave(&tls);
    join(&tls);
    assert_true(pfa_read_counter(&tls.thread->counters.by_class[20].allocations) == 0);
    assert_true(SUM(allocations, 20) - before == PFA_COUNT_ONE);
    leave(&tls);
}

static void a_free_without_a_thread_is_counted(void **state)
{
    (void)state;
    uint64_t frees = SUM(frees, 30);
    uint64_t freed = SUM(freed_bytes, 30);
    for (int i = 0; i < 10; i++) {
        pfa_count_orphan_free(30, PFA_COUNT_ONE, 1000);
    }
    assert_true(SUM(frees, 30) - frees == 10 * PFA_COUNT_ONE);
    assert_true(SUM(freed_bytes, 30) - freed == 10000);
}

static void bad_frees_are_counted_for_anyone(void **state)
{
    (void)state;
    static pfa_counters_t before;
    static pfa_counters_t after;
    pfa_tls_t known;
    pfa_tls_t unknown;
    memset(&unknown, 0, sizeof unknown);
    join(&known);
    pfa_counters_sum(&before);
    pfa_count_bad_free(&known);
    pfa_count_bad_free(&unknown);
    leave(&known);
    pfa_counters_sum(&after);
    assert_true(pfa_read_counter(&after.bad_frees) - pfa_read_counter(&before.bad_frees) == 2);
}

/* What people are shown: whole chunks, and nothing below zero when a sum caught a death without its birth. */
static void figures_are_whole_and_never_negative(void **state)
{
    (void)state;
    static pfa_counters_t counters;
    memset(&counters, 0, sizeof counters);
    counters.by_class[3] = (pfa_class_counters_t){.allocations = 10 * PFA_COUNT_ONE + PFA_COUNT_ONE / 2,
                                                  .bytes = 1000,
                                                  .frees = 4 * PFA_COUNT_ONE + PFA_COUNT_ONE / 4,
                                                  .freed_bytes = 300};
    counters.by_class[5] = (pfa_class_counters_t){
        .allocations = PFA_COUNT_ONE, .bytes = 50, .frees = 2 * PFA_COUNT_ONE, .freed_bytes = 60};
    pfa_figures_t one = pfa_counters_figures(&counters, 3, 4);
    assert_true(one.allocations == 11 && one.frees == 4 && one.live == 6);
    assert_true(one.bytes == 1000 && one.freed_bytes == 300 && one.live_bytes == 700);
    pfa_figures_t caught = pfa_counters_figures(&counters, 5, 6);
    assert_true(caught.live == 0 && caught.live_bytes == 0);
    pfa_figures_t all = pfa_counters_figures(&counters, 0, PFA_CLASS_COUNT);
    assert_true(all.allocations == 12 && all.frees == 6 && all.bytes == 1050 && all.live_bytes == 690);
    pfa_figures_t none = pfa_counters_figures(&counters, 4, 5);
    assert_true(none.allocations == 0 && none.live == 0);
}

/* --- live bytes and their peak ----------------------------------------------------------------------------------- */

typedef struct live_model {
    int64_t live;
    int64_t peak;
} live_model_t;

static void model_add(live_model_t *model, int64_t bytes)
{
    model->live += bytes;
    model->peak = model->live > model->peak ? model->live : model->peak;
}

static void follow_the_peak(void)
{
    uint64_t seed = 81;
    live_model_t model = {0, 0};
    pfa_tls_t tls;
    join(&tls);
    for (int step = 0; step < 200000; step++) {
        /* Phases of growth and of shrinking, from tiny steps to ones beyond the slack. */
        int64_t bytes = (int64_t)random_below(&seed, (uint64_t)16 << random_below(&seed, 14));
        bool grow = random_below(&seed, 100) < (step / 5000 % 2 == 0 ? 60u : 40u);
        if (grow) {
            count_alloc(&tls, 3, (uint64_t)bytes);
            model_add(&model, bytes);
        } else if (model.live >= bytes) {
            count_free(&tls, 3, (uint64_t)bytes);
            model_add(&model, -bytes);
        }
        if (random_below(&seed, 50) == 0) {
            pfa_live_settle(&tls);
            must(pfa_live_peak() == (uint64_t)model.peak);
        }
        must(pfa_live_peak() <= (uint64_t)model.peak);
        must(pfa_live_peak() + PFA_LIVE_SLACK + (16 << 13) >= (uint64_t)model.peak);
    }
    leave(&tls);
    must(pfa_live_peak() == (uint64_t)model.peak);
}

static void the_peak_is_exact_with_one_thread(void **state)
{
    (void)state;
    in_child(follow_the_peak);
}

static void orphans_lower_the_total(void)
{
    pfa_tls_t tls;
    join(&tls);
    count_alloc(&tls, 3, 1000000);
    pfa_live_settle(&tls);
    must(pfa_live_peak() == 1000000);
    pfa_count_orphan_free(3, PFA_COUNT_ONE, 1000000);
    count_alloc(&tls, 3, 900000);
    pfa_live_settle(&tls);
    must(pfa_live_peak() == 1000000); /* not 1.9 million */
    count_alloc(&tls, 3, 200000);
    pfa_live_settle(&tls);
    must(pfa_live_peak() == 1100000);
}

static void a_free_without_a_thread_lowers_the_live_total(void **state)
{
    (void)state;
    in_child(orphans_lower_the_total);
}

static void free_elsewhere(void)
{
    pfa_tls_t maker;
    pfa_tls_t taker;
    join(&maker);
    join(&taker);
    uint64_t bound = 0;
    for (int i = 0; i < 1000; i++) {
        count_alloc(&maker, 3, 5000);
        count_free(&taker, 3, 5000);
        bound = 5000 + 2 * (PFA_LIVE_SLACK + 5000);
    }
    leave(&maker);
    leave(&taker);
    must(pfa_live_peak() <= bound); /* each holds back no more than the slack */
}

static void two_threads_hold_back_at_most_the_slack(void **state)
{
    (void)state;
    in_child(free_elsewhere);
}

/* --- fork and failure -------------------------------------------------------------------------------------------- */

static void after_fork_only_the_caller_lives(void **state)
{
    (void)state;
    enum { OTHERS = 20 };
    static pfa_tls_t tls[OTHERS + 1];
    for (int i = 0; i <= OTHERS; i++) {
        join(&tls[i]);
        count_alloc(&tls[i], 40, 10);
    }
    uint64_t before = SUM(allocations, 40);
    pid_t child = fork();
    must(child >= 0);
    if (child == 0) {
        pfa_thread_list_after_fork(tls[7].thread);
        must(SUM(allocations, 40) == before); /* what the others did is not forgotten */
        for (int i = 0; i <= OTHERS; i++) {
            tls[i].countdown = 1000;
        }
        pfa_thread_list_interrupt(12345);
        for (int i = 0; i <= OTHERS; i++) {
            must((tls[i].countdown < 0) == (i == 7)); /* the memory of the others is not touched again */
        }
        pfa_tls_t fresh;
        join(&fresh);
        leave(&fresh);
        leave(&tls[7]);
        pfa_thread_list_after_fork(NULL); /* a child forked by a thread we have not seen */
        must(SUM(allocations, 40) == before);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    for (int i = 0; i <= OTHERS; i++) {
        leave(&tls[i]);
    }
}

/* Its own process has none of the threads that are in the list. */
static void look_from_vfork(void)
{
    static pfa_tls_t tls;
    int status;
    const pfa_thread_t *thread = pfa_thread_list_join_to_free(&tls);
    must(thread != NULL && thread->tid == pfa_sys_tid());
    pid_t child = vfork();
    if (child == 0) {
        _exit(pfa_thread_list_alone(NULL) ? 1 : 0);
    }
    must(waitpid(child, &status, 0) == child && status == 0);
    must(thread->tid == pfa_sys_tid() && !pfa_thread_list_alone(NULL));
}

static void a_child_in_our_memory_finds_nobody_gone(void **state)
{
    (void)state;
    in_child(look_from_vfork);
}

static int refuse_mmap(pfa_sys_call_t call)
{
    return call == PFA_SYS_MMAP ? ENOMEM : 0;
}

static void join_without_memory(void)
{
    pfa_tls_t tls;
    memset(&tls, 0, sizeof tls);
    pfa_sys_fault = refuse_mmap;
    must(pfa_thread_list_join(&tls) == NULL);
    must(pfa_thread_list_join(&tls) == NULL);
    pfa_sys_fault = NULL;
    join(&tls); /* also shows that the lock was released */
    must(tls.thread->number == 1);
}

static void joining_without_memory_fails_and_recovers(void **state)
{
    (void)state;
    in_child(join_without_memory);
}

int main(void)
{
    /* First those that want their process's list untouched. */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joining_without_memory_fails_and_recovers),
        cmocka_unit_test(a_child_in_our_memory_finds_nobody_gone),
        cmocka_unit_test(numbers_run_out_gracefully),
        cmocka_unit_test(the_peak_is_exact_with_one_thread),
        cmocka_unit_test(a_free_without_a_thread_lowers_the_live_total),
        cmocka_unit_test(two_threads_hold_back_at_most_the_slack),
        cmocka_unit_test(numbers_are_unique),
        cmocka_unit_test(any_order_of_leaving_keeps_the_list_whole),
        cmocka_unit_test(the_dead_are_counted),
        cmocka_unit_test(the_living_are_counted_too),
        cmocka_unit_test(a_free_without_a_thread_is_counted),
        cmocka_unit_test(bad_frees_are_counted_for_anyone),
        cmocka_unit_test(figures_are_whole_and_never_negative),
        cmocka_unit_test(after_fork_only_the_caller_lives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
