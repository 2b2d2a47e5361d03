/* A child of vfork is another process in our memory: it allocates and frees as its parent would, but makes no thread, which
 * would be its own, end with it, and leave the parent without. */
#include "trap.h"

#include <sys/stat.h>
#include <sys/wait.h>

/* The threads of the calling process. */
static unsigned long threads(void)
{
    struct stat task;
    CHECK(stat("/proc/self/task", &task) == 0);
    return task.st_nlink - 2;
}

static void churn(void)
{
    for (int i = 0; i < 100000; i++) { /* enough to want the background thread */
        free(malloc(100));
        if (i % 50 == 0) {
            free(malloc(200000));
        }
    }
}

static __attribute__((noinline)) void live_as_child(void)
{
    pid_t child = vfork();
    int status;
    if (child == 0) {
        churn();
        _exit(threads() == 1 ? 0 : 7);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0, "ended with %#x", status);
}

int main(void)
{
    for (int i = 0; i < 3; i++) {
        live_as_child();
    }
    churn();
    CHECK(threads() <= 2);
    return 0;
}
