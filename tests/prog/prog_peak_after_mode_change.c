/* While sampling, a thread holds back more of its live bytes than it may when everything is recorded. What it holds back
 * at the change is made known then, or it would be missing from the peak that another thread causes.
 *
 * run: modes=off */
#include "trap.h"

#include <pthread.h>

enum { PERIOD = 4 << 10, CHUNK = 1 << 10, CHUNKS = 1000, KEPT = 600, SLACK = 64 << 10, BIG = 12 << 20 };

static pthread_barrier_t meeting;

static void meet(void)
{
    (void)pthread_barrier_wait(&meeting);
}

/* About a megabyte, then less, so that the next chunk is no new height for this thread. Asks for no counters, which would
 * make its own known. */
static void *hold_back(void *arg)
{
    static void *chunks[CHUNKS];
    for (int i = 0; i < CHUNKS; i++) {
        chunks[i] = malloc(CHUNK);
        CHECK(chunks[i] != NULL);
    }
    for (int i = KEPT; i < CHUNKS; i++) {
        free(chunks[i]);
    }
    meet();
    meet(); /* everything is recorded from here on */
    void *first = malloc(16);
    CHECK(first != NULL);
    meet();
    meet(); /* the other has looked */
    free(first);
    for (int i = 0; i < KEPT; i++) {
        free(chunks[i]);
    }
    return arg;
}

int main(void)
{
    int (*start)(size_t) = LIBRARY_CALL(profalloc_start);
    pthread_t thread;
    CHECK(pthread_barrier_init(&meeting, NULL, 2) == 0);
    CHECK(start(PERIOD) == 0);
    uint64_t before = counters().live_bytes;
    CHECK(pthread_create(&thread, NULL, hold_back, NULL) == 0);
    meet();
    uint64_t held = counters().live_bytes - before;
    CHECK(held > 4 * SLACK && held < 2 << 20, "%lu", (unsigned long)held);
    CHECK(start(1) == 0);
    meet();
    meet();
    void *big = malloc(BIG);
    CHECK(big != NULL);
    profalloc_counters_t now = counters();
    CHECK(now.live_bytes >= BIG + held);
    CHECK(now.peak_bytes + 2 * SLACK >= now.live_bytes, "peak %lu, live %lu", (unsigned long)now.peak_bytes,
          (unsigned long)now.live_bytes);
    meet();
    CHECK(pthread_join(thread, NULL) == 0);
    free(big);
    return 0;
}
