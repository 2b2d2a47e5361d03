/* More small chunks than 32 GiB have place for, hardly touched: all of them are recorded.
 *
 * run: modes=full conf=live_size:1G */
#include "trap.h"

enum { SIZE = 128 * 1024, CHUNKS = 36 * 8192 };

int main(void)
{
    static void *chunks[CHUNKS];
    for (unsigned i = 0; i < CHUNKS; i++) {
        chunks[i] = malloc(SIZE);
        CHECK(chunks[i] != NULL);
    }
    CHECK(counters().unrecorded == 0, "%zu chunks are not recorded", (size_t)counters().unrecorded);
    CHECK(counters().live_chunks >= CHUNKS);
    for (unsigned i = 0; i < CHUNKS; i++) {
        free(chunks[i]);
    }
    CHECK(counters().bad_frees == 0);
    return 0;
}
