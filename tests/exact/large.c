/* Threads that do nothing but allocate and free large chunks:
 *     large THREADS STEPS
 * Each keeps a few, so that they are not always the same. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { KEPT = 4, SIZE = 200000 };

static unsigned long steps;

__attribute__((noinline)) void *large_get(size_t size)
{
    char *chunk = malloc(size);
    if (chunk == NULL) {
        abort();
    }
    chunk[0] = 1;
    return chunk;
}

static void *churn(void *arg)
{
    void *kept[KEPT] = {NULL};
    for (unsigned long i = 0; i < steps; i++) {
        free(kept[i % KEPT]);
        kept[i % KEPT] = large_get(SIZE + i % 1000);
    }
    for (int i = 0; i < KEPT; i++) {
        free(kept[i]);
    }
    return arg;
}

int main(int argc, char **argv)
{
    enum { MOST = 64 };
    pthread_t threads[MOST];
    unsigned count = argc > 2 ? (unsigned)atoi(argv[1]) : 0;
    if (count == 0 || count > MOST) {
        return 99;
    }
    steps = strtoul(argv[2], NULL, 10);
    for (unsigned i = 0; i < count; i++) {
        if (pthread_create(&threads[i], NULL, churn, NULL) != 0) {
            return 98;
        }
    }
    for (unsigned i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
