/* The summary at exit holds the exact figures when everything is recorded: each call of the program counted once, a
 * realloc as one free and one allocation, with the bytes that were asked for.
 *
 * run: modes=full conf=summary:true oracle=printed */
#include "trap.h"

#include <pthread.h>

static uint64_t allocations;
static uint64_t bytes;
static uint64_t frees;
static uint64_t freed_bytes;

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void born(size_t size)
{
    allocations++;
    bytes += size;
}

static void died(size_t size)
{
    frees++;
    freed_bytes += size;
}

static void *work(void *arg)
{
    uint64_t random = 4711;
    pthread_mutex_lock(&gate);
    for (int i = 0; i < 20000; i++) {
        size_t first = random_size(&random, i % 40 == 0 ? 3 << 20 : 3000);
        size_t second = random_size(&random, 2 * first + 10);
        void *chunk = i % 3 == 0 ? calloc(1, first) : i % 3 == 1 ? malloc(first) : aligned_alloc(64, first);
        born(first);
        if (i % 4 != 0) {
            chunk = realloc(chunk, second);
            died(first);
            born(second);
            first = second;
        }
        if (i % 100 != 0) {
            free(chunk);
            died(first);
        }
    }
    pthread_mutex_unlock(&gate);
    return arg;
}

int main(void)
{
    static char buffer[BUFSIZ];
    pthread_t thread;
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer); /* printf allocates nothing then */
    pthread_mutex_lock(&gate);
    CHECK(pthread_create(&thread, NULL, work, NULL) == 0);
    profalloc_counters_t before = counters(); /* what the loader and the C library took for themselves */
    allocations = before.allocations;
    bytes = before.bytes_allocated;
    frees = before.frees;
    freed_bytes = before.bytes_freed;
    pthread_mutex_unlock(&gate);
    pthread_join(thread, NULL);
    work(NULL);
    printf("allocations %lu %lu\n", (unsigned long)allocations, (unsigned long)bytes);
    printf("frees %lu %lu\n", (unsigned long)frees, (unsigned long)freed_bytes);
    printf("live at exit %lu %lu\n", (unsigned long)(allocations - frees), (unsigned long)(bytes - freed_bytes));
    return 0;
}
