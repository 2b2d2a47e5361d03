/* The peak of live bytes: with one thread exact, whatever the order of big and small; it never goes down.
 *
 * run: modes=full */
#include "trap.h"

int main(void)
{
    enum { COUNT = 2000 };
    static void *chunks[COUNT];
    static size_t sizes[COUNT];
    uint64_t random = 31337;
    uint64_t live = counters().live_bytes;
    uint64_t peak = counters().peak_bytes;
    for (int i = 0; i < 30000; i++) {
        unsigned slot = (unsigned)(next_random(&random) % COUNT);
        size_t size = random_size(&random, i % 100 == 0 ? 2 << 20 : 4000);
        if (i % 3 == 0) { /* in place or not, what was asked for before goes first */
            live -= sizes[slot];
            chunks[slot] = realloc(chunks[slot], size);
        } else {
            live -= sizes[slot];
            free(chunks[slot]);
            chunks[slot] = i % 3 == 1 ? malloc(size) : calloc(1, size);
        }
        CHECK(chunks[slot] != NULL);
        sizes[slot] = size;
        live += size;
        peak = live > peak ? live : peak;
        if (i % 1000 == 0) {
            profalloc_counters_t now = counters();
            CHECK(now.live_bytes == live, "%lu live, not %lu", (unsigned long)now.live_bytes, (unsigned long)live);
            CHECK(now.peak_bytes >= peak && now.peak_bytes <= peak + (2 << 20), "peak %lu, not %lu",
                  (unsigned long)now.peak_bytes, (unsigned long)peak);
        }
    }
    return 0;
}
