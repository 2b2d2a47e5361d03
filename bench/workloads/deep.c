/*
 * deep, deep2: the window of churn, each chunk replaced at the end of one of many call paths.
 *
 * A path is 4 to 16 functions out of eight, 10 on average, chosen once. Called through pointers, in frames of different
 * sizes, compiled without frame pointers: what a profiler meets in optimised C++, with stacks that differ in the middle.
 *
 * burst2: pairs from two threads as fast as they go or at a rate, one frame deep, for what has to write all that down.
 */
#include <time.h>

#include "window.h"
#include "workloads.h"

enum {
    WINDOW = 10000,
    PATHS = 64, /* heaptrack 1.4 cannot interpret some 22 000 different pairs of size and stack, or more */
    DEPTH_LEAST = 4,
    DEPTH_SPREAD = 13, /* 4 .. 16, mean 10 */
    FUNCTIONS = 8,     /* as many as there are in functions[] */
    LAST = FUNCTIONS,  /* in place of a function: here the chunk is replaced */
    BURST_WINDOW = 64,
    BURST = 4096, /* rounds between two looks at the clock */
};

typedef struct {
    pfa_slot_t window[WINDOW];
    unsigned char path[PATHS][DEPTH_LEAST + DEPTH_SPREAD];
} deep_t;

typedef void function_t(pfa_worker_t *w, pfa_slot_t *slot, const unsigned char *path);
static function_t *const functions[FUNCTIONS];

/* The empty asm uses the frame after the call, which forbids a tail call. */
#define FUNCTION(name, words)                                                                                          \
    __attribute__((noinline)) static void name(pfa_worker_t *w, pfa_slot_t *slot, const unsigned char *path)           \
    {                                                                                                                  \
        uint64_t frame[words];                                                                                         \
        frame[0] = *path;                                                                                              \
        if (*path != LAST) {                                                                                           \
            functions[*path](w, slot, path + 1);                                                                       \
        } else {                                                                                                       \
            pfa_window_drop(w, slot);                                                                                  \
            pfa_window_fill(w, slot);                                                                                  \
        }                                                                                                              \
        __asm__ volatile("" : : "r"(frame) : "memory");                                                                \
    }

FUNCTION(first, 1)
FUNCTION(second, 2)
FUNCTION(third, 4)
FUNCTION(fourth, 6)
FUNCTION(fifth, 9)
FUNCTION(sixth, 14)
FUNCTION(seventh, 20)
FUNCTION(eighth, 40)

static function_t *const functions[FUNCTIONS] = {first, second, third, fourth, fifth, sixth, seventh, eighth};

static void choose_paths(deep_t *deep)
{
    uint64_t rng = UINT64_C(0x9E3779B97F4A7C15);
    for (unsigned i = 0; i < PATHS; i++) {
        uint32_t depth = DEPTH_LEAST + pfa_bench_below(&rng, DEPTH_SPREAD);
        for (uint32_t j = 0; j < depth; j++) {
            deep->path[i][j] = (unsigned char)pfa_bench_below(&rng, FUNCTIONS);
        }
        deep->path[i][depth] = LAST;
    }
}

static void setup(pfa_worker_t *w)
{
    deep_t *deep = w->state;
    choose_paths(deep);
    for (unsigned i = 0; i < WINDOW; i++) {
        pfa_window_fill(w, &deep->window[i]);
    }
}

static void work(pfa_worker_t *w)
{
    deep_t *deep = w->state;
    for (uint64_t i = 0; i < w->rounds; i++) {
        const unsigned char *path = deep->path[pfa_bench_below(&w->rng, PATHS)];
        functions[*path](w, &deep->window[pfa_bench_below(&w->rng, WINDOW)], path + 1);
    }
    w->ops = w->rounds;
}

static void teardown(pfa_worker_t *w)
{
    deep_t *deep = w->state;
    for (unsigned i = 0; i < WINDOW; i++) {
        pfa_window_drop(w, &deep->window[i]);
    }
}

static void burst_setup(pfa_worker_t *w)
{
    pfa_slot_t *window = w->state;
    for (unsigned i = 0; i < BURST_WINDOW; i++) {
        pfa_window_fill(w, &window[i]);
    }
}

/* Sleeps until the round is due, by the clock of the beginning: what was late is made up for. */
static void keep_rate(const pfa_worker_t *w, const struct timespec *began, uint64_t round)
{
    double due = (double)began->tv_nsec * 1e-9 + (double)round / w->rate;
    struct timespec until = {.tv_sec = began->tv_sec + (time_t)due,
                             .tv_nsec = (long)((due - (double)(time_t)due) * 1e9)};
    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void burst_work(pfa_worker_t *w)
{
    pfa_slot_t *window = w->state;
    struct timespec began;
    clock_gettime(CLOCK_MONOTONIC, &began);
    for (uint64_t i = 0; i < w->rounds; i++) {
        if (w->rate > 0 && i % BURST == 0) {
            keep_rate(w, &began, i);
        }
        pfa_window_drop(w, &window[i % BURST_WINDOW]);
        pfa_window_fill(w, &window[i % BURST_WINDOW]);
    }
    w->ops = w->rounds;
}

static void burst_teardown(pfa_worker_t *w)
{
    pfa_slot_t *window = w->state;
    for (unsigned i = 0; i < BURST_WINDOW; i++) {
        pfa_window_drop(w, &window[i]);
    }
}

const pfa_workload_t pfa_workload_deep = {
    .name = "deep",
    .what = "churn through 64 call paths of 4-16 functions without frame pointers",
    .bench = "capture",
    .workers = 1,
    .rounds = 6000000,
    .state_bytes = sizeof(deep_t),
    .setup = setup,
    .work = work,
    .teardown = teardown,
};

const pfa_workload_t pfa_workload_deep2 = {
    .name = "deep2",
    .what = "deep on two threads at once, a window each",
    .bench = "capture",
    .workers = 2,
    .rounds = 6000000,
    .state_bytes = sizeof(deep_t),
    .setup = setup,
    .work = work,
    .teardown = teardown,
};

const pfa_workload_t pfa_workload_burst2 = {
    .name = "burst2",
    .what = "pairs on two threads as fast as they go, or at --rate, one frame deep",
    .bench = "capture",
    .workers = 2,
    .rounds = 10000000,
    .state_bytes = BURST_WINDOW * sizeof(pfa_slot_t),
    .setup = burst_setup,
    .work = burst_work,
    .teardown = burst_teardown,
};
