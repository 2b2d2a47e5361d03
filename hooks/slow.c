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
    pfa_mode_t mode = (pfa_mode_t)pfa_load_acquire(&pfa_sampling.mode);
    switch (mode) {
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
    tls->mode = (uint8_t)mode;
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

/* Is the thread set up, and for the mode in force, and is that to record everything? */
static inline bool records_all(const pfa_tls_t *tls)
{
    return PFA_LIKELY(tls->epoch == pfa_load_relaxed(&pfa_sampling.epoch)) && PFA_LIKELY(tls->mode == PFA_MODE_FULL);
}

/* Decides whether the allocation of this many bytes is recorded, and counts the bytes. */
static PFA_NOINLINE bool is_due(pfa_tls_t *tls, size_t size, uint64_t *weight)
{
    if (tls->state != PFA_THREAD_READY && !pfa_thread_enter(tls)) {
        return false;
    }
    if (tls->epoch != pfa_load_relaxed(&pfa_sampling.epoch)) {
        rearm(tls);
    }
    tls->allocated += size;
    *weight = 0;
    if (tls->mode == PFA_MODE_FULL) {
        return true;
    }
    if (tls->mode == PFA_MODE_OFF || tls->allocated < pfa_load_relaxed(&tls->threshold)) {
        return false;
    }
    *weight = (uint64_t)pfa_load_acquire(&pfa_sampling.weight_class) << PFA_WEIGHT_SHIFT;
    rearm(tls);
    return true;
}

static PFA_NOINLINE void *unrecorded(pfa_tls_t *tls, const pfa_request_t *request)
{
    void *chunk = plain(request);
    if (chunk != NULL) {
        pfa_chunk_missed(tls);
    }
    return chunk;
}

static PFA_NOINLINE void *allocate(const pfa_request_t *request)
{
    pfa_tls_t *tls = &pfa_tls;
    pfa_request_t weighed = *request;
    uint64_t weight;
    if (!is_due(tls, request->size, &weight)) {
        return plain(request);
    }
    weighed.flags |= weight;
    void *chunk = pfa_chunk_alloc(tls, &weighed);
    return chunk != NULL ? chunk : unrecorded(tls, request);
}

/* Recording everything, this is malloc: kept short. */
void *pfa_slow_malloc(size_t size)
{
    pfa_tls_t *tls = &pfa_tls;
    if (PFA_LIKELY(records_all(tls)) && PFA_LIKELY(size <= PFA_REGION_CHUNK_MAX)) {
        tls->allocated += size;
        void *chunk = pfa_chunk_alloc_region(tls, size, 0);
        return PFA_LIKELY(chunk != NULL) ? chunk : unrecorded(tls, &(pfa_request_t){size, 0, 0});
    }
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

static PFA_NOINLINE void free_elsewhere(pfa_tls_t *tls, void *chunk, const void *caller)
{
    pfa_finding_t finding;
    if (chunk == NULL) {
        return;
    }
    if (tls->state == PFA_THREAD_NEW) {
        (void)pfa_thread_enter(tls);
    }
    if (pfa_chunk_free(tls, (uintptr_t)chunk, &finding) == PFA_CHUNK_LIVE) {
        return;
    }
    if (finding.verdict == PFA_CHUNK_PLAIN) {
        pfa_backing_free(chunk);
    } else {
        refuse(chunk, &finding, caller, "free");
    }
}

/* Recording everything, this is free: kept short. */
void pfa_slow_free(void *chunk, const void *caller)
{
    pfa_tls_t *tls = &pfa_tls;
    if (PFA_UNLIKELY(tls->thread == NULL) || PFA_UNLIKELY(!pfa_chunk_free_region(tls, (uintptr_t)chunk))) {
        free_elsewhere(tls, chunk, caller);
    }
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

static void *move(void *chunk, size_t usable, size_t size, bool due, uint64_t weight)
{
    pfa_tls_t *tls = &pfa_tls;
    pfa_request_t request = {size, 0, PFA_FLAG_REALLOC | weight};
    void *moved = due ? pfa_chunk_alloc(tls, &request) : NULL;
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
    uint64_t weight = 0;
    bool due = is_due(&pfa_tls, size, &weight);
    bool recorded = finding.verdict == PFA_CHUNK_LIVE;
    if (!due && !recorded) {
        return pfa_backing_realloc(chunk, size);
    }
    size_t usable = pfa_backing_usable(chunk);
    if (due && recorded && fits_in_place(usable, size)) {
        pfa_chunk_resize(&pfa_tls, (uintptr_t)chunk, size, weight);
        return chunk;
    }
    return move(chunk, usable, size, due, weight);
}
