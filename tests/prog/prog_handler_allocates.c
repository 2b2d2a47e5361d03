/* A signal handler that comes into the middle of malloc or free and allocates itself, which no malloc promises to bear; but
 * with everything recorded it must not hang. What is tried: a signal after each number of instructions of a pair of malloc
 * and free; and one at each system call that is not for memory, of a process that makes its trace and fills its ring. (In
 * the calls for memory mimalloc has a span in its hands.) The handler gives back what it takes, the last first.
 *
 * run: modes=full conf=buffers:1M */
#include "trap.h"

#include <elf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

enum { STEPS = 700, CALLS_MAX = 400, ROUNDS = 9000 };

static volatile sig_atomic_t handled;
static void *volatile of_before;

static void allocate(int signal)
{
    (void)signal;
    void *small = malloc(60);
    void *large = malloc(200000);
    fill(small, 60, 1);
    free(of_before);
    of_before = NULL;
    free(large);
    free(small);
    handled = handled + 1;
}

static void be_traced(void)
{
    struct sigaction action = {.sa_handler = allocate};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    of_before = malloc(77);
    CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
    raise(SIGSTOP);
}

/* A pair that is stepped through, the same again and again. */
static void pairs(void)
{
    for (int i = 0; i < 3000; i++) {
        free(malloc(100));
    }
    be_traced();
    void *chunk = malloc(100);
    fill(chunk, 100, 2);
    free(chunk);
    chunk = malloc(60);
    CHECK(handled == 1 && chunk != NULL);
    free(chunk);
    _exit(0);
}

static void fill_ring(void)
{
    be_traced();
    for (int i = 0; i < ROUNDS; i++) {
        free(malloc(i % 500 == 0 ? 150000 : 40 + (size_t)i % 60));
    }
    exit(0);
}

static pid_t start(void (*what)(void))
{
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        what();
    }
    CHECK(waitpid(child, &status, __WALL) == child && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
    CHECK(ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) == 0);
    return child;
}

/* Lets it go on to its end; how that was. */
static int finish(pid_t child, int signal)
{
    int status;
    CHECK(ptrace(PTRACE_CONT, child, NULL, (long)signal) == 0);
    for (;;) {
        CHECK(waitpid(child, &status, __WALL) == child);
        if (!WIFSTOPPED(status)) {
            return status;
        }
        signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
        CHECK(ptrace(PTRACE_CONT, child, NULL, (long)signal) == 0);
    }
}

static void interrupt_after(int steps)
{
    int status;
    pid_t child = start(pairs);
    for (int i = 0; i < steps; i++) {
        CHECK(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0);
        CHECK(waitpid(child, &status, __WALL) == child && WIFSTOPPED(status));
    }
    status = finish(child, SIGUSR1);
    CHECK(status == 0, "after %d instructions: %#x", steps, (unsigned)status);
}

/* The number of the call that a process is about to make. */
static long call_of(pid_t child)
{
    struct user_regs_struct registers;
    struct iovec all = {&registers, sizeof registers};
    CHECK(ptrace(PTRACE_GETREGSET, child, (void *)NT_PRSTATUS, &all) == 0);
#if defined(__x86_64__)
    return (long)registers.orig_rax;
#else
    return (long)registers.regs[8];
#endif
}

static bool is_for_memory(long call)
{
    return call == SYS_mmap || call == SYS_munmap || call == SYS_mprotect || call == SYS_madvise || call == SYS_brk;
}

/* At the n-th call. False if there are fewer. */
static bool interrupt_at(int n)
{
    int status;
    int seen = 0;
    pid_t child = start(fill_ring);
    for (bool entering = true;; entering = !entering) {
        CHECK(ptrace(PTRACE_SYSCALL, child, NULL, NULL) == 0);
        CHECK(waitpid(child, &status, __WALL) == child);
        if (WIFEXITED(status)) {
            CHECK(WEXITSTATUS(status) == 0);
            return false;
        }
        CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == (SIGTRAP | 0x80), "status %#x", (unsigned)status);
        if (entering && !is_for_memory(call_of(child)) && seen++ == n) {
            break;
        }
    }
    long call = call_of(child);
    status = finish(child, SIGUSR1);
    CHECK(status == 0, "at call %d, of number %ld: %#x", n, call, (unsigned)status);
    return true;
}

int main(void)
{
    int calls = 0;
    for (int steps = 1; steps < STEPS; steps += 3) {
        interrupt_after(steps);
    }
    while (calls < CALLS_MAX && interrupt_at(calls)) {
        calls++;
    }
    CHECK(calls > 20, "%d calls", calls);
    return 0;
}
