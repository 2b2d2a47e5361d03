/*
 * Threads that follow one another: what the workloads with short-lived threads have in common.
 *
 * A worker has a lineage: one thread of it works at a time. The last thing a thread does is to start its successor, or to
 * tell the worker that there is none; so its own end, with all that an allocator does then, goes on beside the
 * successor's work, as in programs that start a thread for each task.
 */
#ifndef PFA_BENCH_LINEAGE_H
#define PFA_BENCH_LINEAGE_H

#include <pthread.h>
#include <semaphore.h>

#include "workloads.h"

typedef struct pfa_lineage {
    pfa_worker_t *worker;
    void (*life)(pfa_worker_t *w, uint64_t generation); /* what each thread does */
    uint64_t generation;
    sem_t extinct;
} pfa_lineage_t;

static inline void pfa_lineage_begin_one(pfa_lineage_t *lineage);

static void *pfa_lineage_live(void *opaque)
{
    pfa_lineage_t *lineage = opaque;
    lineage->life(lineage->worker, lineage->generation);
    if (++lineage->generation < lineage->worker->rounds) {
        pfa_lineage_begin_one(lineage);
    } else {
        sem_post(&lineage->extinct);
    }
    return NULL;
}

/* On the processor of the thread that calls it, which is the worker's. */
static inline void pfa_lineage_begin_one(pfa_lineage_t *lineage)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, pfa_lineage_live, lineage) != 0 || pthread_detach(thread) != 0) {
        pfa_bench_die("cannot create a thread");
    }
}

/* As many threads as the worker has rounds, one after another; returns when the last one has worked. */
static inline void pfa_lineage_run(pfa_lineage_t *lineage, pfa_worker_t *w, void (*life)(pfa_worker_t *, uint64_t))
{
    lineage->worker = w;
    lineage->life = life;
    lineage->generation = 0;
    sem_init(&lineage->extinct, 0, 0);
    pfa_lineage_begin_one(lineage);
    while (sem_wait(&lineage->extinct) != 0) {
    }
}

#endif
