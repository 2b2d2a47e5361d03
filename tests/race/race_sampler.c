/* The sampling mode while it changes: whoever sees a weight class can tell its period, and sees the change in the end. */
#include "alloc/sampler.h"
#include "base/lock.h"
#include "meta/record.h"
#include "tests/race/race.h"

enum { READERS = 3, CHANGES = 400000 / RACE_SLOWDOWN };

static _Atomic bool stop;

static uint64_t period_of(unsigned number)
{
    return ((uint64_t)number + 2) << 12;
}

static void *sample(void *arg)
{
    uint64_t random = (uint64_t)(uintptr_t)arg + 1;
    uint32_t last = 0;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        uint32_t epoch = pfa_load_acquire(&pfa_sampling.epoch);
        must((int32_t)(epoch - last) >= 0);
        last = epoch;
        if (pfa_load_acquire(&pfa_sampling.mode) == PFA_MODE_SAMPLED) {
            unsigned class = pfa_load_acquire(&pfa_sampling.weight_class);
            uint64_t period = pfa_sampler_period(class);
            must(class < PFA_WEIGHT_CLASSES);
            must(period == 1 || (period >= period_of(0) && period <= period_of(PFA_WEIGHT_CLASSES)));
            must(pfa_sampler_distance(&random, period) < period * 64);
            double weight = pfa_sampler_weight(class, 100);
            must(weight >= 1.0 && weight <= (double)period_of(PFA_WEIGHT_CLASSES));
        }
    }
    return NULL;
}

int main(void)
{
    pthread_t readers[READERS];
    uint64_t seed = 7;
    race_start(readers, READERS, sample);
    for (int i = 0; i < CHANGES; i++) {
        uint64_t pick = random_below(&seed, PFA_WEIGHT_CLASSES + 2); /* in the end more than there are classes */
        pfa_lock(PFA_LOCK_PROCESS);
        (void)pfa_sampler_set(pick < 2 ? pick : period_of((unsigned)pick - 2));
        pfa_unlock(PFA_LOCK_PROCESS);
    }
    atomic_store(&stop, true);
    race_join(readers, READERS);
    return 0;
}
