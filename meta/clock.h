/* The time stamped on records: readings of the CPU counter, by thread.
 *
 * Reading the counter can cost as much as the whole rest of recording a chunk (14 of 25 ns where this was measured), so
 * it is not read at every call when calls come thick and fast. After PFA_CLOCK_DENSE calls in a row with less than a
 * moment (two microseconds) between them, the counter is read at every sixteenth call and the fifteen in between count up
 * from it; the first reading that finds more than that between calls ends this. So a time is exact at every call that is
 * not part of such a run; inside one it is early by the time of at most fifteen calls; and only at the end of a run, once
 * in more than a thousand calls, can up to fifteen times be early by the pause that ended it. Times of a thread never go
 * backwards and never repeat. */
#ifndef PFA_META_CLOCK_H
#define PFA_META_CLOCK_H

#include "base/tls.h"

#include <stdbool.h>

#define PFA_CLOCK_DENSE 1024
#define PFA_CLOCK_SKIPS 15

PFA_NOINLINE uint64_t pfa_clock_read(pfa_tls_t *tls);

/* The time now, in its two halves for code that wants the slow one out of line. */
PFA_INLINE bool pfa_clock_can_skip(const pfa_tls_t *tls)
{
    return PFA_LIKELY(tls->clock_skips != 0);
}

PFA_INLINE uint64_t pfa_clock_skip(pfa_tls_t *tls)
{
    tls->clock_skips--;
    return ++tls->clock;
}

/* Makes the next call read the counter. */
PFA_INLINE void pfa_clock_stop_skipping(pfa_tls_t *tls)
{
    tls->clock_skips = 0;
}

PFA_INLINE uint64_t pfa_clock_now(pfa_tls_t *tls)
{
    return pfa_clock_can_skip(tls) ? pfa_clock_skip(tls) : pfa_clock_read(tls);
}

#endif
