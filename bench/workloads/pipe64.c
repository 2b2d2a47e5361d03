/*
 * pipe64: producers allocate chunks of 64 bytes, consumers free them; two of each.
 *
 * The chunks are handed over as lists through the chunks themselves, so nothing else is allocated, and every free is of
 * another thread's chunk. Unlike prodcons there is one size and next to no work in between.
 */
#define _GNU_SOURCE 1
#include <sched.h>
#include <stdlib.h>

#include "ring.h"
#include "workloads.h"

enum {
    PAIRS = 2,
    BATCH = 128,
    SPINS = 200, /* before giving up the processor; the other side may be waiting for it */
};

typedef struct chunk {
    struct chunk *next;
    uint64_t number;
    unsigned char rest[48];
} chunk_t;
_Static_assert(sizeof(chunk_t) == 64, "the size in the name");

static chunk_t *make_batch(uint64_t first)
{
    chunk_t *list = NULL;
    for (unsigned i = 0; i < BATCH; i++) {
        chunk_t *chunk = pfa_bench_need(malloc(sizeof *chunk));
        chunk->number = first + i;
        chunk->rest[sizeof chunk->rest - 1] = (unsigned char)chunk->number;
        chunk->next = list;
        list = chunk;
    }
    return list;
}

static void use_batch(pfa_worker_t *w, chunk_t *list)
{
    while (list != NULL) {
        chunk_t *next = list->next;
        if (list->rest[sizeof list->rest - 1] != (unsigned char)list->number) {
            pfa_bench_die("a chunk lost its contents");
        }
        w->checksum += list->number;
        free(list);
        list = next;
    }
}

static void produce(pfa_worker_t *w, pfa_ring_t *ring)
{
    for (uint64_t i = 0; i < w->rounds; i++) {
        chunk_t *list = make_batch(i * BATCH);
        for (unsigned spin = 0; !pfa_ring_push(ring, list); spin++) {
            if (spin >= SPINS) {
                sched_yield();
            }
        }
    }
    w->ops = w->rounds * BATCH;
}

static void consume(pfa_worker_t *w, pfa_ring_t *ring)
{
    for (uint64_t i = 0; i < w->rounds; i++) {
        void *list;
        for (unsigned spin = 0; !pfa_ring_pop(ring, &list); spin++) {
            if (spin >= SPINS) {
                sched_yield();
            }
        }
        use_batch(w, list);
    }
}

static void idle(pfa_worker_t *w)
{
    (void)w;
}

/* Neighbours are on different processors, and so are the two of a pair. */
static void work(pfa_worker_t *w)
{
    pfa_ring_t *rings = w->shared;
    (w->index % 2 == 0 ? produce : consume)(w, &rings[w->index / 2]);
}

const pfa_workload_t pfa_workload_pipe64 = {
    .name = "pipe64",
    .what = "two producers and two consumers of 64-byte chunks, handed over in lists of 128",
    .group = "neutral",
    .workers = 2 * PAIRS,
    .rounds = 50000,
    .shared_bytes = PAIRS * sizeof(pfa_ring_t),
    .setup = idle,
    .work = work,
    .teardown = idle,
};
