/* fork in a static program while other threads allocate. */
#define TRAP_LINKED 1
#include "trap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

static atomic_bool done;

static void *churn(void *arg)
{
    uint64_t random = (uintptr_t)arg;
    while (!done) {
        free(malloc(random_size(&random, 300000)));
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    CHECK(pthread_create(&threads[0], NULL, churn, (void *)1) == 0);
    CHECK(pthread_create(&threads[1], NULL, churn, (void *)2) == 0);
    for (unsigned i = 0; i < 30; i++) {
        void *chunk = malloc(100 * i);
        int status;
        fill(chunk, 100 * i, i);
        pid_t child = fork();
        if (child == 0) {
            pthread_t thread;
            CHECK(verify(chunk, 100 * i, i));
            free(chunk);
            done = true;
            CHECK(pthread_create(&thread, NULL, churn, (void *)3) == 0);
            pthread_join(thread, NULL);
            free(calloc(1, 400000));
            exit(0);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0, "child %u ended with %#x", i, status);
        free(chunk);
    }
    done = true;
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    CHECK(counters().bad_frees == 0);
    return 0;
}
