/* Owns the measuring of calls: which one, and the sums. See meta/measure.h. */
#include "meta/measure.h"

/* The least of several means: a disturbance only makes them longer. */
static uint64_t calibrate(void)
{
    enum { BATCHES = 8, PAIRS = 32 };
    uint64_t least = UINT64_MAX;
    for (int batch = 0; batch < BATCHES; batch++) {
        uint64_t sum = 0;
        for (int i = 0; i < PAIRS; i++) {
            uint64_t began = pfa_counter();
            sum += pfa_counter() - began;
        }
        least = sum < least ? sum : least;
    }
    return least * PFA_TIMES_PART / PAIRS;
}

uint64_t pfa_measure_cost(void)
{
    static _Atomic uint64_t known; /* and one; each thread that finds 0 finds out by itself */
    uint64_t cost = pfa_load_relaxed(&known);
    if (PFA_UNLIKELY(cost == 0)) {
        cost = calibrate() + 1;
        pfa_store_relaxed(&known, cost);
    }
    return cost - 1;
}

static uint64_t next_random(pfa_tls_t *tls)
{
    uint64_t x = tls->random; /* xorshift64*, as the sampler's */
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    tls->random = x;
    return (x * 2685821657736338717ull) >> 32;
}

/* How many calls from here to the next one measured. */
static void draw(pfa_tls_t *tls, pfa_measure_t *measure)
{
    uint64_t random = next_random(tls);
    measure->distance = 1 + (uint32_t)((random >> 1) % (2 * PFA_TIMES_MEAN - 1));
    measure->own_next = random & 1;
    tls->measure_left = (int32_t)measure->distance - 1;
}

void pfa_measure_enter(pfa_tls_t *tls)
{
    pfa_measure_t *measure = &tls->thread->measure;
    tls->measures_own = 0;
    if (measure->distance == 0) {
        draw(tls, measure);
    } else {
        tls->measure_left = measure->left;
    }
}

void pfa_measure_leave(pfa_tls_t *tls)
{
    int32_t left = tls->measure_left + (tls->clock_skips > 0 ? tls->clock_skips : 0);
    tls->thread->measure.left = left > 0 ? left : 0;
    tls->measures_own = 0;
}

void pfa_measure_prepare(pfa_tls_t *tls)
{
    pfa_measure_t *measure = &tls->thread->measure;
    measure->cost = pfa_measure_cost();
    measure->waited_before = measure->waited;
    measure->allowed = 0;
    measure->own_ticks = 0;
    tls->measures_own = measure->own_next;
    tls->measure_left = 0;
    /* The call asks for the time as those around it do: in a run it does not read the counter. (One in
     * PFA_CLOCK_SKIPS + 1 of them does, which is left out: less than one percent.) */
    tls->clock_skips = pfa_clock_is_skipping(tls) ? 1 : 0;
}

static int64_t parts_of(const pfa_measure_t *measure, uint64_t began, uint64_t ended)
{
    return (int64_t)((ended - began) * PFA_TIMES_PART) - (int64_t)measure->cost;
}

void pfa_measure_own_add(pfa_tls_t *tls, uint64_t ended)
{
    pfa_measure_t *measure = &tls->thread->measure;
    measure->own_ticks += parts_of(measure, measure->own_began, ended);
}

static void note(pfa_trace_timed_t *timed, int64_t parts, uint64_t bytes)
{
    bytes = bytes < PFA_TIMES_BYTES_MAX ? bytes : PFA_TIMES_BYTES_MAX;
    uint64_t moments = PFA_TIMES_MOMENTS + (bytes >> PFA_TIMES_BYTES_SHIFT);
    int64_t most = (int64_t)(moments * pfa_counter_moment() * PFA_TIMES_PART);
    if (parts > most) {
        parts = most;
        pfa_own_add(&timed->capped, 1);
    }
    pfa_own_add(&timed->measured, 1);
    pfa_own_add(&timed->ticks, (uint64_t)parts);
    pfa_own_add(&timed->squares, (uint64_t)(parts * parts) / (PFA_TIMES_PART * PFA_TIMES_PART));
}

void pfa_measure_add(pfa_tls_t *tls, pfa_times_kind_t kind, uint64_t bytes, uint64_t began, uint64_t ended)
{
    pfa_measure_t *measure = &tls->thread->measure;
    pfa_trace_times_t *times = &tls->thread->counters.times;
    bytes += measure->allowed;
    pfa_own_add(&times->calls, measure->distance);
    if (tls->measures_own) {
        note(&times->own[kind], measure->own_ticks, bytes);
    } else {
        uint64_t waited = (measure->waited - measure->waited_before) * PFA_TIMES_PART;
        note(&times->whole[kind], parts_of(measure, began, ended) - (int64_t)waited, bytes);
    }
    tls->measures_own = 0;
    draw(tls, measure);
    if (pfa_clock_is_skipping(tls)) {
        tls->clock_skips = 0;
        pfa_clock_take(tls, began); /* it is at hand */
    }
}
