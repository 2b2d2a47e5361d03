/* exec while recording and with threads running: the new program starts afresh and finds no descriptor
 * of the one before: those of its own trace are high up, two at most. */
#include "trap.h"

#include <fcntl.h>
#include <pthread.h>

static void *churn(void *arg)
{
    for (;;) {
        free(calloc(1, 200000));
        free(malloc(100));
    }
    return arg;
}

static int open_descriptors(void)
{
    int count = 0;
    int high = 0;
    for (int fd = 0; fd < 2000; fd++) {
        int *which = fd < 500 ? &count : &high;
        *which += fcntl(fd, F_GETFD) != -1;
    }
    CHECK(high <= 2, "%d high descriptors", high);
    return count;
}

int main(int argc, char **argv)
{
    int generation = argc > 1 ? atoi(argv[1]) : 0;
    char next[16];
    pthread_t thread;
    CHECK(open_descriptors() == 3, "generation %d", generation);
    void *chunk = malloc(1000);
    fill(chunk, 1000, 1);
    CHECK(counters().bad_frees == 0 && (!mode_is("full") || counters().live_chunks < 100));
    CHECK(pthread_create(&thread, NULL, churn, NULL) == 0);
    CHECK(pthread_create(&thread, NULL, churn, NULL) == 0);
    usleep(5000);
    CHECK(verify(chunk, 1000, 1));
    if (generation == 20) {
        exit(0);
    }
    snprintf(next, sizeof next, "%d", generation + 1);
    execl("/proc/self/exe", argv[0], next, NULL);
    CHECK(false, "exec");
}
