/* The space for recorded large chunks is used up: they come from where plain chunks do and are recorded all the same;
 * frees are checked as before, and plain chunks beside them are not taken for them.
 *
 * run: modes=full conf=large_range:32M says="free.*: a pointer that is not the start of a chunk, .*"
 *      says="free.*: a pointer .*"
 * run: modes=often conf=large_range:32M says="free.*: a pointer .*" says="free.*: a pointer .*" */
#include "trap.h"

#include <pthread.h>

enum { COUNT = 300, SIZE = 700000 };

static void *chunks[COUNT];

static void *drop(void *arg)
{
    for (unsigned i = (unsigned)(uintptr_t)arg; i < COUNT; i += 2) {
        CHECK(verify(chunks[i], SIZE, i), "chunk %u", i);
        chunks[i] = i % 5 == 0 ? realloc(chunks[i], 2 * SIZE) : chunks[i];
        CHECK(verify(chunks[i], SIZE, i), "chunk %u", i);
        free(chunks[i]);
    }
    return NULL;
}

int main(void)
{
    static int global[16];
    for (int round = 0; round < 3; round++) {
        profalloc_counters_t before = counters();
        for (unsigned i = 0; i < COUNT; i++) {
            chunks[i] = i % 3 == 0 ? calloc(1, SIZE) : i % 3 == 1 ? malloc(SIZE) : aligned_alloc(4096, SIZE);
            CHECK(chunks[i] != NULL && (i % 3 != 0 || is_zero(chunks[i], SIZE)));
            fill(chunks[i], SIZE, i);
            free(malloc(200));
        }
        profalloc_counters_t full = counters();
        CHECK(full.unrecorded == before.unrecorded);
        if (mode_is("full")) {
            CHECK(full.allocations == before.allocations + 2 * COUNT);
            CHECK(full.live_bytes == before.live_bytes + (uint64_t)COUNT * SIZE);
        }
        for (int i = 0; i < COUNT; i++) {
            free(opaque((char *)chunks[i] + (i % 2 == 0 ? 64 : SIZE / 2)));
        }
        free(opaque(global));
        CHECK(counters().bad_frees == full.bad_frees + COUNT + 1);
        pthread_t threads[2];
        CHECK(pthread_create(&threads[0], NULL, drop, (void *)0) == 0);
        CHECK(pthread_create(&threads[1], NULL, drop, (void *)1) == 0);
        pthread_join(threads[0], NULL);
        pthread_join(threads[1], NULL);
        profalloc_counters_t after = counters();
        CHECK(!mode_is("full") || after.live_chunks <= before.live_chunks + 4);
        CHECK(after.unrecorded == before.unrecorded);
    }
    return 0;
}
