/*
 * relay: threads that replace chunks of a window, and after 10 000 replacements hand what is live to a successor and end.
 *
 * Much of what a thread frees was allocated by threads that are dead. Allocators that leave a dead thread's memory to
 * itself grow; those that give it to the next thread pay for that at each end.
 */
#include <stdlib.h>

#include "lineage.h"
#include "workloads.h"

enum {
    WINDOW = 1000,
    REPLACEMENTS = 10000, /* of each thread */
    SIZE_LEAST = 8,
    SIZE_SPREAD = 993, /* 8 .. 1000 */
};

typedef struct {
    unsigned char *chunk;
    uint32_t size;
} slot_t;

typedef struct {
    pfa_lineage_t lineage;
    slot_t window[WINDOW];
} relay_t;

static void fill(pfa_worker_t *w, slot_t *slot)
{
    slot->size = SIZE_LEAST + pfa_bench_below(&w->rng, SIZE_SPREAD);
    slot->chunk = pfa_bench_need(malloc(slot->size));
    pfa_bench_mark(slot->chunk, slot->size, (unsigned char)slot->size);
}

static void drop(pfa_worker_t *w, slot_t *slot)
{
    pfa_bench_check(slot->chunk, slot->size, (unsigned char)slot->size);
    w->checksum += slot->size;
    free(slot->chunk);
}

static void live(pfa_worker_t *w, uint64_t generation)
{
    relay_t *relay = w->state;
    (void)generation;
    for (unsigned i = 0; i < REPLACEMENTS; i++) {
        slot_t *slot = &relay->window[pfa_bench_below(&w->rng, WINDOW)];
        drop(w, slot);
        fill(w, slot);
    }
    w->ops += REPLACEMENTS;
}

static void setup(pfa_worker_t *w)
{
    relay_t *relay = w->state;
    for (unsigned i = 0; i < WINDOW; i++) {
        fill(w, &relay->window[i]);
    }
}

static void work(pfa_worker_t *w)
{
    relay_t *relay = w->state;
    pfa_lineage_run(&relay->lineage, w, live);
}

static void teardown(pfa_worker_t *w)
{
    relay_t *relay = w->state;
    for (unsigned i = 0; i < WINDOW; i++) {
        drop(w, &relay->window[i]);
    }
}

const pfa_workload_t pfa_workload_relay = {
    .name = "relay",
    .what = "threads hand 1000 live chunks of 8-1000 B to a successor and end after 10 000 replacements",
    .group = "neutral",
    .workers = 2,
    .rounds = 2000,
    .state_bytes = sizeof(relay_t),
    .setup = setup,
    .work = work,
    .teardown = teardown,
};
