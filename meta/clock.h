/* The time stamped on records: readings of the CPU counter, by thread.
 *
 * Reading the counter can cost as much as the whole rest of recording a chunk (16 of 30 ns where this was measured), so
 * it is not read at every call when calls come thick and fast. After PFA_CLOCK_DENSE calls in a row with less than a
 * moment (two microseconds) between them, the counter is read once in PFA_CLOCK_SKIPS + 1 calls and the others count up
 * from it; the first reading that finds more than that between calls ends this. So a time is exact at every call that is
 * not part of such a run; inside one it is early by the time of at most PFA_CLOCK_SKIPS calls; and only at the end of a
 * run, so for less than two calls in a hundred, can it be early by the pause that ended the run. Times of a thread never
 * go backwards and never repeat. Where accesses are recorded no call is skipped: parts of short lives are told there, and
 * beside an access to a chunk for every reading the readings take little.
 *
 * A call that is measured (meta/measure.h) ends the counting up before it, so that it comes to where the counter is read. */
#ifndef PFA_META_CLOCK_H
#define PFA_META_CLOCK_H

#include "base/tls.h"
#include "meta/accesses.h"

#include <stdbool.h>
#include <stddef.h>

#define PFA_CLOCK_DENSE 2048
#define PFA_CLOCK_SKIPS 31

PFA_NOINLINE uint64_t pfa_clock_read(pfa_tls_t *tls);
/* The same with a reading that was just made. */
uint64_t pfa_clock_take(pfa_tls_t *tls, uint64_t now);

/* The time now in two halves, for code that wants the slow one out of line: true if pfa_clock_step gives it, false if
 * pfa_clock_read must. */
PFA_INLINE bool pfa_clock_may_skip(pfa_tls_t *tls)
{
    return PFA_LIKELY(--tls->clock_skips >= 0);
}

PFA_INLINE uint64_t pfa_clock_step(pfa_tls_t *tls)
{
    return ++tls->clock;
}

/* Is this a run? */
PFA_INLINE bool pfa_clock_is_skipping(const pfa_tls_t *tls)
{
    /* The skipping malloc takes its chunk from the region heap without a look whether there is one. */
    return tls->clock_dense >= PFA_CLOCK_DENSE && tls->clock_may_skip && tls->region_heap != NULL && !pfa_accesses_kept;
}

/* Makes the next call read the counter. */
PFA_INLINE void pfa_clock_stop_skipping(pfa_tls_t *tls)
{
    tls->clock_skips = 0;
}

PFA_INLINE uint64_t pfa_clock_now(pfa_tls_t *tls)
{
    return pfa_clock_may_skip(tls) ? pfa_clock_step(tls) : pfa_clock_read(tls);
}

#endif
