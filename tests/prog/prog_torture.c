/* Four threads with one table of chunks: whoever draws a slot owns what is in it, made by any of them, and frees, grows
 * or replaces it. Every byte that was written must be there when the chunk goes.
 *
 * run:
 * run: modes=off,full limit=STACK:unlimited
 * run: modes=often,full conf=accesses:true */
#include "trap.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 4, SLOTS = 2048, STEPS = 60000 };

typedef struct chunk {
    void *memory;
    size_t size;
    unsigned seed;
} chunk_t;

static _Atomic(chunk_t *) slots[SLOTS];

static chunk_t *make(uint64_t *random)
{
    chunk_t *chunk = malloc(sizeof *chunk);
    uint64_t kind = next_random(random) % 64;
    chunk->size = random_size(random, kind == 0 ? 3 << 20 : kind < 4 ? 200000 : 4000);
    chunk->seed = (unsigned)next_random(random);
    if (kind % 4 == 1) {
        chunk->memory = calloc(1, chunk->size);
        CHECK(is_zero(chunk->memory, chunk->size), "calloc of %zu", chunk->size);
    } else {
        chunk->memory = kind % 4 == 2 ? aligned_alloc((size_t)16 << kind / 8, chunk->size) : malloc(chunk->size);
    }
    CHECK(chunk->memory != NULL);
    fill(chunk->memory, chunk->size, chunk->seed);
    return chunk;
}

static void grow_or_shrink(chunk_t *chunk, uint64_t *random)
{
    size_t size = random_size(random, 2 * chunk->size + 64);
    chunk->memory = realloc(chunk->memory, size);
    CHECK(chunk->memory != NULL);
    CHECK(verify(chunk->memory, size < chunk->size ? size : chunk->size, chunk->seed), "%zu to %zu", chunk->size, size);
    chunk->size = size;
    fill(chunk->memory, size, chunk->seed);
}

static void drop(chunk_t *chunk)
{
    if (chunk != NULL) {
        CHECK(malloc_usable_size(chunk->memory) >= chunk->size);
        CHECK(verify(chunk->memory, chunk->size, chunk->seed), "%zu bytes at %p", chunk->size, chunk->memory);
        free(chunk->memory);
        free(chunk);
    }
}

static void *run(void *arg)
{
    uint64_t random = (uintptr_t)arg * 0x9e3779b97f4a7c15u + 1;
    for (int i = 0; i < STEPS; i++) {
        _Atomic(chunk_t *) *slot = &slots[next_random(&random) % SLOTS];
        chunk_t *mine = atomic_exchange(slot, NULL);
        if (mine != NULL && i % 3 == 0) {
            grow_or_shrink(mine, &random);
        } else {
            drop(mine);
            mine = i % 8 == 0 ? NULL : make(&random);
        }
        drop(atomic_exchange(slot, mine));
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    profalloc_counters_t before = counters();
    for (uintptr_t i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, run, (void *)(i + 1)) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < SLOTS; i++) {
        drop(slots[i]);
    }
    profalloc_counters_t after = counters();
    CHECK(after.bad_frees == 0 && after.unrecorded == 0);
    CHECK(!mode_is("full") || after.live_chunks <= before.live_chunks + THREADS);
    return 0;
}
