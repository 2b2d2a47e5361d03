/* No thread can be made, so the program's own reclaims the records of large chunks: all of them are recorded.
 *
 * run: modes=off,sampled,full user=nobody limit=NPROC:0 */
#include "trap.h"

#include <pthread.h>

static void *never(void *arg)
{
    return arg;
}

int main(void)
{
    pthread_t thread;
    enum { ROUNDS = 600000 };
    void *window[8] = {NULL};
    CHECK(pthread_create(&thread, NULL, never, NULL) == EAGAIN, "the limit does not hold");
    profalloc_counters_t before = counters();
    for (unsigned i = 0; i < ROUNDS; i++) {
        void **slot = &window[i % 8];
        CHECK(*slot == NULL || verify(*slot, 64, i - 8));
        free(*slot);
        *slot = malloc(140000);
        fill(*slot, 64, i);
    }
    for (int i = 0; i < 8; i++) {
        free(window[i]);
    }
    profalloc_counters_t after = counters();
    if (mode_is("full")) {
        CHECK(after.allocations - before.allocations + after.unrecorded - before.unrecorded == ROUNDS);
        CHECK(after.live_chunks == before.live_chunks);
    }
    size_t resident = status_figure("VmRSS");
    CHECK(resident < 64 * 1024, "resident memory is %zu KiB", resident);
    return 0;
}
