/* Five hundred threads alive at once, each with chunks of its own and one of another's; a second generation follows. */
#include "trap.h"

#include <pthread.h>

enum { THREADS = 500, SIZE = 1000 };

static pthread_barrier_t barrier;
static void *passed[THREADS];

static void *run(void *arg)
{
    unsigned me = (unsigned)(uintptr_t)arg;
    void *own[20];
    for (unsigned i = 0; i < 20; i++) {
        own[i] = malloc(SIZE * (i + 1));
        fill(own[i], SIZE * (i + 1), me + i);
    }
    passed[me] = malloc(SIZE);
    fill(passed[me], SIZE, me);
    pthread_barrier_wait(&barrier);
    unsigned other = (me + 1) % THREADS;
    CHECK(verify(passed[other], SIZE, other));
    free(passed[other]);
    for (unsigned i = 0; i < 20; i++) {
        CHECK(verify(own[i], SIZE * (i + 1), me + i));
        free(own[i]);
    }
    return NULL;
}

int main(void)
{
    static pthread_t threads[THREADS];
    pthread_attr_t small;
    pthread_barrier_init(&barrier, NULL, THREADS);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 * 1024);
    for (int generation = 0; generation < 2; generation++) {
        for (unsigned i = 0; i < THREADS; i++) {
            CHECK(pthread_create(&threads[i], &small, run, (void *)(uintptr_t)i) == 0);
        }
        for (unsigned i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
    }
    CHECK(counters().bad_frees == 0);
    return 0;
}
