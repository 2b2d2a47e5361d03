/* The public calls, in a process whose malloc is the library's: counters against a model of what was really allocated,
 * exact when everything is recorded and unbiased when it is sampled. Each test has a process of its own, and between two
 * readings of the counters nothing but the test allocates. */
#define _GNU_SOURCE 1
#include <profalloc.h>

#include "tests/unit/unit.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>

static profalloc_counters_t counters(void)
{
    profalloc_counters_t now;
    memset(&now, 0xff, sizeof now);
    profalloc_counters(&now);
    return now;
}

typedef struct model {
    uint64_t allocations;
    uint64_t frees;
    uint64_t bytes_allocated;
    uint64_t bytes_freed;
} model_t;

static void model_alloc(model_t *model, size_t size)
{
    model->allocations++;
    model->bytes_allocated += size;
}

static void model_free(model_t *model, size_t size)
{
    model->frees++;
    model->bytes_freed += size;
}

static void check_model(const model_t *model, const profalloc_counters_t *before)
{
    profalloc_counters_t now = counters();
    must(now.allocations - before->allocations == model->allocations);
    must(now.frees - before->frees == model->frees);
    must(now.bytes_allocated - before->bytes_allocated == model->bytes_allocated);
    must(now.bytes_freed - before->bytes_freed == model->bytes_freed);
    must(now.live_chunks == now.allocations - now.frees);
    must(now.live_bytes == now.bytes_allocated - now.bytes_freed);
    must(now.unrecorded == 0 && now.bad_frees == 0);
}

/* The background thread is made when enough large chunks were freed, and for that the C library allocates. */
static void wake_background(void)
{
    for (int i = 0; i < 1000; i++) {
        free(malloc(300000));
    }
}

static void count_everything(void)
{
    enum { LIVE = 300, STEPS = 60000 };
    static struct {
        void *chunk;
        size_t size;
    } live[LIVE];
    uint64_t seed = 171;
    model_t model = {0, 0, 0, 0};
    must(profalloc_start(1) == 0);
    wake_background();
    profalloc_counters_t before = counters();
    int64_t now = (int64_t)before.live_bytes;
    int64_t peak = (int64_t)before.peak_bytes;
    for (int step = 0; step < STEPS; step++) {
        size_t i = random_below(&seed, LIVE);
        size_t size = random_below(&seed, (uint64_t)32 << random_below(&seed, 15));
        switch (live[i].chunk == NULL ? 3 + random_below(&seed, 4) : random_below(&seed, 3)) {
        case 0:
        case 1:
            free(live[i].chunk);
            model_free(&model, live[i].size);
            now -= (int64_t)live[i].size;
            live[i].chunk = NULL;
            continue;
        case 2: /* in place or moved: one life ends, another begins */
            size = size == 0 ? 1 : size;
            live[i].chunk = realloc(live[i].chunk, size);
            model_free(&model, live[i].size);
            now -= (int64_t)live[i].size;
            break;
        case 3:
            live[i].chunk = malloc(size);
            break;
        case 4:
            live[i].chunk = calloc(1, size);
            break;
        case 5:
            live[i].chunk = aligned_alloc((size_t)8 << random_below(&seed, 12), size);
            break;
        default:
            live[i].chunk = realloc(NULL, size);
        }
        must(live[i].chunk != NULL);
        model_alloc(&model, size);
        live[i].size = size;
        now += (int64_t)size;
        peak = now > peak ? now : peak;
        if (step % 100 == 0) {
            check_model(&model, &before);
        }
    }
    must(counters().peak_bytes >= (uint64_t)peak);
    for (int i = 0; i < LIVE; i++) {
        if (live[i].chunk != NULL) {
            model_free(&model, live[i].size);
        }
        free(live[i].chunk);
    }
    check_model(&model, &before);
}

static void full_recording_counts_every_chunk(void **state)
{
    (void)state;
    in_child(count_everything);
}

