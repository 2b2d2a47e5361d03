/* Threads that meet the allocator for the first time in a destructor of thread-specific data: by a free of another
 * thread's chunk, or by an allocation. They must be forgotten when they end: nobody may write into their memory later, and
 * what they had must be given back. */
#include "trap.h"

#include <pthread.h>

static pthread_key_t frees;
static pthread_key_t allocates;

static void allocate_late(void *arg)
{
    void *chunk = malloc(5000);
    fill(chunk, 5000, 5);
    CHECK(verify(chunk, 5000, 5));
    free(chunk);
    (void)arg;
}

static void *only_set(void *chunk)
{
    CHECK(pthread_setspecific(frees, chunk) == 0);
    CHECK(pthread_setspecific(allocates, &allocates) == 0);
    return NULL;
}

int main(void)
{
    enum { WARM_UP = 100, THREADS = 2000, GROWTH_KIB = 20 * 1024 };
    size_t before = 0;
    CHECK(pthread_key_create(&frees, free) == 0 && pthread_key_create(&allocates, allocate_late) == 0);
    for (int i = 0; i < WARM_UP + THREADS; i++) {
        pthread_t thread;
        before = i == WARM_UP ? status_figure("VmRSS") : before;
        CHECK(pthread_create(&thread, NULL, only_set, malloc(100)) == 0);
        pthread_join(thread, NULL);
    }
    size_t after = status_figure("VmRSS");
    CHECK(after < before + GROWTH_KIB, "%zu KiB before, %zu KiB after", before, after);
    void (*stop)(void) = (void (*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "profalloc_stop");
    CHECK(stop != NULL);
    stop(); /* goes through all threads it knows */
    return 0;
}
