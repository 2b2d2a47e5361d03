/* No thread can be made, so nobody reclaims records of large chunks: they are recorded until that costs too much, which
 * is said once; the program goes on.
 *
 * run: modes=off,sampled user=nobody limit=NPROC:0
 * run: modes=full user=nobody limit=NPROC:0 says="too many freed large chunks .*" */
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
