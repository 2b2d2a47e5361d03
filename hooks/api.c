/* Owns the public calls of include/profalloc.h. */
#include "include/profalloc.h"
#include "base/options.h"
#include "hooks/hooks.h"
#include "meta/thread.h"

#include <errno.h>

_Static_assert(__builtin_strcmp(PROFALLOC_VERSION, PFA_VERSION) == 0, "the header and the build agree on the version");

PFA_EXPORT int profalloc_start(size_t sample)
{
    (void)pfa_thread_enter(&pfa_tls);
    if (sample > PFA_SAMPLE_MAX) {
        return EINVAL;
    }
    return pfa_process_start(sample != 0 ? sample : pfa_options.sample);
}

PFA_EXPORT void profalloc_stop(void)
{
    pfa_process_stop();
}

PFA_EXPORT void profalloc_counters(profalloc_counters_t *counters)
{
    pfa_counters_t sum;
    if (pfa_tls.state == PFA_THREAD_READY) {
        pfa_live_settle(&pfa_tls);
    }
    pfa_counters_sum(&sum);
    pfa_figures_t total = pfa_counters_figures(&sum, 0, PFA_CLASS_COUNT);
    *counters = (profalloc_counters_t){.allocations = total.allocations,
                                       .frees = total.frees,
                                       .bytes_allocated = total.bytes,
                                       .bytes_freed = total.freed_bytes,
                                       .live_chunks = total.live,
                                       .live_bytes = total.live_bytes,
                                       .peak_bytes = pfa_live_peak(),
                                       .unrecorded = sum.unrecorded,
                                       .bad_frees = sum.bad_frees};
}

PFA_EXPORT const char *profalloc_version(void)
{
    return PROFALLOC_VERSION;
}
