/*
 * aligned: random replacement in a window of chunks with alignments from 16 to 4096, and now and then 64 KiB.
 *
 * Both standard calls take turns; the alignment is checked, since an allocator that ignored it would be fast.
 */
#define _GNU_SOURCE 1
#include <stdlib.h>

#include "workloads.h"

enum {
    WINDOW = 4000,
    LEAST_SHIFT = 4, /* 16 */
    SHIFTS = 9,      /* 16 .. 4096 */
    RARE_SHIFT = 16, /* 64 KiB */
    RARE_PERIOD = 512,
    SIZE_SPREAD = 2048,
    /*
     * Chunks aligned to 256 .. 1024 are made larger than 1024 bytes: for smaller powers of two mimalloc 2.0.9 without
     * padding returns chunks that are not aligned (its issue 700), and the reference must be right to be a reference.
     */
    WIDE_ALIGNMENT = 256,
    WIDE_SIZE = 1024,
};

typedef struct {
    unsigned char *chunk;
    uint32_t size;
    unsigned char tag;
} slot_t;

static unsigned char *allocate(size_t alignment, size_t size, uint64_t turn)
{
    void *chunk = NULL;
    if (turn % 2 == 0) {
        chunk = aligned_alloc(alignment, size);
    } else if (posix_memalign(&chunk, alignment, size) != 0) {
        chunk = NULL;
    }
    if (((uintptr_t)pfa_bench_need(chunk) & (alignment - 1)) != 0) {
        pfa_bench_die("a chunk is not aligned as asked");
    }
    return chunk;
}

static void fill(pfa_worker_t *w, slot_t *slot, uint64_t turn)
{
    uint32_t shift =
        turn % RARE_PERIOD == RARE_PERIOD - 1 ? RARE_SHIFT : LEAST_SHIFT + pfa_bench_below(&w->rng, SHIFTS);
    uint32_t alignment = 1u << shift;
    uint32_t size = 1 + pfa_bench_below(&w->rng, SIZE_SPREAD);
    if (alignment >= WIDE_ALIGNMENT) {
        size += WIDE_SIZE;
    }
    if (turn % 2 == 0) {
        /* aligned_alloc is portable only for multiples of the alignment. */
        size = (size + alignment - 1) & ~(alignment - 1);
    }
    slot->size = size;
    slot->tag = (unsigned char)(size + shift);
    slot->chunk = allocate(alignment, size, turn);
    pfa_bench_mark(slot->chunk, slot->size, slot->tag);
}

static void drop(pfa_worker_t *w, slot_t *slot)
{
    pfa_bench_check(slot->chunk, slot->size, slot->tag);
    w->checksum += (uint64_t)slot->chunk[0] + slot->size;
    free(slot->chunk);
}

static void setup(pfa_worker_t *w)
{
    slot_t *window = w->state;
    for (unsigned i = 0; i < WINDOW; i++) {
        fill(w, &window[i], i);
    }
}

static void work(pfa_worker_t *w)
{
    slot_t *window = w->state;
    for (uint64_t i = 0; i < w->rounds; i++) {
        slot_t *slot = &window[pfa_bench_below(&w->rng, WINDOW)];
        drop(w, slot);
        fill(w, slot, i);
    }
    w->ops = w->rounds;
}

static void teardown(pfa_worker_t *w)
{
    slot_t *window = w->state;
    for (unsigned i = 0; i < WINDOW; i++) {
        drop(w, &window[i]);
    }
}

const pfa_workload_t pfa_workload_aligned = {
    .name = "aligned",
    .what = "random replacement in a window of 4000 chunks, alignments of 16-4096 and sometimes 64 KiB",
    .workers = 1,
    .rounds = 5000000,
    .state_bytes = WINDOW * sizeof(slot_t),
    .setup = setup,
    .work = work,
    .teardown = teardown,
};
