/* As prog_large_range_full: a second free of a recorded chunk that lies among plain ones is noticed like any other.
 *
 * run: modes=full conf=large_range:32M says="free.*: (double free|a pointer).*" */
#include "trap.h"

enum { COUNT = 100, SIZE = 1 << 20 };

int main(void)
{
    void *chunks[COUNT];
    for (int i = 0; i < COUNT; i++) {
        chunks[i] = malloc(SIZE);
        fill(chunks[i], SIZE, 1);
    }
    for (int i = 0; i < COUNT; i++) {
        free(chunks[i]);
    }
    uint64_t before = counters().bad_frees;
    for (int i = 0; i < COUNT; i++) {
        free(opaque(chunks[i]));
    }
    CHECK(counters().bad_frees == before + COUNT);
    for (unsigned i = 0; i < COUNT; i++) {
        chunks[i] = malloc(SIZE);
        fill(chunks[i], SIZE, i);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        CHECK(verify(chunks[i], SIZE, i));
        free(chunks[i]);
    }
    return 0;
}
