/* main may leave by pthread_exit while other threads go on: its heaps must stay usable to them. */
#include "trap.h"

#include <pthread.h>

enum { COUNT = 2000 };

static pthread_t first;
static void *chunks[COUNT];

static void *go_on(void *arg)
{
    (void)arg;
    pthread_join(first, NULL);
    for (unsigned i = 0; i < COUNT; i++) {
        CHECK(verify(chunks[i], 10 * i, i));
        chunks[i] = realloc(chunks[i], 20 * i + 1);
        CHECK(verify(chunks[i], 10 * i, i));
        free(chunks[i]);
        void *mine = calloc(1, i + 1);
        CHECK(is_zero(mine, i + 1));
        free(mine);
    }
    exit(0);
}

int main(void)
{
    pthread_t thread;
    first = pthread_self();
    for (unsigned i = 0; i < COUNT; i++) {
        chunks[i] = malloc(10 * i);
        fill(chunks[i], 10 * i, i);
    }
    CHECK(pthread_create(&thread, NULL, go_on, NULL) == 0);
    pthread_exit(NULL);
}
