/* Owns the child of `profalloc run`: beginning it, forwarding signals to it, and how it ended. */
#include "cli/run.h"
#include "cli/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

static const int forwarded[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT, SIGWINCH};
enum { FORWARDED = sizeof forwarded / sizeof forwarded[0] };

static volatile pid_t child;

/* What the terminal sends goes to the whole group, the child included: only what a process sent us is passed on. */
static void forward(int signal, siginfo_t *info, void *context)
{
    int before = errno;
    (void)context;
    if (child > 0 && info->si_code <= 0) {
        (void)kill(child, signal);
    }
    errno = before;
}

static void forward_signals(struct sigaction *before)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};
    action.sa_sigaction = forward;
    for (int i = 0; i < FORWARDED; i++) {
        (void)sigaction(forwarded[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) {
            (void)sigaction(forwarded[i], &action, NULL);
        }
    }
}

/* In the child: the command, or the reason why not through the pipe. */
static void become(char **command, bool alone, int pipe, const struct sigaction *before, const sigset_t *mask)
{
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    if (alone) {
        (void)setenv("PROFALLOC_LEADER", pid, 1); /* the one process that is recorded */
    } else {
        (void)unsetenv("PROFALLOC_LEADER");
    }
    for (int i = 0; i < FORWARDED; i++) {
        (void)sigaction(forwarded[i], &before[i], NULL);
    }
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(command[0], command);
    int error = errno;
    (void)!write(pipe, &error, sizeof error);
    _exit(PFA_RUN_NOT_FOUND);
}

static int tell_failure(const char *program, int error)
{
    bool found = error != ENOENT && error != ENOTDIR;
    if (!found && strchr(program, '/') == NULL) {
        pfa_tool_say("run", "%s: there is no such command in PATH", program);
    } else {
        pfa_tool_say("run", "cannot execute %s: %s", program, strerror(error));
    }
    return found ? PFA_RUN_NOT_EXECUTABLE : PFA_RUN_NOT_FOUND;
}

/* Waits for the command, and looks after what it leaves every second; without pidfd_open, of kernels before 5.3, only waits. */
static void wait_for_end(pid_t forked, void (*tend)(void *to), void *to)
{
    enum { SECOND_MS = 1000 };
    struct pollfd end = {.fd = pidfd_open(forked, 0), .events = POLLIN};
    int got = end.fd >= 0 ? 0 : -1;
    while (got == 0 || (got < 0 && end.fd >= 0 && errno == EINTR)) {
        got = poll(&end, 1, SECOND_MS);
        if (got == 0) {
            tend(to);
        }
    }
    if (end.fd >= 0) {
        close(end.fd);
    }
}

int pfa_run_child(char **command, bool alone, void (*tend)(void *to), void *to, pid_t *pid)
{
    struct sigaction before[FORWARDED];
    sigset_t all;
    sigset_t mask;
    int pipes[2];
    int error = 0;
    int status = 0;
    if (pipe2(pipes, O_CLOEXEC) != 0) {
        pfa_tool_say("run", "cannot begin %s: %s", command[0], strerror(errno));
        return PFA_RUN_NOT_EXECUTABLE;
    }
    /* No signal between fork and the moment when the handler knows the child. */
    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &mask);
    forward_signals(before);
    pid_t forked = fork();
    if (forked == 0) {
        become(command, alone, pipes[1], before, &mask);
    }
    int fork_error = errno;
    child = forked;
    (void)sigprocmask(SIG_SETMASK, &mask, NULL);
    close(pipes[1]);
    if (forked < 0) {
        close(pipes[0]);
        return tell_failure(command[0], fork_error);
    }
    ssize_t got;
    while ((got = read(pipes[0], &error, sizeof error)) < 0 && errno == EINTR) {
    }
    close(pipes[0]);
    wait_for_end(forked, tend, to);
    while (waitpid(forked, &status, 0) < 0 && errno == EINTR) {
    }
    child = 0;
    if (got == (ssize_t)sizeof error) {
        return tell_failure(command[0], error);
    }
    *pid = forked;
    return WIFSIGNALED(status) ? PFA_RUN_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}
