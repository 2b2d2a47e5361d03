/* What is estimated from samples is right on average: over many chunks of all sizes, by every call and in several
 * threads, the estimates lie within five standard deviations of the truth. For a chunk of s bytes recorded with
 * probability p = 1 - exp(-s / period) and then counted 1/p times, the variance is (1 - p) / p.
 *
 * run: modes=off conf=prof:true,sample:4K arg=4096
 * run: modes=off conf=prof:true,sample:64K arg=65536 */
#include "trap.h"

#include <pthread.h>

enum { THREADS = 3, STEPS = 300000 };

typedef struct truth {
    double count;
    double bytes;
    double count_variance;
    double bytes_variance;
} truth_t;

static double period;
static truth_t truths[THREADS];

/* 1 - exp(-x), by halving x until the series is short. */
static double probability(double x)
{
    return x > 0.01 ? 1 - (1 - probability(x / 2)) * (1 - probability(x / 2)) : x * (1 - x / 2 + x * x / 6);
}

static void count(truth_t *truth, size_t size)
{
    static double known[65536]; /* the same for all threads, so it does not matter who writes it */
    double p = size < 65536 && known[size] != 0 ? known[size] : probability((double)size / period);
    if (size < 65536) {
        known[size] = p;
    }
    double variance = (1 - p) / p;
    truth->count += 1;
    truth->bytes += (double)size;
    truth->count_variance += variance;
    truth->bytes_variance += variance * (double)size * (double)size;
}

static void *run(void *arg)
{
    truth_t *truth = arg;
    uint64_t random = (uint64_t)(truth - truths) * 7919 + 1;
    void *kept = NULL;
    size_t kept_size = 0;
    for (int i = 0; i < STEPS; i++) {
        size_t size = random_size(&random, i % 200 == 0 ? 500000 : 8000);
        count(truth, size);
        if (i % 5 == 0 && kept != NULL) {
            kept = realloc(kept, size);
        } else {
            free(kept);
            kept = i % 5 == 1 ? calloc(1, size) : i % 5 == 2 ? aligned_alloc(64, size) : malloc(size);
        }
        kept_size = size;
    }
    (void)kept_size;
    free(kept);
    return NULL;
}

static void check(const char *what, double estimate, double truth, double variance)
{
    double off = estimate - truth;
    CHECK(off * off < 25 * variance, "%s: estimated %.0f, in truth %.0f, variance %.0f", what, estimate, truth,
          variance);
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    truth_t sum = {0, 0, 0, 0};
    CHECK(argc == 2);
    period = (double)strtoul(argv[1], NULL, 10);
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
    check("allocations", (double)(after.allocations - before.allocations), sum.count, sum.count_variance);
    check("frees", (double)(after.frees - before.frees), sum.count, sum.count_variance);
    check("bytes", (double)(after.bytes_allocated - before.bytes_allocated), sum.bytes, sum.bytes_variance);
    check("bytes freed", (double)(after.bytes_freed - before.bytes_freed), sum.bytes, sum.bytes_variance);
    CHECK(after.live_chunks <= before.live_chunks + 400 && after.bad_frees == 0);
    return 0;
}
