/* _exit where little is allowed: in a child of vfork, whose memory is its parent's, and in a handler for crashes on an alternate
 * stack that has room for nothing. The status is the program's, and the parent is recorded on.
 *
 * run: modes=off,sampled,often,full */
#include "trap.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void leave(int signum)
{
    (void)signum;
    _exit(9);
}

static _Noreturn void crash(void)
{
    stack_t stack = {.ss_sp = malloc(6000), .ss_size = 6000};
    struct sigaction action = {.sa_handler = leave, .sa_flags = SA_ONSTACK};
    CHECK(sigaltstack(&stack, NULL) == 0 && sigaction(SIGSEGV, &action, NULL) == 0);
    (void)raise(SIGSEGV);
    _exit(1);
}

static void expect(pid_t child, int status)
{
    int found;
    CHECK(waitpid(child, &found, 0) == child);
    CHECK(WIFEXITED(found) && WEXITSTATUS(found) == status);
}

int main(void)
{
    for (unsigned round = 0; round < 5; round++) {
        void *chunk = malloc(1000 + round);
        fill(chunk, 1000 + round, round);
        pid_t child = vfork();
        if (child == 0) {
            _exit(3);
        }
        expect(child, 3);
        CHECK(verify(chunk, 1000 + round, round));
        free(chunk);
        child = fork();
        if (child == 0) {
            free(malloc(2000));
            crash();
        }
        expect(child, 9);
        child = fork();
        if (child == 0) {
            CHECK(malloc(3000) != NULL);
            _Exit(4);
        }
        expect(child, 4);
    }
    return 0;
}
