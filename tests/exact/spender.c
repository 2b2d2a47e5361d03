/* Spends time in malloc and free and measures it itself, around every call, with the counter that the library uses. Prints a
 * line with its process number and the seconds: the oracle of tests/exact/spent.py.
 *
 *     spender alone|threads|fork|killed|waits|sizes|apart
 *
 * What takes longer than the library would believe is cut here too. */
#include "../../base/clock.h"
#include "../../export/format/times.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAIRS = 1500000, WINDOW = 64, PAIRS_APART = 200000 };

typedef struct work {
    int pairs;
    int apart;  /* rounds of something else after each pair */
    int spread; /* of sizes */
    double ticks;
} work_t;

static double cost;

static double least_pair(void)
{
    double least = 1e9;
    for (int batch = 0; batch < 50; batch++) {
        uint64_t sum = 0;
        for (int i = 0; i < 100; i++) {
            uint64_t began = pfa_counter_before();
            sum += pfa_counter_after() - began;
        }
        least = (double)sum / 100 < least ? (double)sum / 100 : least;
    }
    return least;
}

static double cut(uint64_t ticks)
{
    uint64_t most = PFA_TIMES_MOMENTS * pfa_counter_moment();
    return (double)(ticks < most ? ticks : most) - cost;
}

static void *do_work(void *argument)
{
    work_t *work = argument;
    void *window[WINDOW] = {NULL};
    volatile int other = 0;
    for (int i = 0; i < work->pairs; i++) {
        void **slot = &window[i * 7 % WINDOW];
        size_t size = 32 + (size_t)(i * 13 % work->spread);
        if (*slot != NULL) {
            uint64_t began = pfa_counter_before();
            free(*slot);
            work->ticks += cut(pfa_counter_after() - began);
        }
        uint64_t began = pfa_counter_before();
        *slot = malloc(size);
        work->ticks += cut(pfa_counter_after() - began);
        for (int j = 0; j < work->apart; j++) {
            other++;
        }
    }
    for (int i = 0; i < WINDOW; i++) {
        free(window[i]);
    }
    return NULL;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void say(double ticks, double began, uint64_t counter)
{
    char line[100];
    double seconds_per_tick = (now() - began) / (double)(pfa_counter() - counter);
    int length = snprintf(line, sizeof line, "%d %.9f\n", (int)getpid(), ticks * seconds_per_tick);
    if (write(1, line, (size_t)length) != length) {
        _exit(9);
    }
}

static double work_in_threads(work_t work)
{
    pthread_t threads[2];
    work_t works[2] = {work, work};
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&threads[i], NULL, do_work, &works[i]) != 0) {
            exit(9);
        }
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    return works[0].ticks + works[1].ticks;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "alone";
    work_t work = {.pairs = PAIRS, .apart = 30, .spread = 1};
    double began = now();
    uint64_t counter = pfa_counter();
    cost = least_pair();
    work.spread = strcmp(mode, "sizes") == 0 ? 4000 : 1;
    if (strcmp(mode, "apart") == 0) { /* so far apart that every call reads the clock */
        work.apart = 3000;
        work.pairs = PAIRS_APART;
    }
    if (strcmp(mode, "threads") == 0) {
        work.ticks = work_in_threads(work);
    } else {
        do_work(&work);
    }
    say(work.ticks, began, counter);
    if (strcmp(mode, "killed") == 0) {
        raise(SIGKILL);
    }
    if (strcmp(mode, "waits") == 0) {
        pause();
    }
    if (strcmp(mode, "fork") == 0) {
        pid_t child = fork();
        if (child == 0) { /* twice as much: not to be taken for the parent's */
            work.ticks = 0;
            work.pairs = 2 * PAIRS;
            do_work(&work);
            say(work.ticks, began, counter);
        } else {
            int status;
            return waitpid(child, &status, 0) == child && status == 0 ? 0 : 9;
        }
    }
    return 0;
}
