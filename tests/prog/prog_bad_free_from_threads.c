/* Threads that make the same mistake at once: each is counted, also after its thread is gone, and one line is said.
 *
 * run: says="free\(0x[0-9a-f]+\) called at prog_bad_free_from_threads\+0x[0-9a-f]+: a pointer .*" */
#include "trap.h"

#include <pthread.h>

enum { THREADS = 8, TIMES = 5000 };

static int global[16];

static void *misuse(void *arg)
{
    for (int i = 0; i < TIMES; i++) {
        free(opaque(&global[i % 16]));
        if (i % 100 == 0) {
            free(malloc(100));
        }
    }
    return arg;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, misuse, NULL) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    profalloc_counters_t now = counters();
    CHECK(now.bad_frees == THREADS * TIMES, "%lu", (unsigned long)now.bad_frees);
    return 0;
}
