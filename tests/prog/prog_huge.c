/* Chunks of gigabytes, hardly touched: had, zero where calloc promises it without taking the memory for it, grown by
 * realloc, given back. */
#include "trap.h"

#define GIB ((size_t)1 << 30)

enum { RESIDENT_KIB = 100 * 1024 };

/* Touches one page in 64 MiB. */
static void mark(unsigned char *chunk, size_t size)
{
    for (size_t at = 0; at < size; at += 64 << 20) {
        chunk[at] = (unsigned char)(at >> 26 | 1);
    }
    chunk[size - 1] = 99;
}

static bool marked(const unsigned char *chunk, size_t size)
{
    for (size_t at = 0; at < size; at += 64 << 20) {
        if (chunk[at] != (unsigned char)(at >> 26 | 1) || chunk[at + 1] != 0) {
            return false;
        }
    }
    return chunk[size - 1] == 99;
}

int main(void)
{
    profalloc_counters_t before = counters();
    for (size_t size = GIB / 8; size <= 6 * GIB; size = size < 4 * GIB ? size + size / 2 : size + 6 * GIB - 4 * GIB) {
        unsigned char *chunk = calloc(1, size);
        CHECK(chunk != NULL && malloc_usable_size(chunk) >= size, "%zu bytes", size);
        for (size_t at = 0; at < size; at += 1 << 20) { /* also where the chunk before was marked */
            CHECK(chunk[at] == 0 && chunk[size - 1] == 0, "byte %zu of %zu", at, size);
        }
        size_t resident = status_figure("VmRSS");
        CHECK(resident < RESIDENT_KIB, "%zu KiB are resident", resident);
        mark(opaque(chunk), size);
        CHECK(marked(chunk, size));
        if (size < GIB / 4) {
            chunk = realloc(chunk, 2 * size);
            CHECK(chunk != NULL && marked(chunk, size), "realloc to %zu bytes", 2 * size);
        }
        free(chunk);
    }
    CHECK(counters().live_chunks == before.live_chunks);
    return 0;
}
