/*
 * prodcons: one thread allocates and fills messages, another checks and frees them, in batches through a bounded ring.
 *
 * Every free is of a chunk another thread allocated: the worst case for thread-local free lists. Batches, because one
 * message at a time measures how fast a cache line moves between two processors, which hides the allocator and varies
 * with placement.
 */
#define _GNU_SOURCE 1
#include <sched.h>
#include <stdlib.h>

#include "ring.h"
#include "workloads.h"

enum {
    SIZE_SPREAD = 1024,
    BATCH = 32,
    SPINS = 200, /* before giving up the processor; the other side may be waiting for it */
};

typedef struct {
    uint32_t size;
    unsigned char tag;
    unsigned char payload[];
} message_t;

typedef struct {
    message_t *message[BATCH];
} batch_t;

static message_t *make_message(pfa_worker_t *w, uint64_t number)
{
    uint32_t size = 1 + pfa_bench_below(&w->rng, SIZE_SPREAD);
    message_t *m = pfa_bench_need(malloc(sizeof *m + size));
    m->size = size;
    m->tag = (unsigned char)number;
    pfa_bench_mark(m->payload, size, m->tag);
    return m;
}

static void use_message(pfa_worker_t *w, message_t *m)
{
    pfa_bench_check(m->payload, m->size, m->tag);
    w->checksum += (uint64_t)m->size + m->tag;
    free(m);
}

static void produce(pfa_worker_t *w, pfa_ring_t *ring)
{
    for (uint64_t i = 0; i < w->rounds; i++) {
        batch_t *batch = pfa_bench_need(malloc(sizeof *batch));
        for (unsigned k = 0; k < BATCH; k++) {
            batch->message[k] = make_message(w, i + k);
        }
        for (unsigned spin = 0; !pfa_ring_push(ring, batch); spin++) {
            if (spin >= SPINS) {
                sched_yield();
            }
        }
    }
    w->ops = w->rounds * (BATCH + 1);
}

static void consume(pfa_worker_t *w, pfa_ring_t *ring)
{
    for (uint64_t i = 0; i < w->rounds; i++) {
        void *item;
        for (unsigned spin = 0; !pfa_ring_pop(ring, &item); spin++) {
            if (spin >= SPINS) {
                sched_yield();
            }
        }
        batch_t *batch = item;
        for (unsigned k = 0; k < BATCH; k++) {
            use_message(w, batch->message[k]);
        }
        free(batch);
    }
}

static void idle(pfa_worker_t *w)
{
    (void)w;
}

static void work(pfa_worker_t *w)
{
    (w->index == 0 ? produce : consume)(w, w->shared);
}

const pfa_workload_t pfa_workload_prodcons = {
    .name = "prodcons",
    .what = "one thread allocates messages of 1-1024 B, another frees them, handed over in batches of 32",
    .workers = 2,
    .rounds = 120000,
    .shared_bytes = sizeof(pfa_ring_t),
    .setup = idle,
    .work = work,
    .teardown = idle,
};
