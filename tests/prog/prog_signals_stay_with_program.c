/* The background thread takes no signal: one that all of the program's threads block stays pending. */
#include "trap.h"

#include <signal.h>

static void unwanted(int number)
{
    (void)number;
    CHECK(false, "a thread of the library ran the program's handler");
}

int main(void)
{
    sigset_t blocked;
    sigset_t pending;
    for (int i = 0; i < 500; i++) {
        void *chunk = malloc(200000);
        fill(chunk, 10, 1);
        free(chunk);
    }
    usleep(10000);
    CHECK(status_figure("Threads") <= 2);
    signal(SIGUSR1, unwanted);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    kill(getpid(), SIGUSR1);
    usleep(10000);
    CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGUSR1) == 1);
    return 0;
}
