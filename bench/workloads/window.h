/*
 * What the churning workloads have in common: a slot of a window, whose chunk is replaced again and again.
 *
 * Inline, so that a chunk is allocated and freed from the function that each workload means it to be.
 */
#ifndef PFA_BENCH_WINDOW_H
#define PFA_BENCH_WINDOW_H

#include <stdlib.h>

#include "workloads.h"

enum {
    PFA_SIZE_LEAST = 16,
    PFA_SIZE_SPREAD = 256, /* 16 .. 271 */
};

typedef struct {
    unsigned char *chunk;
    uint32_t size;
    unsigned char tag;
} pfa_slot_t;

static inline void pfa_window_fill(pfa_worker_t *w, pfa_slot_t *slot)
{
    slot->size = PFA_SIZE_LEAST + pfa_bench_below(&w->rng, PFA_SIZE_SPREAD);
    slot->tag = (unsigned char)slot->size;
    slot->chunk = pfa_bench_need(malloc(slot->size));
    pfa_bench_mark(slot->chunk, slot->size, slot->tag);
}

static inline void pfa_window_drop(pfa_worker_t *w, pfa_slot_t *slot)
{
    pfa_bench_check(slot->chunk, slot->size, slot->tag);
    w->checksum += (uint64_t)slot->chunk[0] + slot->size;
    free(slot->chunk);
}

#endif
