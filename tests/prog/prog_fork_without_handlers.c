/* Children that no fork handler hears of: made by _Fork, and by the bare system call. They have memory of their own, and what
 * they free and allocate there is nothing to their parent: its chunks are alive all the same, and it is not told of
 * double frees that were its children's frees. */
#include "trap.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { CHUNKS = 400, CHILDREN = 12 };

static void *chunks[CHUNKS];

static size_t size_of(unsigned i)
{
    return i % 20 == 0 ? 150000 + 100 * i : 16 + 37 * i;
}

static void allocate_all(void)
{
    for (unsigned i = 0; i < CHUNKS; i++) {
        chunks[i] = malloc(size_of(i));
        fill(chunks[i], size_of(i), i);
    }
}

static void live_as_child(int number)
{
    if (number % 4 == 1) { /* its first call of us is another one */
        chunks[7] = realloc(chunks[7], size_of(7) + 8);
        chunks[20] = realloc(chunks[20], size_of(20) + 8);
    } else if (number % 4 == 2) {
        fill(malloc(100), 100, 1);
    } else if (number % 4 == 3) {
        free(malloc(300000));
    }
    for (unsigned i = 0; i < CHUNKS; i++) {
        CHECK(verify(chunks[i], size_of(i), i), "in child %d", number);
        free(chunks[i]);
    }
    allocate_all();
    for (unsigned i = 0; i < CHUNKS; i += 2) {
        free(chunks[i]);
    }
    if (number % 3 == 0) {
        exit(0);
    }
    _exit(0);
}

int main(void)
{
    allocate_all();
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        pid_t child = i % 2 == 0 ? _Fork() : (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
        CHECK(child >= 0);
        if (child == 0) {
            live_as_child(i);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0, "child %d ended with %#x", i, status);
        for (unsigned at = 0; at < CHUNKS; at++) {
            CHECK(verify(chunks[at], size_of(at), at));
            free(chunks[at]);
        }
        allocate_all();
    }
    profalloc_counters_t end = counters();
    CHECK(end.bad_frees == 0);
    return 0;
}
