/* realloc carries the contents across every border: between slots, from a region to a large chunk at 128 KiB, between
 * mimalloc's page kinds, over the 16 and 32 MiB of a segment; upwards, downwards, and from aligned chunks. */
#include "trap.h"

static void *step(void *chunk, size_t from, size_t to, unsigned seed)
{
    void *moved = realloc(chunk, to);
    CHECK(moved != NULL && malloc_usable_size(moved) >= to, "%zu to %zu", from, to);
    CHECK(verify(moved, from < to ? from : to, seed), "contents from %zu to %zu", from, to);
    return moved;
}

/* Up to the size and down again, by about the same ratio; every step refills. */
static void chain(size_t top, size_t percent, size_t align)
{
    size_t size = 1;
    unsigned seed = 1;
    void *chunk = align == 0 ? malloc(size) : aligned_alloc(align, size);
    fill(chunk, size, seed);
    for (; size < top; seed++) {
        size_t next = size + size * percent / 100 + 1;
        chunk = step(chunk, size, next, seed);
        fill(chunk, next, seed + 1);
        size = next;
    }
    for (; size > 1; seed++) {
        size_t next = size - size * percent / (100 + percent) - 1;
        chunk = step(chunk, size, next, seed);
        fill(chunk, next, seed + 1);
        size = next;
    }
    free(chunk);
}

/* Back and forth over one border. */
static void border(size_t at)
{
    void *chunk = malloc(at);
    fill(chunk, at, 7);
    for (int i = 0; i < 4; i++) {
        chunk = step(chunk, at, at + 1, 7);
        chunk = step(chunk, at, at - 1, 7);
        chunk = step(chunk, at - 1, 2 * at, 7);
        chunk = step(chunk, at - 1, at / 3, 7);
        fill(chunk, at / 3, 7);
        chunk = step(chunk, at / 3, at, 7);
        fill(chunk, at, 7);
    }
    free(chunk);
}

int main(void)
{
    profalloc_counters_t before = counters();
    chain(300000, 7, 0);
    chain(300000, 40, 256);
    chain(70 << 20, 120, 0);
    chain(20 << 20, 90, 1 << 20);
    for (size_t at = 8; at <= 32 << 20; at *= at < 1 << 18 ? 2 : 4) {
        border(at);
    }
    border(16 << 20);
    CHECK(counters().live_chunks == before.live_chunks);
    return 0;
}
