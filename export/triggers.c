/* Owns the reasons for pictures. See export/triggers.h. */
#include "export/triggers.h"
#include "base/atomic.h"
#include "base/options.h"
#include "base/sys.h"
#include "meta/thread.h"

static struct {
    uint64_t bytes;       /* allocated at the last picture for bytes */
    uint64_t peak;        /* the live heap's at the last picture for it */
    uint64_t allocations; /* at the last picture for their number */
    uint64_t time_ns;     /* of the last picture for time */
    bool above_rss;
} last;

static _Atomic bool asked;
static uint64_t every; /* allocations */

static pfa_figures_t count(void)
{
    static pfa_counters_t sum; /* too long for a stack */
    pfa_counters_sum(&sum);
    return pfa_counters_figures(&sum, 0, PFA_CLASS_COUNT);
}

void pfa_triggers_reset(void)
{
    pfa_figures_t so_far = count(); /* in traces before */
    last.bytes = so_far.bytes;
    last.allocations = so_far.allocations;
    last.peak = 0;
    last.time_ns = pfa_sys_nanoseconds();
    last.above_rss = false;
}

void pfa_triggers_every(uint64_t allocations)
{
    every = allocations;
    last.allocations = count().allocations;
}

bool pfa_triggers_by_number(void)
{
    return every != 0;
}

void pfa_triggers_ask(void)
{
    pfa_store_relaxed(&asked, true);
}

static bool bytes_due(uint64_t allocated)
{
    if (pfa_options.dump_bytes == 0 || allocated - last.bytes < pfa_options.dump_bytes) {
        return false;
    }
    last.bytes = allocated;
    return true;
}

static bool allocations_due(uint64_t made)
{
    if (every == 0 || made - last.allocations < every) {
        return false;
    }
    last.allocations = made;
    return true;
}

static bool peak_due(uint64_t live)
{
    if (pfa_options.dump_peak == 0 || live < last.peak + pfa_options.dump_peak) {
        return false;
    }
    last.peak = live;
    return true;
}

static bool seconds_due(void)
{
    uint64_t now = pfa_sys_nanoseconds();
    if (pfa_options.dump_seconds == 0 || now - last.time_ns < pfa_options.dump_seconds * 1000000000u) {
        return false;
    }
    last.time_ns = now;
    return true;
}

static bool rss_due(void)
{
    if (pfa_options.dump_rss == 0) {
        return false;
    }
    bool was_above = last.above_rss;
    last.above_rss = pfa_sys_resident() >= pfa_options.dump_rss;
    return last.above_rss && !was_above;
}

const char *pfa_triggers_due(void)
{
    if (pfa_load_relaxed(&asked) && atomic_exchange(&asked, false)) {
        return "signal";
    }
    if (seconds_due()) {
        return "seconds";
    }
    if (rss_due()) {
        return "rss";
    }
    if (pfa_options.dump_bytes == 0 && pfa_options.dump_peak == 0 && every == 0) {
        return NULL;
    }
    pfa_figures_t figures = count();
    if (allocations_due(figures.allocations)) {
        return "autosave";
    }
    return bytes_due(figures.bytes) ? "bytes" : peak_due(figures.live_bytes) ? "peak" : NULL;
}
