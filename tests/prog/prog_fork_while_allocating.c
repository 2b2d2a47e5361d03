/* fork while other threads are in the middle of malloc and free: the child has their half-done work and one thread. It
 * must be able to allocate, free what its parent made, make threads of its own, and end the usual way. */
#include "trap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { THREADS = 3, FORKS = 40, KEPT = 300 };

static atomic_bool done;
static void *kept[KEPT];
static _Atomic(void *) exchange[64];

static void *churn(void *arg)
{
    uint64_t random = (uintptr_t)arg;
    while (!done) {
        size_t size = random_size(&random, next_random(&random) % 64 == 0 ? 400000 : 3000);
        void *chunk = malloc(size);
        memset(chunk, 0x77, size < 4096 ? size : 4096);
        free(atomic_exchange(&exchange[next_random(&random) % 64], chunk)); /* mostly another thread's */
    }
    return NULL;
}

static void *in_thread(void *arg)
{
    for (size_t size = 1; size < 400000; size = size * 3 + 1) {
        void *chunk = calloc(1, size);
        CHECK(is_zero(chunk, size));
        free(chunk);
    }
    free(arg);
    return NULL;
}

static void live_as_child(int number)
{
    pthread_t thread;
    for (unsigned i = 0; i < KEPT; i++) {
        CHECK(verify(kept[i], 50 + 40 * i, i), "in child %d", number);
        kept[i] = i % 3 == 0 ? realloc(kept[i], 100 + 80 * i) : kept[i];
        free(kept[i]);
    }
    for (int i = 0; i < 64; i++) {
        free(atomic_exchange(&exchange[i], NULL));
    }
    in_thread(NULL);
    if (number % 3 == 0) {
        CHECK(pthread_create(&thread, NULL, in_thread, malloc(100)) == 0);
        pthread_join(thread, NULL);
    }
    for (int i = 0; number % 5 == 0 && i < 200; i++) { /* enough to want the background thread */
        free(malloc(150000 + (size_t)i));
    }
    if (number % 2 == 0) {
        exit(0);
    }
    _exit(0);
}

int main(void)
{
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < KEPT; i++) {
        kept[i] = malloc(50 + 40 * i);
        fill(kept[i], 50 + 40 * i, i);
    }
    for (uintptr_t i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, churn, (void *)(i * 7919 + 1)) == 0);
    }
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            live_as_child(i);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0, "child %d ended with %#x", i, status);
        CHECK(verify(kept[i], 50 + 40 * (size_t)i, (unsigned)i));
    }
    done = true;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
