/* Owns the long way of realloc, and the size of a chunk. Nothing here may call a function that this library replaces. */
#include "alloc/life.h"
#include "base/options.h"
#include "hooks/slow.h"
#include "meta/measure.h"
#include "meta/types.h"

#include <errno.h>
#include <string.h>

static bool is_chunk(const pfa_finding_t *finding)
{
    return finding->verdict <= PFA_CHUNK_PLAIN;
}

static size_t usable_of(const void *chunk, const pfa_finding_t *finding)
{
    return finding->usable != 0 ? finding->usable : pfa_backing_usable(chunk);
}

size_t pfa_usable_size(void *chunk, const void *caller)
{
    if (chunk == NULL) {
        return 0;
    }
    if (pfa_is_plain(chunk)) {
        return pfa_backing_usable(chunk);
    }
    pfa_finding_t finding;
    pfa_wiped_check();
    pfa_chunk_find((uintptr_t)chunk, &finding);
    if (!is_chunk(&finding)) {
        pfa_slow_refuse(chunk, &finding, caller, "malloc_usable_size");
        return 0;
    }
    return usable_of(chunk, &finding);
}

static void *move(void *chunk, size_t usable, size_t size, bool due, uint64_t weight)
{
    pfa_tls_t *tls = &pfa_tls;
    pfa_life_next_link(tls);
    void *moved = due ? pfa_chunk_alloc(tls, size, 0, PFA_FLAG_REALLOC | weight) : NULL;
    bool recorded = moved != NULL;
    if (!recorded) {
        moved = pfa_backing_malloc(size);
        if (moved == NULL) {
            return NULL;
        }
        if (due) {
            pfa_chunk_missed(tls);
        }
    }
    pfa_measure_own_begin(tls);
    memcpy(moved, chunk, usable < size ? usable : size);
    pfa_measure_own_end(tls);
    if (PFA_UNLIKELY(pfa_types_count() != 0) && recorded) {
        (void)pfa_chunk_set_type((uintptr_t)moved, pfa_chunk_type((uintptr_t)chunk));
    }
    tls->moved_time = recorded ? tls->clock : 0; /* the time of the birth */
    pfa_slow_free_for(chunk, (const void *)tls->free_site);
    tls->moved_time = 0;
    tls->free_stack = 0;
    return moved;
}

/* Of a chunk that is there and gets another size. For the function that is reached by a jump. */
PFA_INLINE void *reallocate(void *chunk, size_t size, const void *caller)
{
    pfa_finding_t finding;
    pfa_wiped_check();
    pfa_chunk_find((uintptr_t)chunk, &finding);
    if (!is_chunk(&finding)) {
        pfa_slow_refuse(chunk, &finding, caller, "realloc");
        errno = ENOMEM;
        return NULL;
    }
    uint64_t weight = 0;
    bool due = pfa_tls.countdown < 0 && pfa_slow_is_due(&pfa_tls, size, &weight);
    pfa_tls.free_site = (uintptr_t)caller;
    if (due || finding.verdict != PFA_CHUNK_PLAIN) {
        PFA_TAKE_STACK(&pfa_tls);
        if (pfa_options.free_depth != 1) {
            pfa_tls.free_stack = pfa_tls.stack;
        }
    }
    size_t usable = usable_of(chunk, &finding);
    bool stays = pfa_backing_keeps(usable, size);
    if (finding.verdict == PFA_CHUNK_PLAIN) {
        if (!due) {
            return stays ? chunk : pfa_backing_move(chunk, usable, size);
        }
    } else if (stays && pfa_tls.thread != NULL) {
        pfa_chunk_resize(&pfa_tls, (uintptr_t)chunk, size, due, weight);
        pfa_tls.free_stack = 0;
        return chunk;
    }
    return move(chunk, usable, size, due, weight);
}

void *pfa_slow_realloc(void *chunk, size_t size, const void *caller)
{
    pfa_tls_t *tls = &pfa_tls;
    if (chunk == NULL) {
        return tls->countdown >= 0 ? pfa_backing_malloc(size) : pfa_slow_malloc(size);
    }
    if (size == 0) {
        tls->free_site = (uintptr_t)caller;
        pfa_slow_free_for(chunk, caller);
        return NULL;
    }
    bool measured = pfa_measure_is_near(tls) && pfa_measure_is_due(tls);
    uint64_t began = measured ? pfa_measure_begin_alloc(tls) : 0;
    void *moved = reallocate(chunk, size, caller);
    if (PFA_UNLIKELY(measured)) {
        pfa_measure_end_alloc(tls, size, began);
    }
    return moved;
}
