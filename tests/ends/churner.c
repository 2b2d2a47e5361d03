/* A program that churns chunks in threads and ends in the way it is told:
 *     churner NOTES THREADS STEPS HOW [PROGRAM [ARGUMENT...]]
 * Each thread makes STEPS steps and the program then ends, HOW; with 0 STEPS, the threads are in the middle of theirs. The
 * file NOTES.ready is made when all have begun. */
#define _GNU_SOURCE 1
#include "../exact/noted.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static unsigned long steps;
static _Atomic unsigned begun;

static void *churn(void *number)
{
    noted_churn_t mine = {.random = 0x9e3779b97f4a7c15u * ((uintptr_t)number + 1)};
    for (unsigned long i = 0; steps == 0 || i < steps; i++) {
        noted_step(&mine);
        if (i == 1000) {
            begun++;
        }
    }
    return NULL;
}

static void say_ready(const char *notes)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.ready", notes);
    close(open(name, O_WRONLY | O_CREAT, 0600));
}

static int end(const char *how, char **command)
{
    if (strcmp(how, "exit") == 0) {
        exit(3);
    } else if (strcmp(how, "_exit") == 0) {
        _exit(4);
    } else if (strcmp(how, "quick_exit") == 0) {
        quick_exit(5);
    } else if (strcmp(how, "abort") == 0) {
        abort();
    } else if (strcmp(how, "segv") == 0) {
        static volatile int *volatile nowhere;
        *nowhere = 1;
    } else if (strcmp(how, "term") == 0) {
        raise(SIGTERM);
    } else if (strcmp(how, "exec") == 0) {
        execvp(command[0], command);
    } else if (strcmp(how, "thread_exit") == 0) {
        pthread_exit(NULL);
    } else if (strcmp(how, "wait") == 0) {
        for (;;) {
            pause();
        }
    }
    return strcmp(how, "return") == 0 ? 0 : 99;
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        return 99;
    }
    unsigned threads = (unsigned)atoi(argv[2]);
    pthread_t thread[64];
    noted_open(argv[1]);
    steps = strtoul(argv[3], NULL, 10);
    for (unsigned i = 0; i < threads; i++) {
        pthread_create(&thread[i], NULL, churn, (void *)(uintptr_t)i);
    }
    void *kept = noted_small(100);
    kept = noted_grow(kept, 1000);
    kept = noted_grow(kept, 500000);
    while (steps == 0 && begun < threads) {
        usleep(1000);
    }
    /* The main thread that ends leaves the others at it; so does whatever ends the process. */
    for (unsigned i = 0; steps != 0 && strcmp(argv[4], "thread_exit") != 0 && i < threads; i++) {
        pthread_join(thread[i], NULL);
    }
    (void)noted_small(77);
    say_ready(argv[1]);
    return end(argv[4], argv + 5);
}
