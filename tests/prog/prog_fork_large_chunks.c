/* Large chunks retired in the parent are reclaimed by a thread that the child does not have: parent and children each
 * go on freeing large chunks, and neither waits for the other's thread nor grows. */
#include "trap.h"

#include <sys/wait.h>

enum { ROUNDS = 20000, SLACK_KIB = 30000 };

static void churn(unsigned seed)
{
    size_t before = status_figure("VmRSS");
    void *window[16] = {NULL};
    for (unsigned i = 0; i < ROUNDS; i++) {
        size_t size = 131073 + 16 * (i % 1000);
        void **slot = &window[i % 16];
        free(*slot);
        *slot = malloc(size);
        fill(*slot, 16, seed + i);
        CHECK(verify(window[(i + 1) % 16], i < 16 ? 0 : 16, seed + i - 15));
    }
    for (int i = 0; i < 16; i++) {
        free(window[i]);
    }
    size_t after = status_figure("VmRSS");
    CHECK(after < before + SLACK_KIB, "resident memory went from %zu to %zu KiB", before, after);
}

int main(void)
{
    churn(1);
    for (int i = 0; i < 6; i++) {
        pid_t child = fork();
        if (child == 0) {
            churn(2);
            exit(0);
        }
        churn(3);
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0, "child ended with %#x", status);
    }
    profalloc_counters_t end = counters();
    CHECK(end.unrecorded == 0 && end.bad_frees == 0);
    return 0;
}
