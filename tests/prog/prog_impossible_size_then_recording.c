/* A request that no memory can meet must not keep what comes after it from being recorded.
 *
 * run: modes=full */
#include "trap.h"

int main(void)
{
    static const size_t impossible[] = {SIZE_MAX, (size_t)1 << 63, PTRDIFF_MAX, ((size_t)1 << 63) + 5, SIZE_MAX - 4096};
    for (unsigned i = 0; i < sizeof impossible / sizeof impossible[0]; i++) {
        CHECK(malloc(opaque_size(impossible[i])) == NULL && errno == ENOMEM);
        CHECK(calloc(opaque_size(impossible[i]), 1) == NULL);
        CHECK(aligned_alloc(4096, opaque_size(impossible[i])) == NULL);
        CHECK(realloc(NULL, opaque_size(impossible[i])) == NULL);
        profalloc_counters_t before = counters();
        for (int n = 0; n < 100; n++) {
            free(opaque(malloc(50)));
        }
        CHECK(counters().allocations == before.allocations + 100);
    }
    return 0;
}
