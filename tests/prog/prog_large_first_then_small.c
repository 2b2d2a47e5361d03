/* A thread that only ever had large chunks, many of them quickly, asks for a small one: there is no heap for those yet.
 * And again when the space for them is full.
 *
 * run: modes=off,sampled,often,full
 * run: modes=full conf=region_range:32M says="the profiled range is full .*" */
#include "trap.h"

#include <pthread.h>

static void *large_then_small(void *arg)
{
    void *large = malloc(300000);
    for (int i = 0; i < 20000; i++) {
        large = realloc(large, 300000 + (size_t)(i & 1));
    }
    void *small = malloc(16);
    fill(small, 16, 3);
    CHECK(verify(small, 16, 3));
    free(small);
    free(large);
    return arg;
}

static void fill_the_range(void)
{
    enum { COUNT = 700000 };
    void **chunks = calloc(COUNT, sizeof *chunks);
    for (int i = 0; i < COUNT; i++) {
        chunks[i] = malloc(64);
    }
    large_then_small(NULL);
    for (int i = 0; i < COUNT; i++) {
        free(chunks[i]);
    }
    free(chunks);
}

int main(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, large_then_small, NULL) == 0);
    pthread_join(thread, NULL);
    fill_the_range();
    return 0;
}
