/* Ten thousand threads, one after another: what each needed is there for the next, so memory stays where it was. */
#include "trap.h"

#include <pthread.h>

enum { THREADS = 10000, WARM = 500, SLACK_KIB = 24 * 1024 };

static void *run(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;
    void *small = malloc(300);
    void *medium = malloc(20000);
    fill(small, 300, seed);
    fill(medium, 20000, seed);
    void *large = seed % 16 == 0 ? calloc(1, 300000) : NULL;
    CHECK(verify(small, 300, seed) && verify(medium, 20000, seed));
    free(large);
    free(medium);
    return small; /* freed by another thread, after this one is gone */
}

int main(void)
{
    size_t warm = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_t thread;
        void *left;
        CHECK(pthread_create(&thread, NULL, run, (void *)(uintptr_t)i) == 0);
        pthread_join(thread, &left);
        CHECK(verify(left, 300, i));
        free(left);
        if (i == WARM) {
            warm = status_figure("VmRSS");
        }
    }
    size_t end = status_figure("VmRSS");
    CHECK(end < warm + SLACK_KIB, "resident memory went from %zu to %zu KiB", warm, end);
    return 0;
}
