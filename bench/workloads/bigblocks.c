/*
 * bigblocks: chunks of 5 to 25 MiB, over and over, each written in every page; three are live at a time.
 *
 * What is measured is whether memory of that size goes back to the kernel at each free and comes back zeroed, page fault
 * by page fault.
 */
#include <stdlib.h>

#include "workloads.h"

enum {
    LIVE = 3,
    MIB = 1024 * 1024,
    SIZE_LEAST = 5 * MIB,
    SIZE_SPREAD = 20 * MIB,
    STEP = 4096,
};

typedef struct {
    unsigned char *chunk;
    uint32_t size;
} slot_t;

static void fill(pfa_worker_t *w, slot_t *slot)
{
    slot->size = SIZE_LEAST + pfa_bench_below(&w->rng, SIZE_SPREAD);
    slot->chunk = pfa_bench_need(malloc(slot->size));
    for (uint32_t at = 0; at < slot->size; at += STEP) {
        slot->chunk[at] = (unsigned char)(at / STEP);
    }
    pfa_bench_mark(slot->chunk, slot->size, (unsigned char)slot->size);
}

static void drop(pfa_worker_t *w, slot_t *slot)
{
    pfa_bench_check(slot->chunk, slot->size, (unsigned char)slot->size);
    uint32_t middle = slot->size / 2 / STEP * STEP;
    if (slot->chunk[middle] != (unsigned char)(middle / STEP)) {
        pfa_bench_die("a chunk lost its contents");
    }
    w->checksum += slot->size;
    free(slot->chunk);
}

static void setup(pfa_worker_t *w)
{
    slot_t *slots = w->state;
    for (unsigned i = 0; i < LIVE; i++) {
        fill(w, &slots[i]);
    }
}

static void work(pfa_worker_t *w)
{
    slot_t *slots = w->state;
    for (uint64_t i = 0; i < w->rounds; i++) {
        drop(w, &slots[i % LIVE]);
        fill(w, &slots[i % LIVE]);
    }
    w->ops = w->rounds;
}

static void teardown(pfa_worker_t *w)
{
    slot_t *slots = w->state;
    for (unsigned i = 0; i < LIVE; i++) {
        drop(w, &slots[i]);
    }
}

const pfa_workload_t pfa_workload_bigblocks = {
    .name = "bigblocks",
    .what = "chunks of 5-25 MiB over and over, every page written",
    .group = "neutral",
    .workers = 1,
    .rounds = 240,
    .state_bytes = LIVE * sizeof(slot_t),
    .setup = setup,
    .work = work,
    .teardown = teardown,
};
