/* Owns the life of recorded chunks: which space they come from, their record from first to last store, the counts.
 * See alloc/chunk.h for who may call what.
 *
 * Budget of the region paths, beyond mimalloc's own: allocation two loads, one multiply, one cache line written, one
 * clock reading, four counters; free the same look-up, one store, four counters. No atomic read-modify-write. */
#include "alloc/chunk.h"
#include "alloc/sampler.h"
#include "base/message.h"
#include "meta/clock.h"
#include "meta/thread.h"

enum { BACKOFF = 4096, RETIRED_MAX = 65536 };

void (*pfa_chunk_want_reclaim)(void);

/* A chunk counts for itself alone unless it was sampled. */
typedef struct share {
    uint64_t chunks;
    uint64_t bytes;
} share_t;

static PFA_NOINLINE share_t sampled_share(uint64_t size_flags)
{
    uint64_t size = pfa_size_of(size_flags);
    double weight = pfa_sampler_weight(pfa_weight_class_of(size_flags), size);
    return (share_t){(uint64_t)(weight * PFA_COUNT_ONE + 0.5), (uint64_t)(weight * (double)size + 0.5)};
}

PFA_INLINE share_t share_of(uint64_t size_flags)
{
    if (PFA_UNLIKELY((size_flags & PFA_WEIGHT_MASK) != 0)) {
        return sampled_share(size_flags);
    }
    return (share_t){PFA_COUNT_ONE, pfa_size_of(size_flags)};
}

PFA_INLINE void count_birth(pfa_tls_t *tls, unsigned class, uint64_t size_flags)
{
    share_t share = share_of(size_flags);
    pfa_count_alloc(tls, class, share.chunks, share.bytes);
}

PFA_INLINE void count_death(pfa_tls_t *tls, unsigned class, uint64_t size_flags)
{
    share_t share = share_of(size_flags);
    pfa_count_free(tls, class, share.chunks, share.bytes);
}

static PFA_COLD void say_once(_Atomic bool *said, const char *what)
{
    if (!atomic_exchange(said, true)) {
        pfa_say("%s", what);
    }
}

void pfa_chunk_missed(pfa_tls_t *tls)
{
    if (tls->thread != NULL) {
        pfa_own_add(&tls->thread->counters.unrecorded, 1);
    }
}

/* --- regions ----------------------------------------------------------------------------------------------------- */

static PFA_COLD void *region_failed(pfa_tls_t *tls)
{
    static _Atomic bool said;
    tls->region_backoff = BACKOFF;
    say_once(&said, "the profiled range is full or has no memory: some chunks are not recorded");
    return NULL;
}

static PFA_COLD void *region_heap(pfa_tls_t *tls)
{
    tls->region_heap = pfa_backing_heap(pfa_range.region_arena);
    return tls->region_heap != NULL ? tls->region_heap : region_failed(tls);
}

static PFA_COLD bool publish(pfa_tls_t *tls, void *chunk)
{
    if (pfa_region_publish(chunk) == 0) {
        return true;
    }
    pfa_backing_free(chunk);
    (void)region_failed(tls);
    return false;
}

/* May a chunk of the region heap be tried for? Makes the heap on first use. */
static PFA_NOINLINE bool prepare_region_heap(pfa_tls_t *tls)
{
    if (tls->region_backoff != 0) {
        tls->region_backoff--;
        return false;
    }
    return tls->region_heap != NULL || region_heap(tls) != NULL;
}

/* Writes the record of a chunk just taken from the region heap and counts it. */
PFA_INLINE void *begin_life(pfa_tls_t *tls, uintptr_t chunk, uint64_t size_flags)
{
    uint64_t offset = chunk - pfa_range.base;
    uint64_t word = pfa_region_word(offset);
    pfa_slot_t slot;
    (void)pfa_region_slot(offset, word, &slot);
    pfa_record_begin(slot.record, pfa_clock_now(tls), size_flags, tls->thread->number,
                     (uint16_t)((offset - slot.start) >> PFA_LEAD_SHIFT));
    count_birth(tls, pfa_word_class(word), size_flags);
    return (void *)chunk;
}

/* The result of the backing may be of a page not seen before, or nothing at all. */
static PFA_NOINLINE void *begin_first_life(pfa_tls_t *tls, uintptr_t tagged, uint64_t size_flags)
{
    if (tagged == 0) {
        return region_failed(tls);
    }
    uintptr_t chunk = tagged & ~(uintptr_t)1;
    return publish(tls, (void *)chunk) ? begin_life(tls, chunk, size_flags) : NULL;
}

