/*
 * regrow: many buffers growing at once through realloc, in the four ways programs do it.
 *
 * Buffers take turns at random, so that growing in place is possible only where an allocator leaves room.
 */
#include <stdlib.h>
#include <string.h>

#include "workloads.h"

enum { BUFFERS = 64 };

/* doubling and half are vectors; step is a table extended by a few entries; append is a string built piece by piece. */
typedef enum { GROW_DOUBLE, GROW_HALF, GROW_STEP, GROW_APPEND, GROW_KINDS } growth_t;

typedef struct {
    unsigned char *chunk;
    uint32_t size;
    uint32_t limit;
    growth_t growth;
    unsigned char tag;
} buffer_t;

static void begin(pfa_worker_t *w, buffer_t *b)
{
    b->growth = (growth_t)pfa_bench_below(&w->rng, GROW_KINDS);
    if (b->growth == GROW_DOUBLE || b->growth == GROW_HALF) {
        b->limit = 1024u << pfa_bench_below(&w->rng, 9); /* 1 KiB .. 256 KiB */
    } else {
        b->limit = 256u << pfa_bench_below(&w->rng, 6); /* 256 B .. 8 KiB */
    }
    b->tag = (unsigned char)pfa_bench_below(&w->rng, 256);
    b->size = 16;
    b->chunk = pfa_bench_need(malloc(b->size));
    memset(b->chunk, b->tag, b->size);
}

static void end(pfa_worker_t *w, buffer_t *b)
{
    for (uint32_t i = 0; i < b->size; i += 256) {
        w->checksum += b->chunk[i];
    }
    w->checksum += b->size;
    free(b->chunk);
}

static uint32_t next_size(pfa_worker_t *w, const buffer_t *b)
{
    switch (b->growth) {
    case GROW_DOUBLE:
        return b->size * 2;
    case GROW_HALF:
        return b->size + b->size / 2;
    case GROW_STEP:
        return b->size + 64;
    default:
        return b->size + 1 + pfa_bench_below(&w->rng, 40);
    }
}

static void grow(pfa_worker_t *w, buffer_t *b)
{
    uint32_t size = next_size(w, b);
    b->chunk = pfa_bench_need(realloc(b->chunk, size));
    pfa_bench_check(b->chunk, b->size, b->tag);
    memset(b->chunk + b->size, b->tag, size - b->size);
    b->size = size;
}

static void setup(pfa_worker_t *w)
{
    buffer_t *buffer = w->state;
    for (unsigned i = 0; i < BUFFERS; i++) {
        begin(w, &buffer[i]);
    }
}

static void work(pfa_worker_t *w)
{
    buffer_t *buffer = w->state;
    for (uint64_t i = 0; i < w->rounds; i++) {
        buffer_t *b = &buffer[pfa_bench_below(&w->rng, BUFFERS)];
        if (b->size >= b->limit) {
            end(w, b);
            begin(w, b);
        } else {
            grow(w, b);
        }
    }
    w->ops = w->rounds;
}

static void teardown(pfa_worker_t *w)
{
    buffer_t *buffer = w->state;
    for (unsigned i = 0; i < BUFFERS; i++) {
        end(w, &buffer[i]);
    }
}

const pfa_workload_t pfa_workload_regrow = {
    .name = "regrow",
    .what = "64 buffers growing through realloc: doubled, by half, by 64 B, by string appends; up to 256 KiB",
    .workers = 1,
    .rounds = 8000000,
    .state_bytes = BUFFERS * sizeof(buffer_t),
    .setup = setup,
    .work = work,
    .teardown = teardown,
};
