/* A container or chroot without /proc.
 *
 * run: without=proc */
#include "trap.h"

#include <pthread.h>

static void *run(void *arg)
{
    for (unsigned i = 0; i < 300; i++) {
        size_t size = 1000 * i;
        void *chunk = realloc(malloc(size / 2), size + 1);
        fill(chunk, size, i);
        CHECK(verify(chunk, size, i));
        free(chunk);
    }
    return arg;
}

int main(void)
{
    pthread_t thread;
    CHECK(access("/proc/self", F_OK) == -1);
    run(NULL);
    CHECK(pthread_create(&thread, NULL, run, NULL) == 0);
    pthread_join(thread, NULL);
    CHECK(!mode_is("full") || counters().allocations >= 1200);
    return 0;
}