void *pfa_chunk_alloc_region(pfa_tls_t *tls, size_t size, uint64_t flags)
{
    if (PFA_UNLIKELY(tls->region_heap == NULL || tls->region_backoff != 0) && !prepare_region_heap(tls)) {
        return NULL;
    }
    size_t slot_size = size < PFA_REGION_SLOT_MIN ? PFA_REGION_SLOT_MIN : size;
    uintptr_t tagged =
        (uintptr_t)pfa_backing_heap_malloc(tls->region_heap, slot_size, (flags & PFA_FLAG_ZEROED) != 0);
    if (PFA_UNLIKELY((tagged & 1) != 0 || tagged == 0)) {
        return begin_first_life(tls, tagged, size | flags);
    }
    return begin_life(tls, tagged, size | flags);
}

static void *region_aligned(pfa_tls_t *tls, const pfa_request_t *request)
{
    if (!prepare_region_heap(tls)) {
        return NULL;
    }
    size_t slot_size = request->size < PFA_REGION_SLOT_MIN ? PFA_REGION_SLOT_MIN : request->size;
    void *tagged = pfa_backing_heap_aligned(tls->region_heap, slot_size, request->align,
                                            (request->flags & PFA_FLAG_ZEROED) != 0);
    return begin_first_life(tls, (uintptr_t)tagged, request->size | request->flags);
}

/* --- large chunks ------------------------------------------------------------------------------------------------ */

static unsigned large_class(uint64_t size)
{
    unsigned top = 63u - (unsigned)__builtin_clzll(size | 1);
    unsigned class = PFA_CLASS_LARGE + (top > 16 ? top - 16 : 0);
    return class < PFA_CLASS_COUNT ? class : PFA_CLASS_COUNT - 1;
}

static PFA_COLD void *large_failed(pfa_tls_t *tls, const char *what)
{
    static _Atomic bool said;
    tls->large_backoff = BACKOFF;
    say_once(&said, what);
    return NULL;
}

static void *large_memory(pfa_tls_t *tls, const pfa_request_t *request, bool *outside)
{
    bool zero = (request->flags & PFA_FLAG_ZEROED) != 0;
    if (tls->large_heap == NULL && pfa_range.large_arena != 0) {
        tls->large_heap = pfa_backing_heap(pfa_range.large_arena);
    }
    *outside = false;
    if (tls->large_heap != NULL && request->align <= PFA_PLAIN_ALIGN_MAX) {
        uintptr_t tagged = (uintptr_t)(request->align == 0
                                           ? pfa_backing_heap_malloc(tls->large_heap, request->size, zero)
                                           : pfa_backing_heap_aligned(tls->large_heap, request->size, request->align,
                                                                      zero));
        if (tagged != 0) {
            return (void *)(tagged & ~(uintptr_t)1);
        }
    }
    *outside = true;
    /* A chunk of exactly a slot's size could share its page; one more byte makes it large. */
    size_t size = request->size > PFA_REGION_CHUNK_MAX ? request->size : PFA_REGION_CHUNK_MAX + 1;
    return request->align == 0 ? (zero ? pfa_backing_calloc(size) : pfa_backing_malloc(size))
                               : pfa_backing_aligned(size, request->align, zero);
}

static void *large_alloc(pfa_tls_t *tls, const pfa_request_t *request)
{
    if (tls->large_backoff != 0) {
        tls->large_backoff--;
        return NULL;
    }
    if (pfa_intervalmap_retired() > RETIRED_MAX) {
        return large_failed(tls, "too many freed large chunks wait for the background thread: some are not recorded");
    }
    pfa_large_t *node = pfa_backing_malloc(sizeof *node);
    if (node == NULL) {
        return large_failed(tls, "no memory for records: some large chunks are not recorded");
    }
    bool outside;
    void *chunk = large_memory(tls, request, &outside);
    if (chunk == NULL) {
        pfa_backing_free(node);
        return NULL;
    }
    if (outside) {
        /* From now on recorded chunks lie in plain space too: free has to look. Relaxed: whoever frees the chunk got it
         * from this thread after this store. */
        pfa_store_relaxed(&pfa_range.plain_words, 0);
    }
    node->start = (uintptr_t)chunk;
    node->size = pfa_backing_usable(chunk);
    uint64_t size_flags = request->size | request->flags | PFA_FLAG_LARGE;
    pfa_record_begin(&node->record, pfa_clock_now(tls), size_flags, tls->thread->number, 0);
    if (pfa_intervalmap_insert(&pfa_range.large, node) != 0) {
        pfa_backing_free(chunk);
        pfa_backing_free(node);
        return large_failed(tls, "no memory for the map of large chunks: some are not recorded");
    }
    count_birth(tls, large_class(request->size), size_flags);
    return chunk;
}

