/* Threads that allocate and free in all the ways threads can:
 *     threads NOTES KIND THREADS STEPS
 * churn: each for itself, as fast as it can. cross: what one allocates, another frees. brief: STEPS threads one after another,
 * THREADS at a time, that leave chunks to the main thread. */
#define _GNU_SOURCE 1
#include "noted.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { BOXES = 1024 };
static _Atomic(void *) boxes[BOXES];
static unsigned long steps;

static void *churn(void *number)
{
    noted_churn_t mine = {.random = 0x9e3779b97f4a7c15u * ((uintptr_t)number + 1)};
    for (unsigned long i = 0; i < steps; i++) {
        noted_step(&mine);
    }
    return NULL;
}

/* Puts a chunk into a box that all share, and frees what was in it, whoever put it there. */
static void *cross(void *number)
{
    noted_churn_t mine = {.random = 0x9e3779b97f4a7c15u * ((uintptr_t)number + 1)};
    for (unsigned long i = 0; i < steps; i++) {
        uint64_t dice = noted_random(&mine);
        void *chunk = dice >> 54 == 0 ? noted_large(NOTED_LARGE_SIZE + dice % 1000) : noted_small(16 + dice % 500);
        void *other = atomic_exchange(&boxes[(dice >> 20) % BOXES], chunk);
        if (other != NULL && (dice >> 32) % 8 == 0) {
            other = noted_grow(other, 600 + dice % 100);
        }
        if (other != NULL) {
            noted_free(other);
        }
    }
    return NULL;
}

static void *brief(void *number)
{
    void *chunk = noted_small(100 + (uintptr_t)number % 100);
    noted_free(noted_grow(noted_small(50), 5000));
    return chunk;
}

static void run_threads(void *(*work)(void *), unsigned threads)
{
    pthread_t thread[64];
    for (unsigned i = 0; i < threads; i++) {
        if (pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)i) != 0) {
            _exit(98);
        }
    }
    for (unsigned i = 0; i < threads; i++) {
        void *left;
        pthread_join(thread[i], &left);
        if (left != NULL && i % 2 == 0) {
            noted_free(left);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        return 99;
    }
    unsigned threads = (unsigned)atoi(argv[3]);
    steps = strtoul(argv[4], NULL, 10);
    noted_open(argv[1]);
    if (strcmp(argv[2], "brief") == 0) {
        for (unsigned long done = 0; done < steps; done += threads) {
            run_threads(brief, threads);
        }
    } else {
        run_threads(strcmp(argv[2], "cross") == 0 ? cross : churn, threads);
    }
    for (unsigned i = 0; i < BOXES; i += 2) {
        if (boxes[i] != NULL) {
            noted_free(boxes[i]);
        }
    }
    return 0;
}
