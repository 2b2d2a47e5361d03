/*
 * orphans: threads that allocate, leave all of it behind and end; what they left is freed by a later one.
 *
 * A thread frees what the eighth before it left, so some thousands of chunks have an owner that is dead and were never
 * freed by anyone who allocates their size from the same pages.
 */
#include <stdlib.h>

#include "lineage.h"
#include "workloads.h"

enum {
    KEPT = 8, /* generations that are live at once */
    CHUNKS = 2000,
    SIZE_LEAST = 16,
    SIZE_SPREAD = 497, /* 16 .. 512 */
};

/* What a thread left behind: a list through the chunks themselves. */
typedef struct chunk {
    struct chunk *next;
    uint32_t size;
    unsigned char payload[];
} chunk_t;

typedef struct {
    pfa_lineage_t lineage;
    chunk_t *left[KEPT];
} orphans_t;

static chunk_t *leave_some(pfa_worker_t *w)
{
    chunk_t *list = NULL;
    for (unsigned i = 0; i < CHUNKS; i++) {
        uint32_t size = SIZE_LEAST + pfa_bench_below(&w->rng, SIZE_SPREAD);
        chunk_t *chunk = pfa_bench_need(malloc(sizeof *chunk + size));
        chunk->size = size;
        pfa_bench_mark(chunk->payload, size, (unsigned char)size);
        chunk->next = list;
        list = chunk;
    }
    return list;
}

static void free_all(pfa_worker_t *w, chunk_t *list)
{
    while (list != NULL) {
        chunk_t *next = list->next;
        pfa_bench_check(list->payload, list->size, (unsigned char)list->size);
        w->checksum += list->size;
        free(list);
        list = next;
    }
}

static void live(pfa_worker_t *w, uint64_t generation)
{
    orphans_t *orphans = w->state;
    chunk_t **left = &orphans->left[generation % KEPT];
    free_all(w, *left);
    *left = leave_some(w);
    w->ops += CHUNKS;
}

static void setup(pfa_worker_t *w)
{
    (void)w;
}

static void work(pfa_worker_t *w)
{
    orphans_t *orphans = w->state;
    pfa_lineage_run(&orphans->lineage, w, live);
}

static void teardown(pfa_worker_t *w)
{
    orphans_t *orphans = w->state;
    for (unsigned i = 0; i < KEPT; i++) {
        free_all(w, orphans->left[i]);
    }
}

const pfa_workload_t pfa_workload_orphans = {
    .name = "orphans",
    .what = "threads allocate 2000 chunks of 16-512 B, leave them behind and end; later ones free them",
    .group = "neutral",
    .workers = 2,
    .rounds = 2000,
    .state_bytes = sizeof(orphans_t),
    .setup = setup,
    .work = work,
    .teardown = teardown,
};
