/* With recording off there is no thread of ours, whatever the program does: some calls refuse a process that has two.
 *
 * run: modes=off */
#include "trap.h"

#include <sched.h>

int main(void)
{
    for (int i = 0; i < 2000; i++) {
        void *chunk = malloc(200000 + 100 * (size_t)i);
        fill(chunk, 1000, 1);
        free(chunk);
    }
    CHECK(status_figure("Threads") == 1);
    CHECK(unshare(CLONE_VM | CLONE_SIGHAND | CLONE_THREAD) == 0, "the kernel sees a second thread");
    return 0;
}
