/* A thread whose first and only business with us is free, of recorded chunks, plain ones and large ones. */
#include "trap.h"

#include <pthread.h>

enum { COUNT = 500 };

static void *chunks[COUNT];

static void *drop(void *arg)
{
    for (int i = (int)(intptr_t)arg; i < COUNT; i += 10) {
        errno = 77;
        free(chunks[i]);
        CHECK(errno == 77);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[10];
    for (int round = 0; round < 20; round++) {
        profalloc_counters_t before = counters();
        for (int i = 0; i < COUNT; i++) {
            chunks[i] = malloc(i % 20 == 0 ? 200000 : (size_t)i + 1);
            memset(chunks[i], 0x33, 1);
        }
        for (int i = 0; i < 10; i++) {
            CHECK(pthread_create(&threads[i], NULL, drop, (void *)(intptr_t)i) == 0);
        }
        for (int i = 0; i < 10; i++) {
            pthread_join(threads[i], NULL);
        }
        profalloc_counters_t after = counters();
        CHECK(!mode_is("full") || after.frees >= before.frees + COUNT);
        CHECK(after.bad_frees == 0);
    }
    return 0;
}
