/* Once a mode change has returned, the next allocation of every thread follows it, also of one that was just then setting
 * its countdown for the mode before, or had a long way to go by it.
 *
 * run: modes=off */
#include "trap.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { ROUNDS = 2000, OFTEN = 64, SELDOM = 1 << 20 };

/* Where taking bytes off the countdown is not one instruction, a thread that is put to sleep in the middle of it misses the
 * change, until it is told again (meta/thread.h). How often depends on the machine's load, so it is told again until it
 * follows; all of ASKED would be missed only if telling did nothing. It is one instruction on x86-64, if the compiler
 * optimises enough: then the first time suffices. */
#if defined(__x86_64__) && defined(PFA_AS_SHIPPED)
enum { ASKED = 1 };
#else
enum { ASKED = 100 };
#endif

static atomic_int changed;  /* how many changes are in force */
static atomic_int checked;  /* how many of them the thread has tried */
static atomic_bool follows; /* what it saw in the last one */

/* In samples a chunk of 16 bytes would count for 5 at least, or for nothing. */
static void *allocate(void *arg)
{
    for (int change = 1;; change++) {
        int now = 0;
        while ((now = atomic_load(&changed)) >= 0 && now < change) {
            free(malloc(16));
        }
        if (now < 0) {
            return arg;
        }
        uint64_t before = counters().allocations;
        void *chunk = malloc(16);
        uint64_t counted = counters().allocations - before;
        CHECK(chunk != NULL && counted <= 1, "change %d: counted for %lu", change, (unsigned long)counted);
        free(chunk);
        atomic_store(&follows, counted == 1);
        atomic_store(&checked, change);
    }
}

int main(void)
{
    int (*start)(size_t) = LIBRARY_CALL(profalloc_start);
    pthread_t thread;
    int changes = 0;
    CHECK(pthread_create(&thread, NULL, allocate, NULL) == 0);
    for (int round = 1; round <= ROUNDS; round++) {
        CHECK(start(round % 2 == 0 ? OFTEN : SELDOM) == 0);
        for (volatile int pause = 0; pause < round % 100 * 20; pause++) {
        }
        int asked = 0;
        do {
            CHECK(asked < ASKED, "round %d: asked %d times", round, asked);
            CHECK(start(1) == 0);
            asked++;
            atomic_store(&changed, ++changes);
            while (atomic_load(&checked) < changes) {
                (void)sched_yield();
            }
        } while (!atomic_load(&follows));
    }
    atomic_store(&changed, -1);
    CHECK(pthread_join(thread, NULL) == 0);
    return 0;
}
