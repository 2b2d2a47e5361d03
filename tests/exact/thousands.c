/* Thousands of threads that are all there at once:
 *     thousands KIND THREADS STEPS
 * own: each allocates and frees STEPS chunks, one after another. kept: each allocates STEPS chunks and frees them when
 * all threads have theirs. given: each frees STEPS chunks that the main thread has allocated, and nothing
 * else. All of them begin when the last is there, and end when the last is done. */
#define _GNU_SOURCE 1
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STACK = 64 * 1024, CHUNK = 40 };

static pthread_barrier_t all_there;
static pthread_barrier_t all_have; /* the threads of kept */
static pthread_barrier_t all_done;
static unsigned long steps;

__attribute__((noinline)) void *thousands_get(size_t size)
{
    void *chunk = malloc(size);
    if (chunk == NULL) {
        abort();
    }
    memset(chunk, 1, size);
    return chunk;
}

static void *own(void *arg)
{
    pthread_barrier_wait(&all_there);
    for (unsigned long i = 0; i < steps; i++) {
        free(thousands_get(CHUNK));
    }
    pthread_barrier_wait(&all_done);
    return arg;
}

static void *kept(void *arg)
{
    void **chunks = arg;
    pthread_barrier_wait(&all_there);
    for (unsigned long i = 0; i < steps; i++) {
        chunks[i] = thousands_get(CHUNK);
    }
    pthread_barrier_wait(&all_have);
    for (unsigned long i = 0; i < steps; i++) {
        free(chunks[i]);
    }
    pthread_barrier_wait(&all_done);
    return arg;
}

static void *given(void *arg)
{
    void **chunks = arg;
    pthread_barrier_wait(&all_there);
    for (unsigned long i = 0; i < steps; i++) {
        free(chunks[i]);
    }
    pthread_barrier_wait(&all_done);
    return arg;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        return 99;
    }
    unsigned count = (unsigned)atoi(argv[2]);
    steps = strtoul(argv[3], NULL, 10);
    int is_given = strcmp(argv[1], "given") == 0;
    void *(*work)(void *) = is_given ? given : strcmp(argv[1], "kept") == 0 ? kept : own;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK > PTHREAD_STACK_MIN ? STACK : (size_t)PTHREAD_STACK_MIN);
    pthread_barrier_init(&all_there, NULL, count + 1);
    pthread_barrier_init(&all_have, NULL, count);
    pthread_barrier_init(&all_done, NULL, count + 1);
    pthread_t *threads = calloc(count, sizeof *threads);
    void ***chunks = calloc(count, sizeof *chunks);
    for (unsigned i = 0; i < count; i++) {
        chunks[i] = calloc(steps, sizeof **chunks);
        for (unsigned long n = 0; is_given && n < steps; n++) {
            chunks[i][n] = thousands_get(CHUNK);
        }
        int err = pthread_create(&threads[i], &attributes, work, chunks[i]);
        if (err != 0) {
            printf("thread %u of %u cannot be made: %s\n", i, count, strerror(err));
            return 98;
        }
    }
    pthread_barrier_wait(&all_there);
    pthread_barrier_wait(&all_done);
    for (unsigned i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        free(chunks[i]);
    }
    free(chunks);
    free(threads);
    return 0;
}
