/* Owns the long ways: what malloc, realloc and free do when the fast path said no. Nothing here may call a function that
 * this library replaces. */
#include "hooks/hooks.h"
#include "meta/thread.h"

#include <errno.h>
#include <string.h>

/* Sets the threshold for the mode in force. */
static void rearm(pfa_tls_t *tls)
{
    uint32_t epoch = pfa_load_acquire(&pfa_sampling.epoch);
    uint64_t threshold = UINT64_MAX;
    switch ((pfa_mode_t)pfa_load_acquire(&pfa_sampling.mode)) {
    case PFA_MODE_OFF:
        break;
    case PFA_MODE_SAMPLED:
        threshold = tls->allocated +
                    pfa_sampler_distance(&tls->random, pfa_sampler_period(pfa_load_acquire(&pfa_sampling.weight_class)));
        break;
    case PFA_MODE_FULL:
        threshold = 0;
    }
    tls->epoch = epoch;
    pfa_store_relaxed(&tls->threshold, threshold);
    /* Partner: the fence in pfa_sampler_set. If the mode changed while we were at it, we see that here, or whoever
     * changed it clears the threshold after us. */
    pfa_fence_seq_cst();
    if (pfa_load_relaxed(&pfa_sampling.epoch) != epoch) {
        pfa_store_relaxed(&tls->threshold, 0);
    }
}

static void *plain(const pfa_request_t *request)
{
    bool zero = (request->flags & PFA_FLAG_ZEROED) != 0;
    if (request->align != 0) {
        return pfa_backing_aligned(request->size, request->align, zero);
    }
    return zero ? pfa_backing_calloc(request->size) : pfa_backing_malloc(request->size);
}

/* Decides whether the allocation of this many bytes is recorded, and counts the bytes. */
static bool is_due(pfa_tls_t *tls, size_t size, unsigned *weight_class)
{
    if (PFA_UNLIKELY(tls->state != PFA_THREAD_READY) && !pfa_thread_enter(tls)) {
        return false;
    }
    if (PFA_UNLIKELY(tls->epoch != pfa_load_relaxed(&pfa_sampling.epoch))) {
        rearm(tls);
    }
    tls->allocated += size;
    pfa_mode_t mode = (pfa_mode_t)pfa_load_relaxed(&pfa_sampling.mode);
    if (PFA_LIKELY(mode == PFA_MODE_FULL)) {
        *weight_class = 0;
        return true;
    }
    if (mode == PFA_MODE_OFF || tls->allocated < pfa_load_relaxed(&tls->threshold)) {
        return false;
    }
    *weight_class = pfa_load_acquire(&pfa_sampling.weight_class);
    rearm(tls);
    return true;
}

static inline void *allocate(const pfa_request_t *request)
{
    pfa_tls_t *tls = &pfa_tls;
    unsigned weight_class;
    if (PFA_UNLIKELY(!is_due(tls, request->size, &weight_class))) {
        return plain(request);
    }
    void *chunk = pfa_chunk_alloc(tls, request, weight_class);
    if (PFA_LIKELY(chunk != NULL)) {
        return chunk;
    }
    chunk = plain(request);
    if (chunk != NULL) {
        pfa_chunk_missed(tls);
    }
    return chunk;
}

void *pfa_slow_malloc(size_t size)
{
    return allocate(&(pfa_request_t){size, 0, 0});
}

void *pfa_slow_alloc(const pfa_request_t *request)
{
    return allocate(request);
}

static PFA_COLD void refuse(void *chunk, const pfa_finding_t *finding, const void *caller, const char *call)
{
    static const char *const what[] = {
        [PFA_CHUNK_FREED] = "double free",
        [PFA_CHUNK_INTERIOR] = "a pointer that is not the start of a chunk",
        [PFA_CHUNK_FOREIGN] = "a pointer that is no chunk of this allocator",
    };
    pfa_report_bad(call, what[finding->verdict], chunk, finding, caller);
}

void pfa_slow_free(void *chunk, const void *caller)
{
    if (chunk == NULL) {
        return;
    }
    pfa_tls_t *tls = &pfa_tls;
    if (PFA_UNLIKELY(tls->state == PFA_THREAD_NEW)) {
        (void)pfa_thread_enter(tls);
    }
    if (pfa_range_profiled((uintptr_t)chunk) || pfa_load_relaxed(&pfa_range.large.has_outside)) {
        pfa_finding_t finding;
        finding.verdict = pfa_chunk_free(tls, (uintptr_t)chunk, &finding);
        if (PFA_LIKELY(finding.verdict == PFA_CHUNK_LIVE)) {
            return;
        }
        if (finding.verdict != PFA_CHUNK_PLAIN) {
            refuse(chunk, &finding, caller, "free");
            return;
        }
    } else {
        pfa_finding_t finding;
        pfa_chunk_find((uintptr_t)chunk, &finding);
        if (finding.verdict != PFA_CHUNK_PLAIN) {
            refuse(chunk, &finding, caller, "free");
            return;
        }
    }
    pfa_backing_free(chunk);
}

size_t pfa_usable_size(void *chunk, const void *caller)
{
    if (chunk == NULL) {
        return 0;
    }
    if (!pfa_is_plain(chunk)) {
        pfa_finding_t finding;
        pfa_chunk_find((uintptr_t)chunk, &finding);
        if (finding.verdict != PFA_CHUNK_LIVE && finding.verdict != PFA_CHUNK_PLAIN) {
            refuse(chunk, &finding, caller, "malloc_usable_size");
            return 0;
        }
    }
    return pfa_backing_usable(chunk);
}

/* Does the new size fit where the chunk is, without wasting more than half of it? */
static bool fits_in_place(size_t usable, size_t size)
{
    return size <= usable && size >= usable / 2;
}

static void *move(void *chunk, size_t usable, size_t size, bool due, unsigned weight_class)
{
    pfa_tls_t *tls = &pfa_tls;
    pfa_request_t request = {size, 0, PFA_FLAG_REALLOC};
    void *moved = due ? pfa_chunk_alloc(tls, &request, weight_class) : NULL;
    if (moved == NULL) {
        moved = pfa_backing_malloc(size);
        if (moved == NULL) {
            return NULL;
        }
        if (due) {
            pfa_chunk_missed(tls);
        }
    }
    memcpy(moved, chunk, usable < size ? usable : size);
    pfa_slow_free(chunk, NULL);
    return moved;
}

void *pfa_slow_realloc(void *chunk, size_t size, const void *caller)
{
    if (chunk == NULL) {
        return pfa_fast_allowed(size) ? pfa_backing_malloc(size) : pfa_slow_malloc(size);
    }
    if (size == 0) {
        pfa_slow_free(chunk, caller);
        return NULL;
    }
    pfa_finding_t finding;
    pfa_chunk_find((uintptr_t)chunk, &finding);
    if (finding.verdict != PFA_CHUNK_LIVE && finding.verdict != PFA_CHUNK_PLAIN) {
        refuse(chunk, &finding, caller, "realloc");
        errno = ENOMEM;
        return NULL;
    }
    unsigned weight_class = 0;
    bool due = is_due(&pfa_tls, size, &weight_class);
    bool recorded = finding.verdict == PFA_CHUNK_LIVE;
    if (!due && !recorded) {
        return pfa_backing_realloc(chunk, size);
    }
    size_t usable = pfa_backing_usable(chunk);
    if (due && recorded && fits_in_place(usable, size)) {
        pfa_chunk_resize(&pfa_tls, (uintptr_t)chunk, size, weight_class);
        return chunk;
    }
    return move(chunk, usable, size, due, weight_class);
}
