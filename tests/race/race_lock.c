/* The ranked locks: what a lock guards is seen by one thread at a time, and in order, without any other synchronisation. */
#include "base/lock.h"
#include "tests/race/race.h"

enum { THREADS = 4, ROUNDS = 400000 / RACE_SLOWDOWN };

static struct guarded {
    uint64_t count;
    uint64_t twice; /* always double the count, except to someone who should not look */
} guarded[PFA_LOCK_COUNT];

static void *use(void *arg)
{
    uint64_t seed = (uint64_t)(uintptr_t)arg + 1;
    for (int i = 0; i < ROUNDS; i++) {
        unsigned rank = (unsigned)random_below(&seed, PFA_LOCK_COUNT);
        pfa_lock((pfa_lock_rank_t)rank);
        unsigned higher =
            rank + 1 < PFA_LOCK_COUNT && i % 4 == 0 ? rank + 1 : rank; /* in ascending order, as is the rule */
        if (higher != rank) {
            pfa_lock((pfa_lock_rank_t)higher);
        }
        for (unsigned each = rank; each <= higher; each++) {
            must(guarded[each].twice == 2 * guarded[each].count);
            guarded[each].count++;
            if (i % 1024 == 0) {
                sched_yield();
            }
            guarded[each].twice += 2;
        }
        if (higher != rank) {
            pfa_unlock((pfa_lock_rank_t)higher);
        }
        pfa_unlock((pfa_lock_rank_t)rank);
    }
    return NULL;
}

/* Takes all of them, at the same time. */
static void *walk(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS / 20; i++) {
        for (int rank = 0; rank < PFA_LOCK_COUNT; rank++) {
            pfa_lock((pfa_lock_rank_t)rank);
            must(guarded[rank].twice == 2 * guarded[rank].count);
        }
        for (int rank = 0; rank < PFA_LOCK_COUNT; rank++) {
            pfa_unlock((pfa_lock_rank_t)rank);
        }
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    pthread_t walker;
    race_start(threads, THREADS, use);
    race_start(&walker, 1, walk);
    race_join(threads, THREADS);
    race_join(&walker, 1);
    uint64_t sum = 0;
    for (int rank = 0; rank < PFA_LOCK_COUNT; rank++) {
        sum += guarded[rank].count;
    }
    must(sum >= (uint64_t)THREADS * ROUNDS);
    return 0;
}
