/* On Valgrind's CPU big reservations fail and threads take turns: we fall back to what there is.
 *
 * run: under=valgrind */
#include "trap.h"

#include <pthread.h>
#include <sys/wait.h>

static void *run(void *arg)
{
    for (unsigned i = 0; i < 100; i++) {
        size_t size = 3000 * i;
        void *chunk = realloc(malloc(size / 2), size + 1);
        fill(chunk, size, i);
        CHECK(verify(chunk, size, i));
        free(chunk);
    }
    return arg;
}

int main(void)
{
    pthread_t threads[3];
    int status;
    for (int i = 0; i < 3; i++) {
        CHECK(pthread_create(&threads[i], NULL, run, NULL) == 0);
    }
    run(NULL);
    pid_t child = fork();
    if (child == 0) {
        run(NULL);
        exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
    profalloc_counters_t now = counters();
    CHECK(!mode_is("full") || (now.allocations >= 800 && now.live_chunks < 50 && now.unrecorded == 0));
    return 0;
}
