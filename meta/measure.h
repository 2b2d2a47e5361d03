/* How long the program is in our routines: measured for one call in PFA_TIMES_MEAN (export/format/times.h says what is told).
 *
 * Only where everything is recorded, in a trace. The calls that give out times without reading the counter (meta/clock.h)
 * pay nothing for it: when one is due, they end early, and where a call comes to read the counter it counts down. How many
 * calls there are to the next that is due is drawn at random each time, uniform from 1 to twice the mean less 1, so that no
 * loop is in step with it. An allocation that is due is measured itself. A free knows too late, in the middle: it has the
 * thread's next frees go the long way, and one of them is measured. So each call of either kind has the same chance.
 *
 * Everything here is the calling thread's own; nothing waits. */
#ifndef PFA_META_MEASURE_H
#define PFA_META_MEASURE_H

#include "base/clock.h"
#include "meta/clock.h"
#include "meta/thread.h"

/* A call is due: counts those up to it and draws the next. False: there is nothing to be measured now. */
PFA_NOINLINE bool pfa_measure_reach(pfa_tls_t *tls);

/* Is this allocation, which is about to read the counter, to be measured? */
PFA_INLINE bool pfa_measure_is_due(pfa_tls_t *tls)
{
    return PFA_UNLIKELY(--tls->measure_left < 0) && pfa_measure_reach(tls);
}

/* Is it about to? For code that asks the clock later, once. */
PFA_INLINE bool pfa_measure_is_near(const pfa_tls_t *tls)
{
    return PFA_UNLIKELY(tls->clock_skips <= 0);
}

/* The time now, for a free. */
PFA_NOINLINE uint64_t pfa_measure_read(pfa_tls_t *tls);
PFA_INLINE uint64_t pfa_measure_now(pfa_tls_t *tls)
{
    return pfa_clock_may_skip(tls) ? pfa_clock_step(tls) : pfa_measure_read(tls);
}

/* Is this free, which goes the long way since tls->short_free is NULL, to be measured? The next goes the short way again. */
bool pfa_measure_is_armed(pfa_tls_t *tls);

/* A measured call lies between these. */
PFA_NOINLINE void pfa_measure_prepare(pfa_tls_t *tls);
PFA_NOINLINE void pfa_measure_add(pfa_tls_t *tls, pfa_times_kind_t kind, uint64_t bytes, uint64_t took);

PFA_INLINE uint64_t pfa_measure_begin(pfa_tls_t *tls)
{
    pfa_measure_prepare(tls);
    return tls->measures_own ? pfa_counter() : pfa_counter_before();
}

/* `bytes` are those that the call handled, as far as it took time for each. */
PFA_INLINE void pfa_measure_end(pfa_tls_t *tls, pfa_times_kind_t kind, uint64_t bytes, uint64_t began)
{
    pfa_measure_add(tls, kind, bytes, tls->measures_own ? 0 : pfa_counter_after() - began);
}

/* The same of an allocation, which asks for the time as those around it do: in a run it does not read the counter. (One in
 * PFA_CLOCK_SKIPS + 1 of them does, which is left out: less than one percent.) */
PFA_INLINE uint64_t pfa_measure_begin_alloc(pfa_tls_t *tls)
{
    tls->clock_skips = pfa_clock_is_skipping(tls) ? 1 : 0;
    return pfa_measure_begin(tls);
}

PFA_INLINE void pfa_measure_end_alloc(pfa_tls_t *tls, uint64_t bytes, uint64_t began)
{
    pfa_measure_end(tls, PFA_TIMES_ALLOCATIONS, bytes, began);
    if (pfa_clock_is_skipping(tls)) {
        tls->clock_skips = 0;
        (void)pfa_clock_take(tls, began); /* it is at hand */
    }
}

/* Around what the allocator does, in any call; not nested. */
PFA_NOINLINE void pfa_measure_own_add(pfa_tls_t *tls, uint64_t ended);

PFA_INLINE void pfa_measure_own_begin(pfa_tls_t *tls)
{
    if (PFA_UNLIKELY(tls->measures_own)) {
        tls->thread->measure.own_began = pfa_counter_before();
    }
}

PFA_INLINE void pfa_measure_own_end(pfa_tls_t *tls)
{
    if (PFA_UNLIKELY(tls->measures_own)) {
        pfa_measure_own_add(tls, pfa_counter_after());
    }
}

/* The call under way handles so many bytes more than are known at its end: the size of what it frees. */
PFA_INLINE void pfa_measure_allow(pfa_tls_t *tls, uint64_t bytes)
{
    if (tls->thread != NULL) {
        tls->thread->measure.allowed = bytes;
    }
}

/* A thread has its block; it goes on where the last one that had it stopped. And it gives it up. */
void pfa_measure_enter(pfa_tls_t *tls);
void pfa_measure_leave(pfa_tls_t *tls);

/* What two readings of the counter one after the other differ by, in 1/PFA_TIMES_PART. */
uint64_t pfa_measure_cost(void);

#endif
