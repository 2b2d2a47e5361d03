/* How long the program is in our routines: measured for one call in PFA_TIMES_MEAN (export/format/times.h says what is told).
 *
 * Only where everything is recorded. Which call is next is a distance drawn at random each time, uniform from 1 to twice
 * the mean less 1, so that no loop is in step with it. The calls up to there cost nothing for it: they are the ones that
 * give out times without reading the counter (meta/clock.h), of which there are at most as many as are left; where each
 * call reads the counter, it counts down by one.
 *
 * Everything here is the calling thread's own; nothing waits. A measured call goes
 *
 *     if (pfa_measure_is_due(tls)) began = pfa_measure_begin(tls); ...; pfa_measure_end(tls, kind, bytes, began);
 *
 * with the parts of it that are the allocator's between pfa_measure_own_begin and pfa_measure_own_end. */
#ifndef PFA_META_MEASURE_H
#define PFA_META_MEASURE_H

#include "base/clock.h"
#include "meta/clock.h"
#include "meta/thread.h"

/* For a call that reads the counter, of a thread that has a block and records everything. */
PFA_INLINE bool pfa_measure_is_due(pfa_tls_t *tls)
{
    return PFA_UNLIKELY(--tls->measure_left < 0);
}

/* Could this call be the one? For code that asks the clock later, and only once. */
PFA_INLINE bool pfa_measure_is_near(const pfa_tls_t *tls)
{
    return PFA_UNLIKELY(tls->clock_skips <= 0);
}

PFA_NOINLINE void pfa_measure_prepare(pfa_tls_t *tls);
PFA_NOINLINE void pfa_measure_add(pfa_tls_t *tls, pfa_times_kind_t kind, uint64_t bytes, uint64_t began,
                                  uint64_t ended);
PFA_NOINLINE void pfa_measure_own_add(pfa_tls_t *tls, uint64_t ended);

PFA_INLINE uint64_t pfa_measure_begin(pfa_tls_t *tls)
{
    pfa_measure_prepare(tls);
    return pfa_counter();
}

/* `bytes` are those that the call handled, as far as it took time for each. */
PFA_INLINE void pfa_measure_end(pfa_tls_t *tls, pfa_times_kind_t kind, uint64_t bytes, uint64_t began)
{
    pfa_measure_add(tls, kind, bytes, began, pfa_counter());
}

/* Around what the allocator does, in any call; not nested. */
PFA_INLINE void pfa_measure_own_begin(pfa_tls_t *tls)
{
    if (PFA_UNLIKELY(tls->measures_own)) {
        tls->thread->measure.own_began = pfa_counter();
    }
}

PFA_INLINE void pfa_measure_own_end(pfa_tls_t *tls)
{
    if (PFA_UNLIKELY(tls->measures_own)) {
        pfa_measure_own_add(tls, pfa_counter());
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
