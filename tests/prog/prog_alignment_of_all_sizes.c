/* A chunk is aligned for anything that fits into it, whatever its size; page-wise calls give pages. */
#include "trap.h"

static void check(const char *call, void *chunk, size_t size, size_t align)
{
    CHECK(chunk != NULL && (uintptr_t)chunk % align == 0, "%s of %zu: %p", call, size, chunk);
    CHECK(malloc_usable_size(chunk) >= size, "%s of %zu", call, size);
    memset(chunk, 0x5a, size);
    free(chunk);
}

int main(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t size = 1; size < 200000; size += 1 + size / 500) {
        size_t usual = size <= 8 ? 8 : 16;
        check("malloc", malloc(size), size, usual);
        check("calloc", calloc(size, 1), size, usual);
        check("realloc", realloc(malloc(1), size), size, usual);
        check("realloc", realloc(malloc(2 * size), size), size, usual);
        if (size % 7 == 0) {
            check("valloc", valloc(size), size, page);
            check("pvalloc", pvalloc(size), (size + page - 1) / page * page, page);
        }
        for (size_t align = 1; size % 11 == 0 && align <= 65536; align *= 2) {
            check("aligned_alloc", aligned_alloc(align, size), size, align);
            check("memalign", memalign(align, size), size, align);
        }
    }
    for (size_t align = 1; align <= 4096; align *= 2) {
        for (size_t size = 0; size < 2100; size += size < 300 ? 1 : 4) {
            check("aligned_alloc", aligned_alloc(align, size), size, align);
        }
    }
    return 0;
}
