/* Owns the decision when to read the counter. See meta/clock.h. */
#include "meta/clock.h"
#include "base/clock.h"

#include <stddef.h>

uint64_t pfa_clock_read(pfa_tls_t *tls)
{
    uint64_t now = pfa_counter();
    /* The skipping malloc takes its chunk from the region heap without a look whether there is one. */
    bool may_skip = tls->clock_may_skip && tls->region_heap != NULL;
    uint64_t calls = tls->clock_dense >= PFA_CLOCK_DENSE && may_skip ? PFA_CLOCK_SKIPS + 1 : 1;
    if (now - tls->clock_reading > calls * pfa_counter_moment()) {
        tls->clock_dense = 0;
    } else if (tls->clock_dense < PFA_CLOCK_DENSE) {
        tls->clock_dense++;
    }
    tls->clock_skips = tls->clock_dense >= PFA_CLOCK_DENSE && may_skip ? PFA_CLOCK_SKIPS : 0;
    tls->clock_reading = now;
    tls->clock = now > tls->clock ? now : tls->clock + 1;
    return tls->clock;
}
