/* A signal handler that comes into the middle of malloc or free and makes and frees a chunk of the same size: both count, the
 * handler's and the one that it came into. One signal after each number of instructions of a pair of malloc and free; the
 * process counts its calls itself. The handler gives back what it takes, so that mimalloc bears it.
 *
 * run: modes=full
 * run: modes=full conf=out:none */
#include "trap.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

enum { SIZE = 100, WARM = 5000, STEPS_MAX = 20000, LEAST = 200 };

static volatile sig_atomic_t handled;
static volatile sig_atomic_t came_late; /* the pair was over */
static volatile sig_atomic_t in_pair;

static void allocate(int signal)
{
    (void)signal;
    free(opaque(malloc(SIZE)));
    handled = handled + 1;
    came_late = !in_pair;
}

/* Stops before each pair, for the tracer to step into it. Exits with 0 when all calls were counted. */
static void pairs(void)
{
    struct sigaction action = {.sa_handler = allocate};
    unsigned long rounds = 0;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    for (int i = 0; i < WARM; i++) {
        free(opaque(malloc(SIZE)));
    }
    CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
    raise(SIGSTOP);
    profalloc_counters_t before = counters();
    while (!came_late) {
        in_pair = 1;
        raise(SIGTRAP);
        free(opaque(malloc(SIZE)));
        in_pair = 0;
        rounds++;
    }
    profalloc_counters_t after = counters();
    unsigned long calls = rounds + (unsigned long)handled;
    CHECK(handled > LEAST && rounds == (unsigned long)handled, "%lu pairs, %d signals", rounds, (int)handled);
    CHECK(after.allocations - before.allocations == calls, "%lu allocations of %lu",
          (unsigned long)(after.allocations - before.allocations), calls);
    CHECK(after.frees - before.frees == calls, "%lu frees of %lu", (unsigned long)(after.frees - before.frees), calls);
    CHECK(after.bytes_allocated - before.bytes_allocated == calls * SIZE);
    CHECK(after.bytes_freed - before.bytes_freed == calls * SIZE);
    exit(0);
}

static void await(pid_t child, int signal)
{
    int status;
    CHECK(waitpid(child, &status, __WALL) == child);
    if (WIFEXITED(status)) {
        exit(WEXITSTATUS(status));
    }
    CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == signal, "status %#x", (unsigned)status);
}

int main(void)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        pairs();
    }
    await(child, SIGSTOP);
    CHECK(ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_EXITKILL) == 0);
    CHECK(ptrace(PTRACE_CONT, child, NULL, NULL) == 0);
    for (int steps = 0; steps < STEPS_MAX; steps++) {
        await(child, SIGTRAP);
        for (int i = 0; i < steps; i++) {
            CHECK(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0);
            await(child, SIGTRAP);
        }
        CHECK(ptrace(PTRACE_CONT, child, NULL, (long)SIGUSR1) == 0);
    }
    CHECK(false, "the pair did not end");
}
