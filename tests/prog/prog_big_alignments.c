/* Alignments beyond a page, a slice and a segment, up to 1 GiB, with small sizes and big ones. */
#include "trap.h"

int main(void)
{
    static const size_t sizes[] = {1, 1000, 70000, 131072, 140000, 1 << 20, 33 << 20};
    profalloc_counters_t before = counters();
    for (size_t align = 4096; align <= (size_t)1 << 30; align *= 2) {
        void *chunks[2 * sizeof sizes / sizeof sizes[0]];
        unsigned count = 0;
        for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            for (int way = 0; way < 2; way++) {
                void *chunk = NULL;
                int err = way == 0 ? posix_memalign(&chunk, align, sizes[i]) : 0;
                chunk = way == 0 ? chunk : aligned_alloc(align, sizes[i]);
                CHECK(err == 0 && chunk != NULL && (uintptr_t)chunk % align == 0, "%zu bytes at %zu", sizes[i], align);
                CHECK(malloc_usable_size(chunk) >= sizes[i]);
                fill(chunk, sizes[i] < 200000 ? sizes[i] : 200000, i);
                ((char *)chunk)[sizes[i] - 1] = (char)i;
                chunks[count++] = chunk;
            }
        }
        for (unsigned i = 0; i < count; i++) {
            size_t size = sizes[i / 2];
            CHECK(verify(chunks[i], size < 200000 ? size - 1 : 200000, i / 2) &&
                  ((char *)chunks[i])[size - 1] == (char)(i / 2));
            chunks[i] = i % 3 == 0 ? realloc(chunks[i], size + 5000) : chunks[i];
            CHECK(verify(chunks[i], size < 200000 ? size - 1 : 200000, i / 2), "after realloc of %zu bytes", size);
            free(chunks[i]);
        }
    }
    CHECK(counters().live_chunks == before.live_chunks && counters().bad_frees == 0);
    return 0;
}
