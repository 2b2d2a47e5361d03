/*
 * strewn: chunks of random sizes up to 16 000 bytes replaced in a window, some of them freed by another thread.
 *
 * One chunk in four is handed to the next worker, as long as it takes them; the others are freed where they were
 * allocated. So pages of all sizes are shared by two threads, and what is free in them comes back late and from afar.
 */
#define _GNU_SOURCE 1
#include <sched.h>
#include <stdlib.h>

#include "ring.h"
#include "workloads.h"

enum {
    WORKERS = 2,
    WINDOW = 1000,
    SIZE_MOST = 16000,
    AWAY_PERIOD = 4, /* one chunk in so many goes to the other worker */
    MOST_AT_ONCE = 2,
};

typedef struct {
    uint32_t size;
    unsigned char payload[];
} chunk_t;

typedef struct {
    pfa_ring_t ring;
    _Alignas(64) _Atomic bool done; /* set by the producer of the ring after its last push */
} link_t;

static chunk_t *make(pfa_worker_t *w)
{
    uint32_t size = 1 + pfa_bench_below(&w->rng, SIZE_MOST - (uint32_t)sizeof(chunk_t));
    chunk_t *chunk = pfa_bench_need(malloc(sizeof *chunk + size));
    chunk->size = size;
    pfa_bench_mark(chunk->payload, size, (unsigned char)size);
    return chunk;
}

static void drop(pfa_worker_t *w, chunk_t *chunk)
{
    pfa_bench_check(chunk->payload, chunk->size, (unsigned char)chunk->size);
    w->checksum += chunk->size;
    free(chunk);
}

static unsigned drop_others(pfa_worker_t *w, link_t *inbox, unsigned most)
{
    unsigned dropped = 0;
    void *chunk;
    while (dropped < most && pfa_ring_pop(&inbox->ring, &chunk)) {
        drop(w, chunk);
        dropped++;
    }
    return dropped;
}

static void setup(pfa_worker_t *w)
{
    chunk_t **window = w->state;
    for (unsigned i = 0; i < WINDOW; i++) {
        window[i] = make(w);
    }
}

static void work(pfa_worker_t *w)
{
    chunk_t **window = w->state;
    link_t *links = w->shared;
    link_t *outbox = &links[w->index];
    link_t *inbox = &links[(w->index + 1) % WORKERS];
    for (uint64_t i = 0; i < w->rounds; i++) {
        chunk_t **slot = &window[pfa_bench_below(&w->rng, WINDOW)];
        bool away = pfa_bench_below(&w->rng, AWAY_PERIOD) == 0;
        if (!away || !pfa_ring_push(&outbox->ring, *slot)) {
            drop(w, *slot);
        }
        *slot = make(w);
        drop_others(w, inbox, MOST_AT_ONCE);
    }
    /* Pairs with the acquire below: whoever sees done also sees every push. */
    atomic_store_explicit(&outbox->done, true, memory_order_release);
    for (;;) {
        bool last = atomic_load_explicit(&inbox->done, memory_order_acquire);
        if (drop_others(w, inbox, PFA_RING_SLOTS) == 0) {
            if (last) {
                break;
            }
            sched_yield();
        }
    }
    w->ops = w->rounds;
}

static void teardown(pfa_worker_t *w)
{
    chunk_t **window = w->state;
    for (unsigned i = 0; i < WINDOW; i++) {
        drop(w, window[i]);
    }
}

const pfa_workload_t pfa_workload_strewn = {
    .name = "strewn",
    .what = "two threads replace chunks of up to 16 000 B, one in four freed by the other thread",
    .group = "neutral",
    .workers = WORKERS,
    .rounds = 5000000,
    .state_bytes = WINDOW * sizeof(chunk_t *),
    .shared_bytes = WORKERS * sizeof(link_t),
    .setup = setup,
    .work = work,
    .teardown = teardown,
};
