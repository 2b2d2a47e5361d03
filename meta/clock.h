/* The time stamped on records: readings of the CPU counter, by thread. */
#ifndef PFA_META_CLOCK_H
#define PFA_META_CLOCK_H

#include "base/clock.h"
#include "base/tls.h"

PFA_INLINE uint64_t pfa_clock_now(pfa_tls_t *tls)
{
    return tls->clock = pfa_counter();
}

#endif
