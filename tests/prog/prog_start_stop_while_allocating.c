/* Recording is switched on, off and to other rates while four threads allocate, free and grow each other's chunks. */
#include "trap.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 4, SLOTS = 512, STEPS = 100000 };

typedef struct chunk {
    size_t size;
    unsigned seed;
    unsigned char bytes[];
} chunk_t;

static _Atomic(chunk_t *) slots[SLOTS];
static atomic_uint finished;

static void drop(chunk_t *chunk)
{
    if (chunk != NULL) {
        CHECK(verify(chunk->bytes, chunk->size, chunk->seed), "%zu bytes", chunk->size);
        free(chunk);
    }
}

static void *run(void *arg)
{
    uint64_t random = (uintptr_t)arg * 7919 + 1;
    for (int i = 0; i < STEPS; i++) {
        _Atomic(chunk_t *) *slot = &slots[next_random(&random) % SLOTS];
        size_t size = random_size(&random, next_random(&random) % 64 == 0 ? 400000 : 2000);
        chunk_t *mine = i % 4 == 0 ? atomic_exchange(slot, NULL) : NULL;
        if (mine != NULL) {
            size_t common = size < mine->size ? size : mine->size;
            mine = realloc(mine, sizeof *mine + size);
            CHECK(verify(mine->bytes, common, mine->seed));
        } else {
            mine = malloc(sizeof *mine + size);
        }
        mine->size = size;
        mine->seed = (unsigned)i;
        fill(mine->bytes, size, mine->seed);
        drop(atomic_exchange(slot, mine));
    }
    atomic_fetch_add(&finished, 1);
    return NULL;
}

int main(void)
{
    static const size_t rates[] = {1, 4096, 0, 1, 524288, 1, 65536};
    int (*start)(size_t) = LIBRARY_CALL(profalloc_start);
    void (*stop)(void) = LIBRARY_CALL(profalloc_stop);
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, run, (void *)i) == 0);
    }
    for (unsigned i = 0; finished < THREADS; i++) {
        CHECK(start(rates[i % 7]) == 0);
        usleep(300);
        if (i % 3 == 0) {
            stop();
            usleep(300);
        }
        profalloc_counters_t now = counters();
        CHECK(now.bad_frees == 0 && now.unrecorded == 0);
        CHECK(now.live_chunks < 1000000 && now.live_bytes < 1000000000, "%lu chunks, %lu bytes live",
              (unsigned long)now.live_chunks, (unsigned long)now.live_bytes);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < SLOTS; i++) {
        drop(slots[i]);
    }
    profalloc_counters_t end = counters();
    CHECK(end.allocations > 1000 && end.bad_frees == 0);
    CHECK(end.live_chunks < 10000 && end.live_bytes < 4 << 20, "%lu chunks, %lu bytes live",
          (unsigned long)end.live_chunks, (unsigned long)end.live_bytes);
    return 0;
}
