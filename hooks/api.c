/* Owns the public calls of include/profalloc.h. */
#include "include/profalloc.h"
#include "alloc/chunk.h"
#include "base/options.h"
#include "export/session.h"
#include "hooks/hooks.h"
#include "hooks/slow.h"
#include "meta/names.h"
#include "meta/thread.h"
#include "meta/types.h"

#include <errno.h>

_Static_assert(__builtin_strcmp(PROFALLOC_VERSION, PFA_VERSION) == 0, "the header and the build agree on the version");

PFA_EXPORT int profalloc_start(size_t sample)
{
    (void)pfa_thread_enter(&pfa_tls);
    if (sample > PFA_SAMPLE_MAX) {
        return EINVAL;
    }
    int err = pfa_process_start(sample != 0 ? sample : pfa_options.sample);
    pfa_process_check_reach();
    return err;
}

PFA_EXPORT void profalloc_stop(void)
{
    pfa_process_stop();
}

PFA_EXPORT int profalloc_snapshot(const char *name)
{
    int kept = errno;
    if (pfa_load_relaxed(&pfa_fork_pending) && pfa_thread_enter(&pfa_tls)) {
        pfa_fork_go_on(&pfa_tls);
    }
    int err = pfa_session_picture(name != NULL ? name : "");
    errno = kept;
    return err;
}

PFA_EXPORT int profalloc_dump(void)
{
    return profalloc_snapshot("dump");
}

/* The tag that the next records carry. */
static void put_in_force(pfa_thread_t *thread)
{
    uint32_t depth = thread->tag_depth < PFA_TAGS_NESTED ? thread->tag_depth : PFA_TAGS_NESTED;
    uint64_t tag = depth > 0 ? thread->tags[depth - 1] : 0;
    pfa_tls.record_tail = (pfa_tls.record_tail & ~((uint64_t)UINT16_MAX << 16)) | tag << 16;
}

PFA_EXPORT int profalloc_tag_push(const char *tag)
{
    pfa_thread_t *thread = pfa_thread_enter(&pfa_tls) ? pfa_tls.thread : NULL;
    if (thread == NULL) {
        return ENOSPC;
    }
    uint16_t number = thread->tag_depth < PFA_TAGS_NESTED ? pfa_names_tag(tag) : 0;
    if (number == 0 && thread->tag_depth > 0 && thread->tag_depth < PFA_TAGS_NESTED) {
        thread->tags[thread->tag_depth] = thread->tags[thread->tag_depth - 1];
    } else if (thread->tag_depth < PFA_TAGS_NESTED) {
        thread->tags[thread->tag_depth] = number;
    }
    thread->tag_depth++;
    put_in_force(thread);
    return number != 0 ? 0 : ENOSPC;
}

PFA_EXPORT void profalloc_tag_pop(void)
{
    pfa_thread_t *thread = pfa_tls.thread;
    if (thread != NULL && thread->tag_depth > 0) {
        thread->tag_depth--;
        put_in_force(thread);
    }
}

PFA_EXPORT unsigned profalloc_type(const char *name, size_t size)
{
    return name != NULL && pfa_thread_enter(&pfa_tls) ? pfa_types_number(name, size) : 0;
}

PFA_EXPORT int profalloc_set_type(void *chunk, unsigned type)
{
    if (type > pfa_types_count()) {
        return EINVAL;
    }
    pfa_wiped_check();
    return pfa_chunk_set_type((uintptr_t)chunk, type) ? 0 : ENOENT;
}

PFA_EXPORT void set_mprof_autosave(int count)
{
    pfa_session_pictures_every(count > 0 ? (uint64_t)count : 0);
    pfa_process_ask_for_background_thread();
}

PFA_EXPORT void mprof_stop(void)
{
    pfa_process_stop();
    pfa_process_end_trace();
}

PFA_EXPORT void mprof_restart(const char *filename)
{
    (void)pfa_thread_enter(&pfa_tls);
    pfa_process_end_trace();
    pfa_process_begin_trace(filename);
    pfa_process_check_reach();
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
