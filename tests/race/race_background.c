/* The background thread: whoever wakes it, and however many at once, no work is left lying. */
#include "export/background.h"
#include "tests/race/race.h"

enum { THREADS = 4, ROUNDS = 200000 / RACE_SLOWDOWN };

/* Work as the map's: a list that threads push on and the background takes whole. */
typedef struct job {
    struct job *next;
    uint64_t content;
} job_t;

static _Atomic(job_t *) jobs;
static job_t pool[THREADS][ROUNDS];
static uint64_t done; /* the background's own, read once it is idle */
static uint64_t content;
static _Atomic uint64_t announced;
static _Atomic int inside;

static void work(void)
{
    must(atomic_fetch_add(&inside, 1) == 0); /* there is one background thread */
    for (job_t *job = atomic_exchange_explicit(&jobs, NULL, memory_order_acquire); job != NULL; job = job->next) {
        done++;
        content += job->content;
    }
    atomic_store_explicit(&announced, done, memory_order_release);
    atomic_fetch_sub(&inside, 1);
}

static void *produce(void *arg)
{
    job_t *own = pool[(uintptr_t)arg];
    for (uint64_t i = 0; i < ROUNDS; i++) {
        own[i].content = i;
        own[i].next = atomic_load_explicit(&jobs, memory_order_relaxed);
        while (!atomic_compare_exchange_weak_explicit(&jobs, &own[i].next, &own[i], memory_order_release,
                                                      memory_order_relaxed)) {
        }
        pfa_background_wake();
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    pfa_background_init(work);
    race_start(threads, THREADS, produce); /* all make the first wake: one of them makes the thread */
    race_join(threads, THREADS);
    /* Nobody wakes it any more: what was asked for must come to an end by itself. */
    for (int i = 0; atomic_load_explicit(&announced, memory_order_acquire) != (uint64_t)THREADS * ROUNDS; i++) {
        must(i < 20000);
        usleep(1000);
    }
    must(content == (uint64_t)THREADS * ROUNDS * (ROUNDS - 1) / 2);
    return 0;
}
