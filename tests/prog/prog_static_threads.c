/* Linked with libprofalloc.a into a program without a dynamic linker: threads, contents and counts as ever. */
#define TRAP_LINKED 1
#include "trap.h"

#include <pthread.h>

enum { THREADS = 4, COUNT = 2000 };

static void *run(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg;
    static void *chunks[THREADS][COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        size_t size = i % 50 == 0 ? 150000 + i : i;
        chunks[me][i] = realloc(calloc(1, size / 2), size);
        fill(chunks[me][i], size, i + me);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        CHECK(verify(chunks[me][i], i % 50 == 0 ? 150000 + i : i, i + me));
        free(chunks[me][i]);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    profalloc_counters_t before = counters();
    for (uintptr_t i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, run, (void *)i) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    profalloc_counters_t after = counters();
    CHECK(!mode_is("full") || after.allocations >= before.allocations + 2 * COUNT * THREADS);
    CHECK(!mode_is("off") || after.allocations == 0);
    CHECK(!mode_is("full") || after.live_chunks <= before.live_chunks + THREADS);
    CHECK(after.bad_frees == 0 && strcmp(profalloc_version(), PROFALLOC_VERSION) == 0);
    return 0;
}
