/* The list of threads: joining, leaving, counting, interrupting and summing, all at once. */
#include "meta/thread.h"
#include "tests/race/race.h"

enum { THREADS = 4, LIVES = 8000 / RACE_SLOWDOWN, COUNTS = 50 };

static _Atomic bool stop;
static _Atomic uint32_t epoch = 1;

static void live_once(uint64_t *seed)
{
    pfa_tls_t tls;
    memset(&tls, 0, sizeof tls);
    tls.thread = pfa_thread_list_join(&tls);
    must(tls.thread != NULL && tls.thread->tls == &tls);
    must(pfa_read_counter(&tls.thread->counters.by_class[1].allocations) == 0); /* nothing of who had it before */
    for (int i = 0; i < COUNTS; i++) {
        unsigned class = (unsigned)random_below(seed, PFA_CLASS_COUNT);
        if (pfa_count_alloc(&tls, class, PFA_COUNT_ONE, 1000)) {
            pfa_live_settle(&tls);
        }
        if (i % 2 == 0 && pfa_count_free(&tls, tls.thread, class, PFA_COUNT_ONE, 1000)) {
            pfa_live_settle(&tls);
        }
        /* As the entry points notice a change of mode. */
        if (__atomic_load_n(&tls.countdown, __ATOMIC_RELAXED) < 0) {
            __atomic_store_n(&tls.countdown, 1000, __ATOMIC_RELAXED);
            pfa_store_relaxed(&tls.epoch, atomic_load(&epoch));
        }
    }
    pfa_live_settle(&tls);
    pfa_thread_list_leave(tls.thread);
    memset(&tls, 0x5a, sizeof tls); /* whoever writes here now is too late */
    must(tls.countdown == 0x5a5a5a5a5a5a5a5a);
}

static void *live_and_die(void *arg)
{
    uint64_t seed = (uint64_t)(uintptr_t)arg + 1;
    for (int i = 0; i < LIVES; i++) {
        live_once(&seed);
        if (i % 10 == 0) {
            pfa_count_orphan_free(1, PFA_COUNT_ONE, 7); /* as a thread does after its end */
        }
    }
    return NULL;
}

static uint64_t total(const pfa_counters_t *sum, bool frees)
{
    uint64_t count = 0;
    for (unsigned class = 0; class < PFA_CLASS_COUNT; class ++) {
        count +=
            frees ? pfa_read_counter(&sum->by_class[class].frees) : pfa_read_counter(&sum->by_class[class].allocations);
    }
    return count / PFA_COUNT_ONE;
}

/* What was counted once is never missing from a later sum, whoever has died in between. */
static void *sum_up(void *arg)
{
    static pfa_counters_t sums[2];
    pfa_counters_t *sum = &sums[(uintptr_t)arg];
    uint64_t last = 0;
    while (!atomic_load(&stop)) {
        pfa_counters_sum(sum);
        uint64_t now = total(sum, false);
        must(now >= last);
        last = now;
        (void)pfa_live_peak();
    }
    return NULL;
}

static void *interrupt(void *arg)
{
    while (!atomic_load(&stop)) {
        pfa_thread_list_interrupt(atomic_fetch_add(&epoch, 1) + 1);
        usleep(50);
    }
    return arg;
}

int main(void)
{
    static pfa_counters_t sum;
    pthread_t threads[THREADS];
    pthread_t summers[2];
    pthread_t interrupter;
    race_start(summers, 2, sum_up);
    race_start(&interrupter, 1, interrupt);
    race_start(threads, THREADS, live_and_die);
    race_join(threads, THREADS);
    atomic_store(&stop, true);
    race_join(summers, 2);
    race_join(&interrupter, 1);
    pfa_counters_sum(&sum);
    must(total(&sum, false) == (uint64_t)THREADS * LIVES * COUNTS);
    must(total(&sum, true) == (uint64_t)THREADS * LIVES * COUNTS / 2 + THREADS * ((LIVES + 9) / 10));
    return 0;
}
