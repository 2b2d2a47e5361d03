/* Owns the sampling mode and the list of periods used so far. See alloc/sampler.h. */
#include "alloc/sampler.h"
#include "base/maths.h"
#include "meta/record.h"

#include <errno.h>

/* Epoch 0 is that of threads without set-up, so it is never one of a mode. */
pfa_sampling_t pfa_sampling = {.epoch = 1};

/* Entry 0 is the period of full recording; an entry is written once, before its class is published. */
static _Atomic uint64_t periods[PFA_WEIGHT_CLASSES] = {1};
static unsigned period_count = 1;

static uint64_t distance_between(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static int find_class(uint64_t period, unsigned *class)
{
    unsigned nearest = 0;
    for (unsigned i = 0; i < period_count; i++) {
        uint64_t known = pfa_load_relaxed(&periods[i]);
        if (known == period) {
            *class = i;
            return 0;
        }
        if (distance_between(known, period) < distance_between(pfa_load_relaxed(&periods[nearest]), period)) {
            nearest = i;
        }
    }
    if (period_count == PFA_WEIGHT_CLASSES) {
        *class = nearest;
        return ENOSPC;
    }
    *class = period_count;
    pfa_store_release(&periods[period_count++], period);
    return 0;
}

int pfa_sampler_set(uint64_t period)
{
    unsigned class = 0;
    int err = period > 1 ? find_class(period, &class) : 0;
    pfa_mode_t mode = period == 0 ? PFA_MODE_OFF : class == 0 ? PFA_MODE_FULL : PFA_MODE_SAMPLED;
    pfa_store_release(&pfa_sampling.weight_class, class);
    pfa_store_release(&pfa_sampling.mode, mode);
    /* Partner: the acquire load of the epoch in hooks/slow.c rearm(): who sees it sees the mode. */
    if (pfa_add_release(&pfa_sampling.epoch, 1) == UINT32_MAX) {
        pfa_add_release(&pfa_sampling.epoch, 1);
    }
    return err;
}

unsigned pfa_sampler_periods(const _Atomic uint64_t **used)
{
    *used = &periods[1];
    return period_count - 1;
}

uint64_t pfa_sampler_period(unsigned weight_class)
{
    return weight_class < PFA_WEIGHT_CLASSES ? pfa_load_relaxed(&periods[weight_class]) : 1;
}

uint64_t pfa_sampler_distance(uint64_t *random, uint64_t period)
{
    /* xorshift64*: the upper 53 bits make a uniform number in (0, 1]. */
    uint64_t x = *random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *random = x;
    double uniform = ((double)((x * 2685821657736338717ull) >> 11) + 1.0) * 0x1p-53;
    /* Rounded down: a chunk of s bytes is hit if the distance is below s, with exactly the chance its weight is made of. */
    return (uint64_t)(-pfa_log(uniform) * (double)period);
}

double pfa_sampler_weight(unsigned weight_class, uint64_t size)
{
    uint64_t period = pfa_sampler_period(weight_class);
    if (period <= 1) {
        return 1.0;
    }
    /* malloc(0) cannot be hit by a sample point; it stands for itself. */
    return size == 0 ? 1.0 : pfa_inverse_chance((double)size / (double)period);
}
