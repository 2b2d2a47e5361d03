/* Everything that runs at the end allocates and frees: atexit, on_exit, destructors, while a thread is still at work.
 *
 * run:
 * run: arg=quick */
#include "trap.h"

#include <pthread.h>

static void *held[4];

static void *churn(void *arg)
{
    for (;;) {
        free(malloc(200));
        free(malloc(200000));
    }
    return arg;
}

static void check(int number)
{
    CHECK(verify(held[number], 100000, (unsigned)number), "%d", number);
    held[number] = realloc(held[number], 300000);
    CHECK(verify(held[number], 100000, (unsigned)number), "%d", number);
    free(held[number]);
    void *zeros = calloc(100, 100);
    CHECK(is_zero(zeros, 10000));
    free(zeros);
}

static void at_exit(void)
{
    check(0);
}

static void on_exit_handler(int status, void *number)
{
    CHECK(status == 0);
    check((int)(intptr_t)number);
}

static void at_quick_exit_handler(void)
{
    check(2);
}

__attribute__((destructor)) static void destructor(void)
{
    check(3);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    for (unsigned i = 0; i < 4; i++) {
        held[i] = malloc(100000);
        fill(held[i], 100000, i);
    }
    atexit(at_exit);
    on_exit(on_exit_handler, (void *)1);
    at_quick_exit(at_quick_exit_handler);
    CHECK(pthread_create(&thread, NULL, churn, NULL) == 0);
    CHECK(pthread_create(&thread, NULL, churn, NULL) == 0);
    if (argc > 1 && strcmp(argv[1], "quick") == 0) {
        quick_exit(0);
    }
    return 0;
}
