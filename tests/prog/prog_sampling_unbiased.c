/* What is estimated from samples is right on average: over many chunks of all sizes, by every call and in several
 * threads, the estimates lie within five standard deviations of the truth. For a chunk of s bytes recorded with
 * probability p = 1 - exp(-s / period) and then counted 1/p times, the variance is (1 - p) / p.
 *
 * run: modes=off conf=prof:true,sample:1K arg=1024
 * run: modes=off conf=prof:true,sample:4K arg=4096
 * run: modes=off conf=prof:true,sample:64K arg=65536 */
#include "trap.h"

#include <pthread.h>

enum { THREADS = 3, STEPS = 100000 };

typedef struct truth {
    double count;
    double bytes;
    double count_variance;
    double bytes_variance;
} truth_t;

static double period;
static const char *calls; /* which to mix, by their first letters */
static truth_t truths[THREADS];

/* 1 - exp(-x), by halving x until the series is short. */
static double probability(double x)
{
    return x > 0.01 ? 1 - (1 - probability(x / 2)) * (1 - probability(x / 2)) : x * (1 - x / 2 + x * x / 6);
}

static void count(truth_t *truth, size_t size)
{
    double p = probability((double)size / period);
    double variance = (1 - p) / p;
    truth->count += 1;
    truth->bytes += (double)size;
    truth->count_variance += variance;
    truth->bytes_variance += variance * (double)size * (double)size;
}

static void *allocate(char call, void *kept, size_t size)
{
    if (call == 'r') {
        return realloc(kept, size);
    }
    free(kept);
    return call == 'c' ? calloc(1, size) : call == 'a' ? aligned_alloc(64, size) : malloc(size);
}

/* Calls must come thick and fast, as in the loops of programs: what is not allocation is done before, and large chunks,
 * which take their time, come later. */
static void *run(void *arg)
{
    enum { BATCH = 50000 };
    static __thread size_t sizes[BATCH];
    truth_t *truth = arg;
    uint64_t random = (uint64_t)(truth - truths) * 7919 + 1;
    size_t kinds = strlen(calls);
    void *kept = NULL;
    for (int step = 0; step < STEPS; step += BATCH) {
        for (int i = 0; i < BATCH; i++) {
            sizes[i] = 15 + random_size(&random, step > 0 && i % 200 == 0 ? 500000 : 8000);
            count(truth, sizes[i]);
        }
        for (unsigned i = 0; i < BATCH; i++) {
            kept = allocate(calls[i % kinds], kept, sizes[i]);
        }
    }
    free(kept);
    return NULL;
}

static void check(const char *what, double estimate, double truth, double variance)
{
    double off = estimate - truth;
    CHECK(off * off < 49 * variance,
          "%s: estimated %.0f, in truth %.0f, square of the deviation %.0f times the variance", what, estimate, truth,
          off * off / variance);
}

static void check_mix(const char *mix)
{
    pthread_t threads[THREADS];
    truth_t sum = {0, 0, 0, 0};
    calls = mix;
    memset(truths, 0, sizeof truths);
    profalloc_counters_t before = counters();
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, run, &truths[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum.count += truths[i].count;
        sum.bytes += truths[i].bytes;
        sum.count_variance += truths[i].count_variance;
        sum.bytes_variance += truths[i].bytes_variance;
    }
    profalloc_counters_t after = counters();
    CHECK(after.bad_frees == 0 && after.unrecorded == 0, "%s", mix);
    check(mix, (double)(after.allocations - before.allocations), sum.count, sum.count_variance);
    check("frees", (double)(after.frees - before.frees), sum.count, sum.count_variance);
    check("bytes", (double)(after.bytes_allocated - before.bytes_allocated), sum.bytes, sum.bytes_variance);
    check("bytes freed", (double)(after.bytes_freed - before.bytes_freed), sum.bytes, sum.bytes_variance);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    period = (double)strtoul(argv[1], NULL, 10);
    static const char *const mixes[] = {"m", "c", "a", "r", "mc", "ma", "mr", "mmmmc", "mmmmr", "cmarm"};
    for (size_t i = 0; i < sizeof mixes / sizeof mixes[0]; i++) {
        check_mix(mixes[i]);
    }
    return 0;
}
