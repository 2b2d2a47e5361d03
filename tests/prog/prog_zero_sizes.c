/* A size of zero is a chunk like any other: not NULL, unlike every other, to be freed. Only realloc(chunk, 0) frees. */
#include "trap.h"

enum { COUNT = 10 };

int main(void)
{
    size_t zero = opaque_size(0);
    void *chunks[COUNT] = {
        malloc(zero),
        calloc(zero, 8),
        calloc(8, zero),
        realloc(NULL, zero),
        aligned_alloc(64, zero),
        memalign(64, zero),
        reallocarray(NULL, zero, 8),
        valloc(zero),
        pvalloc(zero),
        NULL,
    };
    CHECK(posix_memalign(&chunks[COUNT - 1], 64, zero) == 0);
    for (int i = 0; i < COUNT; i++) {
        CHECK(chunks[i] != NULL, "number %d", i);
        for (int j = 0; j < i; j++) {
            CHECK(chunks[i] != chunks[j], "numbers %d and %d", i, j);
        }
        fill(chunks[i], malloc_usable_size(chunks[i]), (unsigned)i);
    }
    for (int i = 0; i < COUNT; i++) {
        CHECK(verify(chunks[i], malloc_usable_size(chunks[i]), (unsigned)i), "number %d", i);
        free(chunks[i]);
    }
    profalloc_counters_t before = counters();
    errno = 0;
    CHECK(realloc(malloc(100), zero) == NULL && errno == 0);
    CHECK(reallocarray(malloc(200000), zero, 8) == NULL && errno == 0);
    CHECK(counters().live_chunks == before.live_chunks);
    CHECK(malloc_usable_size(NULL) == 0);
    free(NULL);
    return 0;
}