static void describe(pfa_finding_t *finding, pfa_verdict_t verdict, uintptr_t start, const pfa_record_t *record)
{
    *finding = (pfa_finding_t){verdict, start, 0, 0, 0};
    if (record != NULL) {
        finding->size_flags = pfa_load_relaxed(&record->size_flags);
        finding->alloc_time = record->alloc_time;
        finding->thread = record->thread;
    }
}

/* Not a recorded chunk's start: is it at least a place where mimalloc may have put one? */
static pfa_verdict_t judge_unrecorded(uintptr_t address)
{
    if (address % 8 != 0) {
        return address - pfa_range.plain_base < pfa_range.plain_span ? PFA_CHUNK_INTERIOR : PFA_CHUNK_FOREIGN;
    }
    if (address - pfa_range.plain_base < pfa_range.plain_span || pfa_backing_owns((const void *)address)) {
        return PFA_CHUNK_PLAIN;
    }
    return PFA_CHUNK_FOREIGN;
}

static void judge_large(uintptr_t address, pfa_finding_t *finding)
{
    const pfa_large_t *node = pfa_intervalmap_find(&pfa_range.large, address);
    if (node != NULL) {
        describe(finding, address == node->start ? PFA_CHUNK_LIVE : PFA_CHUNK_INTERIOR, node->start, &node->record);
    } else if (address - pfa_range.base < pfa_range.total_span) {
        describe(finding, PFA_CHUNK_FREED, 0, NULL); /* in L, where only recorded chunks are */
    } else {
        describe(finding, judge_unrecorded(address), 0, NULL);
    }
}

static pfa_verdict_t large_free(pfa_tls_t *tls, uintptr_t address, pfa_finding_t *finding)
{
    pfa_rcu_read_lock();
    pfa_large_t *node = pfa_intervalmap_remove(&pfa_range.large, address);
    if (node == NULL) {
        judge_large(address, finding);
        pfa_verdict_t verdict = finding->verdict;
        pfa_rcu_read_unlock();
        /* Found alive again here means that two threads free it at once and the other was first. */
        return finding->verdict = verdict == PFA_CHUNK_LIVE ? PFA_CHUNK_FREED : verdict;
    }
    uint64_t size_flags = pfa_load_relaxed(&node->record.size_flags);
    pfa_store_relaxed(&node->record.size_flags, (size_flags & ~PFA_FLAG_LIVE) | PFA_FLAG_FREED);
    pfa_rcu_read_unlock();
    count_death(tls, large_class(pfa_size_of(size_flags)), size_flags);
    pfa_intervalmap_retire(node);
    pfa_backing_free((void *)address);
    if (pfa_chunk_want_reclaim != NULL) {
        pfa_chunk_want_reclaim();
    }
    return PFA_CHUNK_LIVE;
}

void pfa_chunk_reclaim(void)
{
    pfa_intervalmap_reclaim(pfa_backing_free);
}

/* --- both -------------------------------------------------------------------------------------------------------- */

void *pfa_chunk_alloc(pfa_tls_t *tls, const pfa_request_t *request)
{
    if (request->size > PFA_REGION_CHUNK_MAX || request->align > PFA_REGION_CHUNK_MAX - request->size) {
        return request->size <= PFA_SIZE_MASK >> 1 ? large_alloc(tls, request) : NULL;
    }
    return request->align == 0 ? pfa_chunk_alloc_region(tls, request->size, request->flags)
                               : region_aligned(tls, request);
}

