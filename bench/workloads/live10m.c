/*
 * live10m: ten million small chunks alive at once; what they cost in resident memory beyond the bytes asked for.
 *
 * The table of chunks is the workload's own memory and is resident before the first reading, so the difference of the
 * two readings belongs to the allocator alone.
 */
#include <stdlib.h>
#include <string.h>

#include "workloads.h"

enum {
    CHUNKS = 10000000,
    SIZE_LEAST = 32,
    SIZE_SPREAD = 33, /* 32 .. 64, mean 48 */
};

/* The size is written into the chunk itself: a table of sizes would only be more memory that is not the allocator's. */
static void fill(pfa_worker_t *w, unsigned char **slot)
{
    uint32_t size = SIZE_LEAST + pfa_bench_below(&w->rng, SIZE_SPREAD);
    *slot = pfa_bench_need(malloc(size));
    memset(*slot, (int)size, size);
    w->live_requested += size;
}

static void drop(pfa_worker_t *w, unsigned char *chunk)
{
    uint32_t size = chunk[0];
    pfa_bench_check(chunk, size, (unsigned char)size);
    w->checksum += size;
    free(chunk);
}

static void setup(pfa_worker_t *w)
{
    memset(w->state, 0xff, w->rounds * sizeof(unsigned char *));
}

static void work(pfa_worker_t *w)
{
    unsigned char **table = w->state;
    uint64_t before = pfa_bench_status_kib("VmRSS:");
    for (uint64_t i = 0; i < w->rounds; i++) {
        fill(w, &table[i]);
    }
    w->live_rss_kib = pfa_bench_status_kib("VmRSS:") - before;
    w->live_chunks = w->rounds;
    /* Every third first, then the rest: neither the order of allocation nor wholly without pattern. */
    for (unsigned phase = 0; phase < 3; phase++) {
        for (uint64_t i = phase; i < w->rounds; i += 3) {
            drop(w, table[i]);
        }
    }
    w->ops = w->rounds;
}

static void teardown(pfa_worker_t *w)
{
    (void)w;
}

const pfa_workload_t pfa_workload_live10m = {
    .name = "live10m",
    .what = "10 million live chunks of 32-64 B: resident memory per chunk beyond the bytes asked for",
    .workers = 1,
    .rounds = CHUNKS,
    .state_bytes = CHUNKS * sizeof(unsigned char *),
    .setup = setup,
    .work = work,
    .teardown = teardown,
};