static void count_after_stop(void)
{
    void *early = malloc(1000); /* before recording: never counted */
    must(profalloc_start(1) == 0);
    profalloc_counters_t before = counters();
    model_t model = {0, 0, 0, 0};
    void *recorded = malloc(2000);
    void *large = malloc(3000000);
    model_alloc(&model, 2000);
    model_alloc(&model, 3000000);
    free(early);
    check_model(&model, &before);
    profalloc_stop();
    void *late = malloc(4000);
    early = malloc(5000000);
    check_model(&model, &before);
    free(recorded); /* keeps its record until then */
    model_free(&model, 2000);
    check_model(&model, &before);
    must(profalloc_start(1) == 0);
    free(late);
    free(early);
    check_model(&model, &before);
    free(large);
    model_free(&model, 3000000);
    void *again = malloc(7);
    model_alloc(&model, 7);
    check_model(&model, &before);
    free(again);
}

static void recording_starts_and_stops_with_chunks_alive(void **state)
{
    (void)state;
    in_child(count_after_stop);
}

/* Sampled: many chunks, and the estimate within five standard errors of the truth. Small periods and small chunks, where
 * being off by a byte anywhere would show. */
static double chance_of(size_t size, size_t period)
{
    /* 1 - exp(-x) for the spread alone, which need not be exact: libm is not linked here. */
    double stays = 1;
    for (int i = 0; i < 1024; i++) {
        stays *= 1 - (double)size / (double)period / 1024;
    }
    return size >= 100 * period ? 1 : 1 - stays;
}

static void check_estimate(size_t period, const size_t *sizes, size_t kinds, size_t chunks)
{
    uint64_t seed = 172;
    double variance = 0;
    double bytes_variance = 0;
    double bytes = 0;
    double spread[16];
    for (size_t i = 0; i < kinds; i++) {
        double p = chance_of(sizes[i], period);
        spread[i] = (1 - p) / p;
    }
    must(profalloc_start(period) == 0);
    profalloc_counters_t before = counters();
    for (size_t i = 0; i < chunks; i++) {
        size_t kind = random_below(&seed, kinds);
        double size = (double)sizes[kind];
        void *chunk = malloc(sizes[kind]);
        must(chunk != NULL);
        free(chunk);
        variance += spread[kind];
        bytes_variance += spread[kind] * size * size;
        bytes += size;
    }
    profalloc_counters_t now = counters();
    double off = (double)(now.allocations - before.allocations) - (double)chunks;
    double bytes_off = (double)(now.bytes_allocated - before.bytes_allocated) - bytes;
    double rounding = 0.01 * bytes; /* what a chunk stands for is counted in whole bytes */
    bytes_off = bytes_off > rounding ? bytes_off - rounding : bytes_off < -rounding ? bytes_off + rounding : 0;
    if (off * off > 25 * variance + 4 || bytes_off * bytes_off > 25 * bytes_variance + 4) {
        dprintf(STDOUT_FILENO, "period %zu: off by %.0f of %zu chunks (variance %.0f), by %.0f of %.0f bytes (%.0f)\n",
                period, off, chunks, variance, bytes_off, bytes, bytes_variance);
        abort();
    }
    must(now.live_chunks == before.live_chunks &&
         now.live_bytes == before.live_bytes); /* what was counted in goes out */
}

static void estimate(void)
{
    static const size_t tiny[] = {1, 2, 8, 16};
    static const size_t mixed[] = {8, 16, 40, 100, 500, 3000, 20000};
    static const size_t one[] = {16};
    must(profalloc_start(1) == 0);
    wake_background();
    check_estimate(64, tiny, 4, 2000000);
    check_estimate(64, one, 1, 2000000);
    check_estimate(4096, mixed, 7, 2000000);
    check_estimate(1, tiny, 4, 1000);
}

static void sampling_estimates_without_bias(void **state)
{
    (void)state;
    in_child(estimate);
}

static void use_many_periods(void)
{
    for (size_t i = 1; i <= 63; i++) {
        must(profalloc_start(i * 1000) == 0);
    }
    must(profalloc_start(((size_t)1 << 40) + 1) == EINVAL);
    must(profalloc_start(63 * 1000 + 1) == ENOSPC);
    must(profalloc_start(5 * 1000) == 0);
    must(profalloc_start(1) == 0);
    profalloc_counters_t before = counters();
    void *chunk = malloc(10);
    must(counters().allocations == before.allocations + 1); /* the last call counts */
    free(chunk);
}

