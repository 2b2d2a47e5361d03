/*
 * tight: one size, 25 live chunks, the oldest replaced by the next, and nothing else.
 *
 * All that is in the loop is malloc, free and two bytes written and read: an instruction more in either is seen here
 * first. Whatever an allocator keeps per thread stays in the first-level cache.
 */
#include <stdlib.h>

#include "workloads.h"

enum { LIVE = 25, SIZE = 48 };

typedef struct {
    unsigned char *chunk[LIVE];
    unsigned char tag[LIVE];
} tight_t;

static void fill(tight_t *tight, unsigned i, unsigned char tag)
{
    tight->chunk[i] = pfa_bench_need(malloc(SIZE));
    tight->tag[i] = tag;
    pfa_bench_mark(tight->chunk[i], SIZE, tag);
}

static void drop(tight_t *tight, unsigned i)
{
    pfa_bench_check(tight->chunk[i], SIZE, tight->tag[i]);
    free(tight->chunk[i]);
}

static void setup(pfa_worker_t *w)
{
    for (unsigned i = 0; i < LIVE; i++) {
        fill(w->state, i, (unsigned char)i);
    }
}

static void work(pfa_worker_t *w)
{
    tight_t *tight = w->state;
    for (uint64_t round = 0; round < w->rounds; round++) {
        for (unsigned i = 0; i < LIVE; i++) {
            drop(tight, i);
            fill(tight, i, (unsigned char)(round + i));
        }
    }
    w->ops = w->rounds * LIVE;
}

static void teardown(pfa_worker_t *w)
{
    tight_t *tight = w->state;
    for (unsigned i = 0; i < LIVE; i++) {
        w->checksum += tight->chunk[i][0];
        drop(tight, i);
    }
}

const pfa_workload_t pfa_workload_tight = {
    .name = "tight",
    .what = "a tight loop of one size, 48 B, with 25 live chunks",
    .group = "neutral",
    .workers = 1,
    .rounds = 3200000,
    .state_bytes = sizeof(tight_t),
    .setup = setup,
    .work = work,
    .teardown = teardown,
};
