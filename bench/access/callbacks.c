/* Nanoseconds per callback of instrumented code, for addresses of several kinds.
 *
 *   callbacks SLICES LARGE
 *
 * Calls __tsan_read8 itself, in slices of a few thousand calls, of which the median is told. Compiled without
 * instrumentation and linked once by profalloc-cc and once with empty callbacks: the difference is what an access costs
 * beside the call. First with no large chunks, then with LARGE of them live. Prints rows of key=value. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench/pin.h"

enum { CALLS = 8192, MANY = 4096, STREWN = 262144, SMALL = 64, LARGE_SIZE = 132 * 1024, ONE_LARGE = 1 << 20 };

void __tsan_read8(void *address);

static char global[CALLS * 8];
static char *places[CALLS];
static char **large;
static unsigned long large_count;

static void give_up(const char *what)
{
    fprintf(stderr, "callbacks: %s\n", what);
    exit(1);
}

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double first = *(const double *)a;
    double second = *(const double *)b;
    return (first > second) - (first < second);
}

static uint64_t draw(void)
{
    static uint64_t chance = 20231115;
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return chance;
}

static __attribute__((noinline)) void call_all(void)
{
    for (int i = 0; i < CALLS; i++) {
        __tsan_read8(places[i]);
    }
}

/* The same in code that leaves the processor nothing to do on the side: nops take its slots and nothing else. Alone, calls
 * and returns are what a loop waits for, and a callback's instructions seem to be free. */
static __attribute__((noinline)) void call_all_busy(void)
{
    for (int i = 0; i < CALLS; i++) {
        __asm__ volatile(".rept 32\n nop\n .endr");
        __tsan_read8(places[i]);
    }
}

static double time_of(void (*calls)(void))
{
    double began = now_ns();
    calls();
    return (now_ns() - began) / CALLS;
}

static double median(double *times, unsigned count)
{
    qsort(times, count, sizeof *times, by_value);
    return times[count / 2];
}

/* Calls with the addresses in places, which for_slice, if any, chooses anew for each slice. */
static void measure(const char *kind, unsigned long live, unsigned slices, void (*for_slice)(void))
{
    double *alone = calloc(slices, sizeof *alone);
    double *busy = calloc(slices, sizeof *busy);
    if (alone == NULL || busy == NULL) {
        give_up("no memory");
    }
    call_all();
    for (unsigned i = 0; i < slices; i++) {
        if (for_slice != NULL) {
            for_slice();
        }
        alone[i] = time_of(call_all);
        if (for_slice != NULL) {
            for_slice();
        }
        busy[i] = time_of(call_all_busy);
    }
    printf("kind=%s large_live=%lu ns=%.3f busy_ns=%.3f\n", kind, live, median(alone, slices), median(busy, slices));
    free(alone);
    free(busy);
}

static void places_within(char *base, size_t span)
{
    for (int i = 0; i < CALLS; i++) {
        places[i] = base + (size_t)i * 8 % span;
    }
}

static char *strewn[STREWN];

static void places_strewn(void)
{
    for (int i = 0; i < CALLS; i++) {
        places[i] = strewn[draw() % STREWN];
    }
}

static void places_many_large(void)
{
    for (int i = 0; i < CALLS; i++) {
        places[i] = large[draw() % large_count];
    }
}

static void measure_all(unsigned long live, unsigned slices)
{
    char local[4096];
    places_within(local, sizeof local);
    measure("stack", live, slices, NULL);
    places_within(global, sizeof global);
    measure("global", live, slices, NULL);
    char *chunk = malloc(4096);
    char *big = malloc(ONE_LARGE);
    if (chunk == NULL || big == NULL) {
        give_up("no memory");
    }
    places_within(chunk, 4096);
    measure("same-chunk", live, slices, NULL);
    for (int i = 0; i < CALLS; i++) {
        places[i] = strewn[i % MANY];
    }
    measure("many-chunks", live, slices, NULL);
    measure("strewn-chunks", live, slices, places_strewn);
    places_within(big, ONE_LARGE);
    measure("large-chunk", live, slices, NULL);
    if (live > 0) {
        measure("many-large", live, slices, places_many_large);
    }
    free(chunk);
    free(big);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        give_up("usage: callbacks SLICES LARGE");
    }
    unsigned slices = (unsigned)strtoul(argv[1], NULL, 10);
    large_count = strtoul(argv[2], NULL, 10);
    large = calloc(large_count + 1, sizeof *large);
    if (slices == 0 || large == NULL) {
        give_up("no slices, or no memory");
    }
    for (int i = 0; i < STREWN; i++) {
        strewn[i] = malloc(SMALL);
        if (strewn[i] == NULL) {
            give_up("no memory");
        }
    }
    pfa_bench_pin(0);
    measure_all(0, slices);
    for (unsigned long i = 0; i < large_count; i++) {
        large[i] = malloc(LARGE_SIZE);
        if (large[i] == NULL) {
            give_up("no memory for the large chunks");
        }
    }
    measure_all(large_count, slices);
    return 0;
}
