/* A second free of a recorded chunk is noticed from its record, said once per place, counted each time, and harmless.
 * It must be so while the chunk's memory is not in use again; small chunks and large ones.
 *
 * run: modes=full
 *      says="free\(.*\) called at prog_double_free\+0x.*: double free, 0 bytes into a chunk of 100 bytes .*; ignored"
 *      says="free\(0x[0-9a-f]+\) called at prog_double_free\+0x[0-9a-f]+: double free.*; ignored"
 *      says="free\(0x[0-9a-f]+\) called at prog_double_free\+0x[0-9a-f]+: double free.*; ignored"
 *      says="realloc\(0x[0-9a-f]+\) called at .*: double free.*; ignored"
 *      says="malloc_usable_size\(0x[0-9a-f]+\) called at .*: double free.*; ignored" */
#include "trap.h"

enum { TIMES = 1000 };

/* Two places: the same mistake elsewhere is another mistake. */
static __attribute__((noinline)) void free_again(void *chunk)
{
    for (int i = 0; i < TIMES; i++) {
        free(opaque(chunk));
    }
}

int main(void)
{
    void *neighbour = malloc(100);
    void *small = malloc(100);
    void *large = malloc(1 << 20);
    fill(neighbour, 100, 1);
    profalloc_counters_t before = counters();
    free(small);
    free_again(small);
    CHECK(counters().bad_frees == before.bad_frees + TIMES);
    free(opaque(small));
    free(large);
    free(opaque(large));
    errno = 0;
    CHECK(realloc(opaque(small), 200) == NULL && errno != 0);
    CHECK(malloc_usable_size(opaque(small)) == 0);
    profalloc_counters_t after = counters();
    CHECK(after.bad_frees == before.bad_frees + TIMES + 4, "%lu", (unsigned long)after.bad_frees);
    CHECK(after.frees == before.frees + 2 && after.live_chunks == before.live_chunks - 2);
    void *chunks[1000];
    for (unsigned i = 0; i < 1000; i++) { /* nothing is handed out twice now */
        chunks[i] = malloc(i < 990 ? 100 : 1 << 20);
        fill(chunks[i], 100, i);
    }
    for (unsigned i = 0; i < 1000; i++) {
        CHECK(verify(chunks[i], 100, i));
        free(chunks[i]);
    }
    CHECK(verify(neighbour, 100, 1));
    free(neighbour);
    return 0;
}
