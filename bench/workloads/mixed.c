/*
 * mixed: sizes spread evenly over the powers of two from 16 B to 8 MiB, a bounded number of bytes live, one byte per
 * page touched.
 *
 * This is where returning memory to the kernel, page faults and the large-chunk path show.
 */
#include <stdlib.h>

#include "workloads.h"

enum {
    SLOTS = 512,
    LEAST_SHIFT = 4, /* 16 B */
    SHIFTS = 19,     /* the last power is 4 MiB, with up to as much again on top */
    LIVE_LIMIT = 64 << 20,
    PAGE = 4096,
};

typedef struct {
    unsigned char *chunk;
    uint32_t size;
    unsigned char tag;
} slot_t;

typedef struct {
    slot_t slot[SLOTS];
    uint64_t live;
} state_t;

static void drop(pfa_worker_t *w, state_t *s, slot_t *slot)
{
    if (slot->chunk == NULL) {
        return;
    }
    pfa_bench_check(slot->chunk, slot->size, slot->tag);
    w->checksum += (uint64_t)slot->size + slot->chunk[0];
    s->live -= slot->size;
    free(slot->chunk);
    slot->chunk = NULL;
}

static void fill(pfa_worker_t *w, state_t *s, slot_t *slot)
{
    uint32_t power = 1u << (LEAST_SHIFT + pfa_bench_below(&w->rng, SHIFTS));
    slot->size = power + pfa_bench_below(&w->rng, power) + 1;
    slot->tag = (unsigned char)slot->size;
    slot->chunk = pfa_bench_need(malloc(slot->size));
    for (uint32_t i = 0; i < slot->size; i += PAGE) {
        slot->chunk[i] = slot->tag;
    }
    pfa_bench_mark(slot->chunk, slot->size, slot->tag);
    s->live += slot->size;
}

static void setup(pfa_worker_t *w)
{
    (void)w;
}

static void work(pfa_worker_t *w)
{
    state_t *s = w->state;
    for (uint64_t i = 0; i < w->rounds; i++) {
        slot_t *slot = &s->slot[pfa_bench_below(&w->rng, SLOTS)];
        drop(w, s, slot);
        fill(w, s, slot);
        while (s->live > LIVE_LIMIT) {
            drop(w, s, &s->slot[pfa_bench_below(&w->rng, SLOTS)]);
        }
    }
    w->ops = w->rounds;
}

static void teardown(pfa_worker_t *w)
{
    state_t *s = w->state;
    for (unsigned i = 0; i < SLOTS; i++) {
        drop(w, s, &s->slot[i]);
    }
}

const pfa_workload_t pfa_workload_mixed = {
    .name = "mixed",
    .what = "sizes of 16 B to 8 MiB, log-distributed, at most 64 MiB live, one byte per page touched",
    .workers = 1,
    .rounds = 100000,
    .state_bytes = sizeof(state_t),
    .setup = setup,
    .work = work,
    .teardown = teardown,
};
