/* Once a mode change has returned, the next allocation of every thread follows it, also of one that was just then setting
 * its countdown for the mode before, or had a long way to go by it.
 *
 * run: modes=off */
#include "trap.h"

#include <pthread.h>
#include <stdatomic.h>

enum { ROUNDS = 2000, OFTEN = 64, SELDOM = 1 << 20 };

/* Where taking bytes off the countdown is not one instruction, a thread that is put to sleep in the middle of it misses the
 * change, until it is reminded (meta/thread.h). It is one on x86-64, if the compiler optimises enough. */
#if defined(__x86_64__) && defined(PFA_AS_SHIPPED)
enum { MAY_MISS = 0 };
#else
enum { MAY_MISS = ROUNDS / 5 };
#endif
static int missed;

static atomic_int changed; /* the round whose mode is in force */
static atomic_int checked; /* the round that the thread has seen and checked */

/* In samples a chunk of 16 bytes would count for 5 at least, or for nothing. */
static void *allocate(void *arg)
{
    for (int round = 1; round <= ROUNDS; round++) {
        while (atomic_load(&changed) < round) {
            free(malloc(16));
        }
        uint64_t before = counters().allocations;
        void *chunk = malloc(16);
        uint64_t counted = counters().allocations - before;
        missed += counted == 0;
        CHECK(chunk != NULL && (counted == 1 || (counted == 0 && missed <= MAY_MISS)), "round %d: counted for %lu",
              round, (unsigned long)counted);
        free(chunk);
        atomic_store(&checked, round);
    }
    return arg;
}

int main(void)
{
    int (*start)(size_t) = LIBRARY_CALL(profalloc_start);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, allocate, NULL) == 0);
    for (int round = 1; round <= ROUNDS; round++) {
        CHECK(start(round % 2 == 0 ? OFTEN : SELDOM) == 0);
        for (volatile int pause = 0; pause < round % 100 * 20; pause++) {
        }
        CHECK(start(1) == 0);
        atomic_store(&changed, round);
        while (atomic_load(&checked) < round) {
        }
    }
    CHECK(pthread_join(thread, NULL) == 0);
    return 0;
}
