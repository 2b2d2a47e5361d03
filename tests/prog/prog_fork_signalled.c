/* Children that get signals as soon as they are there, with a handler that frees a chunk they were born with: made by fork, by
 * _Fork, and by the bare system call. Wherever in the child's first steps the handler comes, the chunk is freed in the child
 * alone: its parent is not told of a double free. */
#include "trap.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { CHILDREN = 300, SIGNALS = 60, CHUNKS = CHILDREN * SIGNALS };

static void *chunks[CHUNKS];
static volatile sig_atomic_t next_chunk;
static volatile sig_atomic_t parent;

static void free_one(int signal)
{
    (void)signal;
    if (getpid() != parent) {
        free(chunks[next_chunk++]);
    }
}

static pid_t make_child(int number)
{
    switch (number % 3) {
    case 0:
        return fork();
    case 1:
        return _Fork();
    default:
        return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    }
}

int main(void)
{
    struct sigaction action = {.sa_handler = free_one, .sa_flags = SA_RESTART};
    parent = getpid();
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    for (int i = 0; i < CHUNKS; i++) {
        chunks[i] = malloc(64);
    }
    for (int number = 0; number < CHILDREN; number++) {
        int status;
        next_chunk = number * SIGNALS;
        pid_t child = make_child(number);
        CHECK(child >= 0);
        if (child == 0) {
            for (volatile int i = 0; i < 30000; i++) {
            }
            _exit(0);
        }
        for (int i = 0; i < SIGNALS; i++) {
            CHECK(kill(child, SIGUSR1) == 0);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0, "child %d ended with %#x", number, status);
    }
    for (int i = 0; i < CHUNKS; i++) {
        free(chunks[i]);
    }
    CHECK(counters().bad_frees == 0);
    return 0;
}
