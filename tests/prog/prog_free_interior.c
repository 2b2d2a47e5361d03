/* A pointer into the middle of a recorded chunk is not the chunk: it is said, counted, and the chunk stays alive.
 *
 * run: modes=full says="free\(0x[0-9a-f]+\) called at .*: a pointer that is not the start of a chunk, .*; ignored"
 *      says="realloc.*: a pointer that is not the start of a chunk, .*"
 *      says="malloc_usable_size.*: a pointer that is not the start of a chunk, .*" */
#include "trap.h"

int main(void)
{
    static const size_t sizes[] = {32, 100, 1000, 8192, 20000, 131072, 131073, 1 << 20, 5 << 20, 40 << 20};
    uint64_t bad = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t size = sizes[i];
        const size_t inside[] = {1, 2, 4, 8, 16, size / 2, size / 2 + 1, size - 8, size - 1};
        for (int aligned = 0; aligned < 2; aligned++) {
            char *chunk = aligned ? aligned_alloc(256, size) : malloc(size);
            fill(chunk, size, 2);
            profalloc_counters_t before = counters();
            for (size_t j = 0; j < sizeof inside / sizeof inside[0]; j++) {
                free(opaque(chunk + inside[j]));
                CHECK(realloc(opaque(chunk + inside[j]), 10) == NULL);
                CHECK(malloc_usable_size(opaque(chunk + inside[j])) == 0);
                bad += 3;
            }
            profalloc_counters_t after = counters();
            CHECK(after.bad_frees == bad, "%lu, not %lu", (unsigned long)after.bad_frees, (unsigned long)bad);
            CHECK(after.frees == before.frees && verify(chunk, size, 2));
            free(chunk);
            CHECK(counters().frees == before.frees + 1);
        }
    }
    return 0;
}
