/*
 * Times the stack unwinder, per frame, through functions compiled without frame pointers.
 *
 * Owns 64 functions that differ in the size of their frames and in what they save; each calls the one that a path names
 * next, and the last does the walking. Three ways:
 *
 *   same     the same stack again and again: rules, stack and the branches of the walk are in the processor's caches
 *   others   another path, another stack each time, among so many that branches are not foreseen; the time of the calls
 *            themselves is measured beside it and taken off
 *   new      no rule known: each is read from .eh_frame
 *
 * Prints rows of key=value; bench/run unwind makes the table. One thread.
 */
#define _GNU_SOURCE 1
#include "meta/unwind.h"
#include "bench/pin.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { FUNCTIONS = 64, DEPTH_MAX = 128, FRAMES_MAX = 256, PATHS = 512, SLICES_MAX = 10000 };

static const unsigned depths[] = {4, 16, 64, DEPTH_MAX};

typedef unsigned function_t(const unsigned char *path, unsigned left);
static function_t *const function[FUNCTIONS];

static uintptr_t pcs[FRAMES_MAX];
static unsigned (*at_the_end)(void);
static unsigned walks; /* by one call of at_the_end */
static double spent_ns;
static unsigned char paths[PATHS][DEPTH_MAX];

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "unwind: %s\n", what);
    exit(3);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static unsigned go_on(const unsigned char *path, unsigned left)
{
    return left == 0 ? at_the_end() : function[*path](path + 1, left - 1);
}

/* What lives across the call is kept in registers that are saved, what is volatile lies in the frame. */
#define FUNCTION(number)                                                                                               \
    __attribute__((noinline)) static unsigned function_##number(const unsigned char *path, unsigned left)              \
    {                                                                                                                  \
        volatile unsigned char frame[8 + (number)*5 % 200];                                                            \
        unsigned a = path[0] * (number + 3u);                                                                          \
        frame[left % sizeof frame] = (unsigned char)a;                                                                 \
        unsigned b = go_on(path, left);                                                                                \
        return (number) % 3 == 0 ? b + frame[0] : (number) % 3 == 1 ? b + a + frame[1] : b + left * a + frame[2];      \
    }
#define EIGHT(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
#define ALL(X) EIGHT(X, 1) EIGHT(X, 2) EIGHT(X, 3) EIGHT(X, 4) EIGHT(X, 5) EIGHT(X, 6) EIGHT(X, 7) EIGHT(X, 8)
ALL(FUNCTION)
#define NAME(number) function_##number,
static function_t *const function[FUNCTIONS] = {ALL(NAME)};

static unsigned walk(void)
{
    pfa_unwind_start_t start;
    pfa_unwind_end_t end;
    PFA_UNWIND_HERE(&start);
    unsigned frames = pfa_unwind(&pfa_tls, &start, pcs, FRAMES_MAX, &end);
    if (end != PFA_UNWIND_COMPLETE) {
        die("a walk did not get to the end");
    }
    return frames;
}

static unsigned walk_nothing(void)
{
    return 0;
}

/* The same stack `walks` times over; the frames of one. */
static unsigned walk_again(void)
{
    unsigned frames = walk();
    uint64_t begin = now_ns();
    for (unsigned i = 0; i < walks; i++) {
        frames = walk();
    }
    spent_ns = (double)(now_ns() - begin) / walks;
    return frames;
}

static unsigned walk_anew(void)
{
    pfa_unwind_forget();
    uint64_t begin = now_ns();
    unsigned frames = walk();
    spent_ns = (double)(now_ns() - begin);
    return frames;
}

static void choose_paths(void)
{
    uint64_t rng = UINT64_C(0x9E3779B97F4A7C15);
    for (unsigned i = 0; i < PATHS; i++) {
        for (unsigned j = 0; j < DEPTH_MAX; j++) {
            rng ^= rng >> 12;
            rng ^= rng << 25;
            rng ^= rng >> 27;
            paths[i][j] = (unsigned char)((rng * UINT64_C(0x2545F4914F6CDD1D)) >> 58);
        }
    }
}

static double time_paths(unsigned depth, unsigned (*action)(void))
{
    at_the_end = action;
    uint64_t begin = now_ns();
    for (unsigned i = 0; i < PATHS; i++) {
        (void)go_on(paths[i], depth);
    }
    return (double)(now_ns() - begin) / PATHS;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median over slices, so that one in which the thread lost its processor does not count. */
static double median(double *values, unsigned count)
{
    qsort(values, count, sizeof values[0], compare);
    return values[count / 2];
}

static void measure(unsigned run, unsigned depth, unsigned slices)
{
    static double slice[SLICES_MAX];
    at_the_end = walk;
    unsigned frames = go_on(paths[0], 0) + depth; /* those around, and the path's */
    walks = 2000 / depth + 1;
    for (unsigned i = 0; i < slices; i++) {
        at_the_end = walk_again;
        (void)go_on(paths[i % PATHS], depth);
        slice[i] = spent_ns / frames;
    }
    double same = median(slice, slices);
    (void)time_paths(depth, walk);
    for (unsigned i = 0; i < slices; i++) {
        slice[i] = (time_paths(depth, walk) - time_paths(depth, walk_nothing)) / frames;
    }
    double others = median(slice, slices);
    for (unsigned i = 0; i < slices; i++) {
        at_the_end = walk_anew;
        (void)go_on(paths[i % PATHS], depth);
        slice[i] = spent_ns / frames;
    }
    double anew = median(slice, slices);
    printf("row=walk run=%u depth=%u frames=%u same_ns=%.3f others_ns=%.3f new_ns=%.1f\n", run, depth, frames, same,
           others, anew);
}

int main(int argc, char **argv)
{
    unsigned runs = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 7;
    unsigned slices = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 200;
    if (runs == 0 || slices == 0 || slices > SLICES_MAX) {
        fprintf(stderr, "usage: unwind [RUNS [SLICES]]\n");
        return 2;
    }
    pfa_bench_pin(0);
    choose_paths();
    for (unsigned run = 0; run < runs; run++) {
        for (unsigned i = 0; i < sizeof depths / sizeof depths[0]; i++) {
            measure(run, depths[i], slices);
        }
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