static void the_64th_period_is_refused(void **state)
{
    (void)state;
    in_child(use_many_periods);
}

static void *allocate_some(void *arg)
{
    for (int i = 0; i < 1000; i++) {
        void *chunk = malloc(100);
        must(chunk != NULL);
        if (i % 2 == 0) {
            free(chunk);
        }
    }
    return arg;
}

static void count_other_threads(void)
{
    enum { THREADS = 8 };
    pthread_t thread[THREADS];
    must(profalloc_start(1) == 0);
    must(pthread_create(&thread[0], NULL, allocate_some, NULL) == 0); /* the C library keeps its stack */
    must(pthread_join(thread[0], NULL) == 0);
    profalloc_counters_t before = counters();
    for (int i = 0; i < THREADS; i++) {
        must(pthread_create(&thread[0], NULL, allocate_some, NULL) == 0);
        must(pthread_join(thread[0], NULL) == 0);
    }
    profalloc_counters_t now = counters();
    /* Besides ours there are a few of the C library's for each thread. */
    must(now.allocations - before.allocations >= THREADS * 1000);
    must(now.allocations - before.allocations < THREADS * 1010);
    must(now.frees - before.frees >= THREADS * 500 && now.frees - before.frees < THREADS * 510);
    must(now.live_bytes - before.live_bytes >= THREADS * 50000);
}

static void threads_that_ended_are_counted(void **state)
{
    (void)state;
    in_child(count_other_threads);
}

/* A thread whose calls come thick and fast, all of them for large chunks, and then its first small one. */
static void *only_large_then_small(void *arg)
{
    char *chunk = malloc(200000);
    must(chunk != NULL);
    for (uintptr_t i = 0; i < 10000 + (uintptr_t)arg; i++) {
        chunk = realloc(chunk, 199000 + i % 2);
        must(chunk != NULL);
    }
    char *small = malloc(10);
    must(small != NULL);
    free(small);
    free(chunk);
    return NULL;
}

static void let_threads_mix_late(void)
{
    must(profalloc_start(1) == 0);
    for (uintptr_t i = 0; i < 40; i++) {
        pthread_t thread;
        must(pthread_create(&thread, NULL, only_large_then_small, (void *)i) == 0);
        must(pthread_join(thread, NULL) == 0);
    }
}

static void a_threads_first_small_chunk_may_come_late(void **state)
{
    (void)state;
    in_child(let_threads_mix_late);
}

static void misuse(void)
{
    int local;
    char *chunk;
    must(profalloc_start(1) == 0);
    chunk = malloc(100);
    must(chunk != NULL);
    int *volatile foreign = &local; /* the compiler need not know */
    char *volatile inside = chunk + 8;
    char *volatile twice = chunk;
    profalloc_counters_t before = counters();
    free(foreign);
    must(counters().bad_frees == before.bad_frees + 1);
    free(inside);
    must(counters().bad_frees == before.bad_frees + 2);
    must(counters().frees == before.frees);
    free(chunk);
    must(counters().frees == before.frees + 1);
    free(twice);
    must(counters().bad_frees == before.bad_frees + 3);
    must(counters().frees == before.frees + 1);
}

static void bad_frees_are_counted_and_do_nothing(void **state)
{
    (void)state;
    in_child(misuse); /* says so on standard error, once for each place */
}

static void the_version_is_the_headers(void **state)
{
    (void)state;
    assert_string_equal(profalloc_version(), PROFALLOC_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_recording_counts_every_chunk),
        cmocka_unit_test(recording_starts_and_stops_with_chunks_alive),
        cmocka_unit_test(sampling_estimates_without_bias),
        cmocka_unit_test(the_64th_period_is_refused),
        cmocka_unit_test(threads_that_ended_are_counted),
        cmocka_unit_test(a_threads_first_small_chunk_may_come_late),
        cmocka_unit_test(bad_frees_are_counted_and_do_nothing),
        cmocka_unit_test(the_version_is_the_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
