/* Valgrind counts the same calls independently: allocations, frees and bytes must be the same to the last one.
 *
 * run: modes=full conf=summary:true oracle=valgrind */
#include "trap.h"

int main(void)
{
    enum { WINDOW = 100 };
    static void *window[WINDOW];
    uint64_t random = 271828;
    for (int i = 0; i < 20000; i++) {
        void **slot = &window[next_random(&random) % WINDOW];
        size_t size = random_size(&random, i % 50 == 0 ? 1 << 20 : 2000);
        switch (next_random(&random) % 6) {
        case 0:
            *slot = realloc(*slot, size);
            break;
        case 1:
            free(*slot);
            *slot = calloc(size / 8 + 1, 8);
            break;
        case 2:
            free(*slot);
            CHECK(posix_memalign(slot, 128, size) == 0);
            break;
        case 3:
            free(*slot);
            *slot = NULL;
            break;
        default:
            free(*slot);
            *slot = malloc(size);
        }
    }
    free(strdup("once more"));
    return 0;
}
