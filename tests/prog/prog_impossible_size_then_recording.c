/* A request that no memory can meet must not keep what comes after it from being recorded, neither small chunks nor large
 * ones; nor does the library say of it that chunks are not recorded.
 *
 * run: modes=full */
#include "trap.h"

static void check_recording(size_t after)
{
    profalloc_counters_t before = counters();
    for (int n = 0; n < 100; n++) {
        free(opaque(malloc(50)));
        free(opaque(malloc(200000)));
    }
    profalloc_counters_t now = counters();
    CHECK(now.allocations == before.allocations + 200, "after a request for %zu bytes", after);
    CHECK(now.unrecorded == before.unrecorded, "after a request for %zu bytes", after);
}

int main(void)
{
    static const size_t impossible[] = {SIZE_MAX, (size_t)1 << 63, PTRDIFF_MAX, ((size_t)1 << 63) + 5, SIZE_MAX - 4096};
    for (unsigned i = 0; i < sizeof impossible / sizeof impossible[0]; i++) {
        CHECK(malloc(opaque_size(impossible[i])) == NULL && errno == ENOMEM);
        CHECK(calloc(opaque_size(impossible[i]), 1) == NULL);
        CHECK(aligned_alloc(4096, opaque_size(impossible[i])) == NULL);
        CHECK(realloc(NULL, opaque_size(impossible[i])) == NULL);
        check_recording(impossible[i]);
    }
    /* These fit into a record, and it is the system that refuses them, or does not. */
    for (size_t size = (size_t)1 << 39; size < (size_t)1 << 48; size *= 2) {
        free(opaque(malloc(opaque_size(size))));
        free(opaque(aligned_alloc(1 << 20, opaque_size(size))));
        check_recording(size);
    }
    return 0;
}
