/*
 * forks: a program with some live chunks forks children that allocate a little and exit, one after another.
 *
 * What is timed is mostly the system's, and what an allocator and a profiler do at a fork, in the child and at its end.
 */
#define _GNU_SOURCE 1
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workloads.h"

enum {
    LIVE = 10000,
    IN_CHILD = 100,
    SIZE_LEAST = 16,
    SIZE_SPREAD = 500,
};

typedef struct {
    unsigned char *chunk[LIVE];
    uint32_t size[LIVE];
} forks_t;

static void setup(pfa_worker_t *w)
{
    forks_t *forks = w->state;
    for (unsigned i = 0; i < LIVE; i++) {
        forks->size[i] = SIZE_LEAST + pfa_bench_below(&w->rng, SIZE_SPREAD);
        forks->chunk[i] = pfa_bench_need(malloc(forks->size[i]));
        pfa_bench_mark(forks->chunk[i], forks->size[i], (unsigned char)i);
    }
}

/* Its exit handlers run, as those of most children do. Nothing is buffered yet that it could print. */
static _Noreturn void live(pfa_worker_t *w)
{
    for (unsigned i = 0; i < IN_CHILD; i++) {
        size_t size = SIZE_LEAST + pfa_bench_below(&w->rng, SIZE_SPREAD);
        unsigned char *chunk = pfa_bench_need(malloc(size));
        pfa_bench_mark(chunk, size, (unsigned char)i);
        pfa_bench_check(chunk, size, (unsigned char)i);
        free(chunk);
    }
    exit(0);
}

static void work(pfa_worker_t *w)
{
    for (uint64_t i = 0; i < w->rounds; i++) {
        int status = 1;
        pid_t child = fork();
        if (child == 0) {
            live(w);
        }
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
            pfa_bench_die("a child failed");
        }
        w->checksum++;
    }
    w->ops += w->rounds;
}

static void teardown(pfa_worker_t *w)
{
    forks_t *forks = w->state;
    for (unsigned i = 0; i < LIVE; i++) {
        pfa_bench_check(forks->chunk[i], forks->size[i], (unsigned char)i);
        free(forks->chunk[i]);
    }
}

const pfa_workload_t pfa_workload_forks = {
    .name = "forks",
    .what = "150 children, one after another, of a process with 10 000 live chunks; each allocates 100 and exits",
    .bench = "disk",
    .workers = 1,
    .rounds = 150,
    .state_bytes = sizeof(forks_t),
    .setup = setup,
    .work = work,
    .teardown = teardown,
};
