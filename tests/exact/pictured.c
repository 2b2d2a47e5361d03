/* Pictures of many live chunks, while threads go on:
 *     pictured CHUNKS PICTURES
 * Two threads allocate and free all the time; each picture is taken while they do. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 2 };

static atomic_bool over;
static pthread_barrier_t begun;

/* Not by a jump: they are to be in the call stacks. */
__attribute__((noinline)) void *pictured_kept(void)
{
    void *chunk = malloc(24);
    __asm__ volatile("" : "+r"(chunk));
    return chunk;
}

__attribute__((noinline)) void *pictured_brief(void)
{
    void *chunk = malloc(32);
    __asm__ volatile("" : "+r"(chunk));
    return chunk;
}

static void *churn(void *arg)
{
    free(pictured_brief());
    pthread_barrier_wait(&begun);
    while (!atomic_load_explicit(&over, memory_order_relaxed)) {
        char *chunk = pictured_brief();
        memset(chunk, 1, 32);
        free(chunk);
    }
    return arg;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        return 99;
    }
    size_t count = strtoul(argv[1], NULL, 10);
    int pictures = atoi(argv[2]);
    int (*snapshot)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "profalloc_snapshot");
    void **chunks = calloc(count, sizeof *chunks);
    pthread_t threads[THREADS];
    if (snapshot == NULL || chunks == NULL) {
        return 98;
    }
    for (size_t i = 0; i < count; i++) {
        chunks[i] = pictured_kept();
    }
    pthread_barrier_init(&begun, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, churn, NULL) != 0) {
            return 97;
        }
    }
    pthread_barrier_wait(&begun);
    for (int i = 0; i < pictures; i++) {
        if (snapshot("many") != 0) {
            return 96;
        }
    }
    atomic_store(&over, 1);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
