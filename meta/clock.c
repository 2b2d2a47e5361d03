/* Owns the decision when to read the counter. See meta/clock.h. */
#include "meta/clock.h"
#include "base/clock.h"
#include "meta/accessthread.h"

/* Finding it out takes longer than remembering it. */
static inline uint64_t moment(void)
{
    static _Atomic uint64_t known;
    uint64_t ticks = pfa_load_relaxed(&known);
    if (PFA_UNLIKELY(ticks == 0)) {
        ticks = pfa_counter_moment();
        pfa_store_relaxed(&known, ticks);
    }
    return ticks;
}

/* Times may be given out up to the next call that is measured. */
static void skip(pfa_tls_t *tls)
{
    int32_t left = tls->measure_left + (tls->clock_skips > 0 ? tls->clock_skips : 0); /* some may not have been used */
    int32_t skips = left < PFA_CLOCK_SKIPS ? left : PFA_CLOCK_SKIPS;
    tls->clock_skips = skips;
    tls->measure_left = left - skips;
}

/* The rarer case, where calls came thick and fast up to here. */
static inline void take_dense(pfa_tls_t *tls, uint64_t since)
{
    uint64_t calls = pfa_clock_is_skipping(tls) ? PFA_CLOCK_SKIPS + 1 : 1;
    if (since > calls * moment()) {
        tls->clock_dense = 0;
    }
    if (pfa_clock_is_skipping(tls)) {
        skip(tls);
    } else {
        tls->clock_skips = 0;
    }
}

PFA_INLINE uint64_t take(pfa_tls_t *tls, uint64_t now)
{
    uint64_t since = now - tls->clock_reading;
    tls->clock_reading = now;
    pfa_access_thread.clock = now; /* for the next accesses to chunks */
    if (PFA_LIKELY(tls->clock_dense < PFA_CLOCK_DENSE)) {
        tls->clock_dense = since > moment() ? 0 : tls->clock_dense + 1;
        tls->clock_skips = 0;
    } else {
        take_dense(tls, since);
    }
    tls->clock = now > tls->clock ? now : tls->clock + 1;
    return tls->clock;
}

uint64_t pfa_clock_take(pfa_tls_t *tls, uint64_t now)
{
    return take(tls, now);
}

uint64_t pfa_clock_read(pfa_tls_t *tls)
{
    return take(tls, pfa_counter());
}
