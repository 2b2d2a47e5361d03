/* A signal handler that allocates while its thread ends: whatever our destructor has done of its work by then, the thread goes on,
 * and so do the destructors that come after it and allocate. The thread is stopped in a destructor of the program's, behind ours,
 * and a signal comes after each seventh instruction from there on: the next are those of our destructor in the second round.
 *
 * run: modes=full */
#include "trap.h"

#include <pthread.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

enum { STEPS_MAX = 2500, STRIDE = 7, ROUNDS = 3 };

static pthread_key_t key;
static volatile sig_atomic_t handled;
static volatile int rounds; /* of destructors so far */

static void *volatile kept[ROUNDS + 1]; /* recorded: one for the handler, and for each round of destructors */

static void allocate(int signal)
{
    (void)signal;
    free(kept[ROUNDS]);
    void *chunk = malloc(60);
    fill(chunk, 60, 1);
    free(chunk);
    handled = handled + 1;
}

static void destroy(void *arg)
{
    free(kept[rounds]);
    void *chunk = malloc(100);
    fill(chunk, 100, 2);
    CHECK(verify(chunk, 100, 2));
    free(chunk);
    rounds = rounds + 1;
    if (rounds == 1) {
        CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
        raise(SIGSTOP);
    }
    if (rounds < ROUNDS) {
        pthread_setspecific(key, arg);
    }
}

static void *be_born(void *arg)
{
    void *chunk = malloc(50);
    fill(chunk, 50, 3);
    for (int i = 0; i <= ROUNDS; i++) {
        kept[i] = malloc(70);
    }
    pthread_setspecific(key, arg);
    return chunk;
}

static void live(void)
{
    struct sigaction action = {.sa_handler = allocate};
    pthread_t thread;
    void *chunk;
    alarm(590);
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && pthread_key_create(&key, destroy) == 0);
    CHECK(pthread_create(&thread, NULL, be_born, &key) == 0 && pthread_join(thread, &chunk) == 0);
    CHECK(rounds == ROUNDS && verify(chunk, 50, 3));
    free(chunk);
    exit(handled == 1 ? 0 : 2);
}

/* The status of the process; the thread comes first. */
static int end_of(pid_t process, pid_t thread)
{
    int status = 0;
    for (pid_t seen = 0; seen != process;) {
        seen = waitpid(-1, &status, __WALL);
        CHECK(seen == process || seen == thread);
        if (seen == thread && WIFSTOPPED(status)) {
            int signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
            CHECK(ptrace(PTRACE_CONT, thread, NULL, (long)signal) == 0);
        }
    }
    return status;
}

/* True if the thread was still there after so many steps. */
static bool interrupt_after(int steps)
{
    int status;
    pid_t process = fork();
    CHECK(process >= 0);
    if (process == 0) {
        live();
    }
    pid_t thread = waitpid(-1, &status, __WALL);
    CHECK(thread > 0 && thread != process && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP, "%d %#x", thread,
          (unsigned)status);
    for (int i = 0; i < steps; i++) {
        CHECK(ptrace(PTRACE_SINGLESTEP, thread, NULL, NULL) == 0);
        CHECK(waitpid(thread, &status, __WALL) == thread);
        if (!WIFSTOPPED(status)) {
            CHECK(end_of(process, thread) >> 8 == 2); /* no signal came */
            return false;
        }
    }
    CHECK(ptrace(PTRACE_CONT, thread, NULL, (long)SIGUSR1) == 0);
    status = end_of(process, thread);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
        return false; /* the C library holds back all signals by then */
    }
    CHECK(status == 0, "after %d instructions: %#x", steps, (unsigned)status);
    return true;
}

int main(void)
{
    int steps = 1;
    while (steps < STEPS_MAX && interrupt_after(steps)) {
        steps += STRIDE;
    }
    CHECK(steps > 300, "%d", steps);
    return 0;
}
