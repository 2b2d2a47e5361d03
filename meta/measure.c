/* Owns the measuring of calls: which one, and the sums. See meta/measure.h. */
#include "meta/measure.h"
#include "meta/ring.h"

/* The least of several means: a disturbance only makes them longer. */
static uint64_t calibrate(void)
{
    enum { BATCHES = 8, PAIRS = 32 };
    uint64_t least = UINT64_MAX;
    for (int batch = 0; batch < BATCHES; batch++) {
        uint64_t sum = 0;
        for (int i = 0; i < PAIRS; i++) {
            uint64_t began = pfa_counter_before();
            sum += pfa_counter_after() - began;
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

/* How many calls from here to the next that is due. */
static void draw(pfa_tls_t *tls, pfa_measure_t *measure)
{
    measure->distance = 1 + (uint32_t)(next_random(tls) % (2 * PFA_TIMES_MEAN - 1));
    tls->measure_left = (int32_t)measure->distance - 1;
}

void pfa_measure_enter(pfa_tls_t *tls)
{
    pfa_measure_t *measure = &tls->thread->measure;
    tls->short_free = tls->thread;
    tls->measures_own = 0;
    measure->armed = 0;
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
    tls->short_free = NULL;
    tls->measures_own = 0;
}

bool pfa_measure_reach(pfa_tls_t *tls)
{
    if (tls->thread == NULL) {
        tls->measure_left = PFA_TIMES_MEAN;
        return false;
    }
    /* The clock may be skipped where everything is recorded. */
    bool wanted = tls->clock_may_skip && pfa_ring_is_open();
    if (wanted) {
        pfa_own_add(&tls->thread->counters.times.calls, tls->thread->measure.distance);
    }
    draw(tls, &tls->thread->measure);
    return wanted;
}

/* The code that a measured free goes through is not the one that all others do. It would be fetched from far each time, so
 * one goes there before. */
enum { FREES_ARMED = 2 };

uint64_t pfa_measure_read(pfa_tls_t *tls)
{
    if (pfa_measure_is_due(tls)) {
        tls->thread->measure.armed = FREES_ARMED;
        tls->short_free = NULL;
    }
    return pfa_clock_read(tls);
}

bool pfa_measure_is_armed(pfa_tls_t *tls)
{
    if (tls->thread == NULL) {
        return false;
    }
    pfa_measure_t *measure = &tls->thread->measure;
    bool armed = measure->armed != 0;
    measure->armed -= armed;
    measure->is_rehearsed = measure->armed != 0;
    tls->short_free = tls->thread;
    return armed;
}

void pfa_measure_prepare(pfa_tls_t *tls)
{
    pfa_measure_t *measure = &tls->thread->measure;
    measure->cost = pfa_measure_cost();
    measure->waited_before = measure->waited;
    measure->allowed = 0;
    measure->own_parts = 0;
    tls->measures_own = next_random(tls) & 1;
}

void pfa_measure_own_add(pfa_tls_t *tls, uint64_t ended)
{
    pfa_measure_t *measure = &tls->thread->measure;
    measure->own_parts += (int64_t)((ended - measure->own_began) * PFA_TIMES_PART) - (int64_t)measure->cost;
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

void pfa_measure_add(pfa_tls_t *tls, pfa_times_kind_t kind, uint64_t bytes, uint64_t took)
{
    pfa_measure_t *measure = &tls->thread->measure;
    pfa_trace_times_t *times = &tls->thread->counters.times;
    bytes += measure->allowed;
    if (kind == PFA_TIMES_FREES && measure->is_rehearsed) {
        tls->short_free = NULL;
    } else if (tls->measures_own) {
        note(&times->own[kind], measure->own_parts, bytes);
    } else {
        uint64_t waited = measure->waited - measure->waited_before;
        note(&times->whole[kind], (int64_t)((took - waited) * PFA_TIMES_PART) - (int64_t)measure->cost, bytes);
    }
    tls->measures_own = 0;
}
