/* The smallest stack a thread may have is enough for us: also for a thread's first allocation, a large chunk, a report
 * of a bad free and the counters.
 *
 * run: modes=off,sampled,often,full says="free\(0x[0-9a-f]+\) called at .*: a pointer .*" */
#include "trap.h"

#include <limits.h>
#include <pthread.h>

static void *run(void *arg)
{
    static char global[64];
    void *small = malloc(100);
    void *large = calloc(1, 1 << 20);
    CHECK(small != NULL && large != NULL && is_zero(large, 1 << 20));
    small = realloc(small, 300000);
    CHECK(small != NULL);
    free(small);
    free(large);
    free(opaque(global + 16));
    *(profalloc_counters_t *)arg = counters();
    return NULL;
}

int main(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    profalloc_counters_t seen;
    pthread_attr_init(&attributes);
    CHECK(pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN)) == 0);
    for (int i = 0; i < 10; i++) {
        CHECK(pthread_create(&thread, &attributes, run, &seen) == 0);
        pthread_join(thread, NULL);
    }
    CHECK(seen.bad_frees == 10);
    return 0;
}
