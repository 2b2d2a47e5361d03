/* The thread that forks becomes the child's only one and its main: all threads of the parent fork, also such that never
 * allocated, and the children fork again, ten generations deep. */
#include "trap.h"

#include <pthread.h>
#include <sys/wait.h>

enum { THREADS = 4, GENERATIONS = 10 };

static void wait_for(pid_t child)
{
    int status;
    CHECK(child > 0);
    CHECK(waitpid(child, &status, 0) == child && status == 0, "ended with %#x", status);
}

static void generation(int left, void *inherited)
{
    CHECK(verify(inherited, 5000, (unsigned)left));
    void *large = malloc(200000);
    fill(large, 200000, 9);
    free(inherited);
    inherited = malloc(5000);
    fill(inherited, 5000, (unsigned)left - 1);
    pid_t child = left == 0 ? -1 : fork();
    if (child == 0) {
        CHECK(verify(large, 200000, 9));
        free(large);
        generation(left - 1, inherited);
        exit(0);
    }
    if (left > 0) {
        wait_for(child);
    }
    CHECK(verify(large, 200000, 9));
    free(large);
    free(inherited);
}

static void *fork_first(void *inherited)
{
    pid_t child = fork();
    if (child == 0) {
        generation(GENERATIONS, inherited);
        exit(0);
    }
    wait_for(child);
    CHECK(verify(inherited, 5000, GENERATIONS));
    free(inherited);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        void *inherited = malloc(5000);
        fill(inherited, 5000, GENERATIONS);
        CHECK(pthread_create(&threads[i], NULL, fork_first, inherited) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
