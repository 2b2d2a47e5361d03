/* Chunks outlive the thread that made them: others read, grow and free them, one by one and while new threads take over
 * what the dead one left. */
#include "trap.h"

#include <pthread.h>

enum { COUNT = 3000, ROUNDS = 20 };

typedef struct batch {
    void *chunks[COUNT];
    size_t sizes[COUNT];
} batch_t;

static void *make(void *arg)
{
    batch_t *batch = arg;
    uint64_t random = (uintptr_t)arg | 1;
    for (unsigned i = 0; i < COUNT; i++) {
        batch->sizes[i] = random_size(&random, i % 100 == 0 ? 500000 : 5000);
        batch->chunks[i] = malloc(batch->sizes[i]);
        fill(batch->chunks[i], batch->sizes[i], i);
    }
    return NULL;
}

static void *drop(void *arg)
{
    batch_t *batch = arg;
    for (unsigned i = 0; i < COUNT; i++) {
        CHECK(verify(batch->chunks[i], batch->sizes[i], i), "chunk %u", i);
        if (i % 5 == 0) {
            batch->chunks[i] = realloc(batch->chunks[i], batch->sizes[i] * 2);
            CHECK(verify(batch->chunks[i], batch->sizes[i], i), "chunk %u after realloc", i);
        }
        free(batch->chunks[i]);
    }
    return NULL;
}

int main(void)
{
    static batch_t batches[2];
    pthread_t threads[2];
    profalloc_counters_t before = counters();
    CHECK(pthread_create(&threads[0], NULL, make, &batches[0]) == 0);
    pthread_join(threads[0], NULL);
    for (int i = 0; i < ROUNDS; i++) {
        int old = i % 2;
        CHECK(pthread_create(&threads[0], NULL, make, &batches[1 - old]) == 0);
        if (i % 3 == 0) {
            drop(&batches[old]);
        } else {
            CHECK(pthread_create(&threads[1], NULL, drop, &batches[old]) == 0);
            pthread_join(threads[1], NULL);
        }
        pthread_join(threads[0], NULL);
    }
    drop(&batches[ROUNDS % 2]);
    CHECK(!mode_is("full") || counters().live_chunks <= before.live_chunks + 8);
    return 0;
}
