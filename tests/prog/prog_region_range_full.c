/* The space for recorded small chunks is used up: said once, the rest is not recorded but counted as such, and as soon
 * as there is room again chunks are recorded again.
 *
 * run: modes=full conf=region_range:32M says="the profiled range is full .*"
 * run: modes=full conf=region_range:64M,large_range:32M says="the profiled range is full .*" */
#include "trap.h"

enum { COUNT = 120000, SIZE = 1000 };

int main(void)
{
    static void *chunks[COUNT];
    for (int round = 0; round < 3; round++) {
        profalloc_counters_t before = counters();
        for (unsigned i = 0; i < COUNT; i++) {
            chunks[i] = i % 2 == 0 ? malloc(SIZE) : calloc(1, SIZE);
            CHECK(chunks[i] != NULL && (i % 2 == 0 || is_zero(chunks[i], SIZE)));
            fill(chunks[i], SIZE, i);
        }
        profalloc_counters_t full = counters();
        uint64_t recorded = full.allocations - before.allocations;
        CHECK(recorded + full.unrecorded - before.unrecorded == COUNT, "round %d: %lu recorded, %lu not", round,
              (unsigned long)recorded, (unsigned long)(full.unrecorded - before.unrecorded));
        CHECK(recorded > 10000, "round %d: only %lu recorded", round, (unsigned long)recorded);
        CHECK(full.unrecorded > before.unrecorded);
        for (unsigned i = 0; i < COUNT; i++) {
            CHECK(verify(chunks[i], SIZE, i), "round %d", round);
            chunks[i] = i % 3 == 0 ? realloc(chunks[i], 2 * SIZE) : chunks[i];
            CHECK(verify(chunks[i], SIZE, i), "round %d", round);
            free(chunks[i]);
        }
        profalloc_counters_t after = counters();
        CHECK(after.live_chunks == before.live_chunks && after.bad_frees == 0, "%lu live after, %lu before",
              (unsigned long)after.live_chunks, (unsigned long)before.live_chunks);
    }
    return 0;
}
