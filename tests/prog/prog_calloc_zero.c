/* calloc gives zeros also where freed chunks left dirt, in every size class, however it was got and lost. */
#include "trap.h"

enum { COUNT = 12 };

static void dirty(void **chunks, size_t size)
{
    for (int i = 0; i < COUNT; i++) {
        memset(chunks[i], 0xa5, malloc_usable_size(chunks[i]));
    }
    for (int i = 0; i < COUNT; i++) {
        free(i % 4 == 3 ? realloc(chunks[i], size * 2) : chunks[i]);
    }
}

int main(void)
{
    void *chunks[COUNT];
    for (size_t size = 1; size < 40 << 20; size += 1 + size / (size < 1 << 18 ? 16 : 2)) {
        int rounds = size < 100000 ? 3 : 2;
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < COUNT; i++) {
                chunks[i] = i % 3 == 2 ? calloc(size, 1) : calloc(1, size);
                CHECK(chunks[i] != NULL && is_zero(chunks[i], size), "%zu bytes, round %d", size, round);
                if (size > 1 << 20 && i > 1) { /* enough of these */
                    free(chunks[i]);
                    chunks[i] = malloc(1);
                }
            }
            dirty(chunks, size);
        }
    }
    return 0;
}
