/* A signal handler forks, wherever it comes: in the middle of malloc, of free, of fork itself. It waits for nothing that its
 * own thread holds. The children end at once, or return from the handler into the middle of malloc and go on.
 *
 * run:
 * run: arg=return */
#include "trap.h"

#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

enum { OBJECTS = 500, SIGNALS = 250, SIZE_MAX_ASKED = 70000 };

static volatile sig_atomic_t received;
static volatile sig_atomic_t trouble;
static bool children_return;

static void fork_here(int signal)
{
    int kept = errno;
    int status;
    (void)signal;
    received++;
    pid_t child = fork();
    if (child == 0 && (!children_return || received % 2 == 0)) {
        _exit(0);
    }
    if (child == 0) {
        struct itimerval none = {{0, 0}, {0, 0}};
        (void)setitimer(ITIMER_REAL, &none, NULL);
        received = SIGNALS; /* the loop below ends, then the process does */
    } else if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        trouble = child < 0 ? 1 : status;
    }
    errno = kept;
}

int main(int argc, char **argv)
{
    static void *objects[OBJECTS];
    struct itimerval often = {{0, 900}, {0, 900}};
    struct sigaction action = {.sa_handler = fork_here, .sa_flags = SA_RESTART};
    uint64_t random = 17;
    (void)argv;
    children_return = argc > 1;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    while (received < SIGNALS) {
        pid_t child = fork();
        CHECK(child >= 0 || received >= SIGNALS);
        if (child == 0) {
            _exit(0);
        }
        (void)waitpid(child, NULL, 0);
        for (int i = 0; i < 20; i++) {
            unsigned slot = (unsigned)next_random(&random) % OBJECTS;
            free(objects[slot]);
            objects[slot] = malloc(random_size(&random, SIZE_MAX_ASKED));
            CHECK(objects[slot] != NULL);
        }
        CHECK(trouble == 0, "a child ended with %#x", (unsigned)trouble);
    }
    struct itimerval none = {{0, 0}, {0, 0}};
    CHECK(setitimer(ITIMER_REAL, &none, NULL) == 0);
    for (int i = 0; i < OBJECTS; i++) {
        free(objects[i]);
    }
    return 0;
}
