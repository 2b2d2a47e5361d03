/* Owns the public calls of include/profalloc.h. */
#include "include/profalloc.h"
#include "base/options.h"
#include "hooks/hooks.h"
#include "meta/thread.h"

#include <string.h>

_Static_assert(__builtin_strcmp(PROFALLOC_VERSION, PFA_VERSION) == 0, "the header and the build agree on the version");

PFA_EXPORT int profalloc_start(size_t sample)
{
    (void)pfa_thread_enter(&pfa_tls);
    return pfa_process_start(sample != 0 ? sample : pfa_options.sample);
}

PFA_EXPORT void profalloc_stop(void)
{
    pfa_process_stop();
}

PFA_EXPORT void profalloc_counters(profalloc_counters_t *counters)
{
    pfa_counters_t sum;
    uint64_t allocations = 0;
    uint64_t frees = 0;
    memset(counters, 0, sizeof *counters);
    if (pfa_tls.state == PFA_THREAD_READY) {
        pfa_live_settle(&pfa_tls);
    }
    pfa_counters_sum(&sum);
    for (unsigned class = 0; class < PFA_CLASS_COUNT; class ++) {
        allocations += pfa_read_counter(&sum.by_class[class].allocations);
        frees += pfa_read_counter(&sum.by_class[class].frees);
        counters->bytes_allocated += pfa_read_counter(&sum.by_class[class].bytes);
        counters->bytes_freed += pfa_read_counter(&sum.by_class[class].freed_bytes);
    }
    counters->allocations = allocations / PFA_COUNT_ONE;
    counters->frees = frees / PFA_COUNT_ONE;
    counters->live_chunks = (allocations - frees) / PFA_COUNT_ONE;
    counters->live_bytes = counters->bytes_allocated - counters->bytes_freed;
    counters->peak_bytes = pfa_live_peak();
    counters->unrecorded = pfa_read_counter(&sum.unrecorded);
    counters->bad_frees = pfa_read_counter(&sum.bad_frees);
}

PFA_EXPORT const char *profalloc_version(void)
{
    return PROFALLOC_VERSION;
}
