/* All that malloc_usable_size promises belongs to the chunk: writing it harms no neighbour, and realloc carries what
 * was asked for. */
#include "trap.h"

enum { COUNT = 4000 };

int main(void)
{
    static void *chunks[COUNT];
    uint64_t random = 88172645463325252u;
    for (unsigned i = 0; i < COUNT; i++) {
        size_t size = random_size(&random, i % 50 == 0 ? 1000000 : 9000);
        chunks[i] = i % 3 == 0 ? calloc(1, size) : i % 3 == 1 ? malloc(size) : aligned_alloc(32u << i % 5, size);
        CHECK(malloc_usable_size(chunks[i]) >= size);
        fill(chunks[i], malloc_usable_size(chunks[i]), i);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        size_t usable = malloc_usable_size(chunks[i]);
        CHECK(verify(chunks[i], usable, i), "chunk %u", i);
        chunks[i] = realloc(chunks[i], usable + 1);
        CHECK(verify(chunks[i], usable, i), "chunk %u after realloc", i);
        free(chunks[i]);
    }
    return 0;
}