static PFA_COLD pfa_verdict_t judge_slot(uintptr_t address, uint64_t offset, uint64_t word, pfa_finding_t *finding)
{
    pfa_slot_t slot;
    if (word == 0) {
        describe(finding, PFA_CHUNK_FOREIGN, 0, NULL);
    } else if (!pfa_region_slot(offset, word, &slot)) {
        describe(finding, PFA_CHUNK_INTERIOR, 0, NULL);
    } else {
        uint64_t size_flags = pfa_load_relaxed(&slot.record->size_flags);
        uintptr_t start = pfa_range.base + slot.start + ((uint64_t)slot.record->lead << PFA_LEAD_SHIFT);
        pfa_verdict_t verdict = address != start                       ? PFA_CHUNK_INTERIOR
                                : (size_flags & PFA_FLAG_LIVE) != 0    ? PFA_CHUNK_LIVE
                                : (size_flags & PFA_FLAG_FREED) != 0   ? PFA_CHUNK_FREED
                                                                       : PFA_CHUNK_FOREIGN;
        describe(finding, verdict, start, slot.record);
    }
    return finding->verdict;
}

bool pfa_chunk_free_region(pfa_tls_t *tls, uintptr_t address)
{
    uint64_t offset = address - pfa_range.base;
    if (PFA_UNLIKELY(offset >= pfa_range.region_span)) {
        return false;
    }
    uint64_t word = pfa_region_word(offset);
    pfa_slot_t slot;
    if (PFA_UNLIKELY(word == 0) || PFA_UNLIKELY(!pfa_region_slot(offset, word, &slot))) {
        return false;
    }
    uint64_t size_flags = pfa_load_relaxed(&slot.record->size_flags);
    uint64_t start = slot.start + ((uint64_t)slot.record->lead << PFA_LEAD_SHIFT);
    if (PFA_UNLIKELY((size_flags & PFA_FLAG_LIVE) == 0) || PFA_UNLIKELY(start != offset)) {
        return false;
    }
    /* Before the slot can be handed out again, since its next owner writes the same record. */
    pfa_store_relaxed(&slot.record->size_flags, size_flags ^ (PFA_FLAG_LIVE | PFA_FLAG_FREED));
    count_death(tls, pfa_word_class(word), size_flags);
    pfa_backing_free((void *)address);
    return true;
}

pfa_verdict_t pfa_chunk_free(pfa_tls_t *tls, uintptr_t address, pfa_finding_t *finding)
{
    uint64_t offset = address - pfa_range.base;
    if (pfa_chunk_free_region(tls, address)) {
        return finding->verdict = PFA_CHUNK_LIVE;
    }
    if (offset < pfa_range.region_span) {
        return judge_slot(address, offset, pfa_region_word(offset), finding);
    }
    if (offset < pfa_range.total_span || pfa_load_relaxed(&pfa_range.large.has_outside)) {
        return large_free(tls, address, finding);
    }
    describe(finding, judge_unrecorded(address), 0, NULL);
    return finding->verdict;
}

void pfa_chunk_find(uintptr_t address, pfa_finding_t *finding)
{
    uint64_t offset = address - pfa_range.base;
    if (offset < pfa_range.region_span) {
        (void)judge_slot(address, offset, pfa_region_word(offset), finding);
        return;
    }
    if (offset >= pfa_range.total_span && !pfa_load_relaxed(&pfa_range.large.has_outside)) {
        describe(finding, judge_unrecorded(address), 0, NULL);
        return;
    }
    pfa_rcu_read_lock();
    judge_large(address, finding);
    pfa_rcu_read_unlock();
}

void pfa_chunk_resize(pfa_tls_t *tls, uintptr_t address, size_t size, uint64_t weight)
{
    pfa_hit_t hit;
    pfa_rcu_read_lock();
    if (pfa_lookup(address, &hit)) {
        uint64_t old = pfa_load_relaxed(&hit.record->size_flags);
        bool large = (old & PFA_FLAG_LARGE) != 0;
        unsigned class = large ? 0 : pfa_word_class(pfa_region_word(address - pfa_range.base));
        count_death(tls, large ? large_class(pfa_size_of(old)) : class, old);
        uint64_t fresh = size | (old & (PFA_FLAG_LARGE | PFA_FLAG_ALIGNED)) | PFA_FLAG_REALLOC | weight;
        pfa_record_begin(hit.record, pfa_clock_now(tls), fresh, tls->thread->number, hit.record->lead);
        count_birth(tls, large ? large_class(size) : class, fresh);
    }
    pfa_rcu_read_unlock();
}

bool pfa_lookup_copy(uintptr_t address, uintptr_t *start, pfa_record_t *copy)
{
    pfa_hit_t hit;
    pfa_rcu_read_lock();
    bool found = pfa_lookup(address, &hit);
    if (found) {
        *start = hit.start;
        *copy = *hit.record;
    }
    pfa_rcu_read_unlock();
    return found;
}
