/* Owns the life of recorded chunks: which space they come from, and all of it that is not hot (alloc/life.h is). See
 * alloc/chunk.h for who may call what. */
#include "alloc/chunk.h"
#include "alloc/life.h"
#include "alloc/sampler.h"
#include "base/message.h"
#include "meta/clock.h"
#include "meta/thread.h"

enum { BACKOFF = 4096, RETIRED_MAX = 65536 };

/* Sampled chunks above this size are treated as large: with a few of them at a time, a page of slots for each of many
 * classes is memory that is never warm, and growing buffers were 10 percent slower for it. */
#define SAMPLED_REGION_MAX ((size_t)16 << 10)

void (*pfa_chunk_want_reclaim)(void);

pfa_share_t pfa_life_sampled_share(uint64_t size_flags)
{
    uint64_t size = pfa_size_of(size_flags);
    double weight = pfa_sampler_weight(pfa_weight_class_of(size_flags), size);
    return (pfa_share_t){(uint64_t)(weight * PFA_COUNT_ONE + 0.5), (uint64_t)(weight * (double)size + 0.5)};
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
    pfa_clock_stop_skipping(tls);
    tls->region_heap_aside = tls->region_heap;
    tls->region_heap = NULL;
    say_once(&said, "the profiled range is full or has no memory: some chunks are not recorded");
    return NULL;
}

static bool publish(pfa_tls_t *tls, void *chunk)
{
    if (pfa_region_publish(chunk) == 0) {
        return true;
    }
    pfa_backing_free(chunk);
    (void)region_failed(tls);
    /* The heap has a page of unknown geometry at hand now: never take from it again, make another. */
    tls->region_heap_aside = NULL;
    return false;
}

/* A heap, with one chunk that stays: mimalloc gives a segment without chunks back, and setting up the next costs as much
 * as clearing 100 KB. With little recorded at a time that would happen all the time. */
static PFA_COLD void *anchored_heap(int arena, size_t size, void **anchor)
{
    void *heap = arena != 0 ? pfa_backing_heap(arena) : NULL;
    *anchor = heap != NULL ? pfa_backing_heap_malloc(heap, size, false) : NULL;
    return heap;
}

static PFA_COLD void *region_heap(pfa_tls_t *tls)
{
    tls->region_heap = anchored_heap(pfa_range.region_arena, PFA_REGION_SLOT_MIN, &tls->region_anchor);
    /* The anchor's page has slots at hand from now on, so its geometry must be known. */
    if (tls->region_anchor != NULL && !publish(tls, tls->region_anchor)) {
        tls->region_anchor = NULL;
        return NULL;
    }
    return tls->region_heap != NULL ? tls->region_heap : region_failed(tls);
}

void pfa_chunk_thread_end(pfa_tls_t *tls)
{
    pfa_clock_stop_skipping(tls);
    if (tls->region_anchor != NULL) {
        pfa_backing_free(tls->region_anchor);
    }
    if (tls->large_anchor != NULL) {
        pfa_backing_free(tls->large_anchor);
    }
    tls->region_anchor = NULL;
    tls->large_anchor = NULL;
    tls->region_heap = NULL;
    tls->large_heap = NULL;
}

/* A thread that failed waits for a number of allocations before it tries again, without a heap meanwhile. */
static PFA_NOINLINE bool prepare_region_heap(pfa_tls_t *tls)
{
    if (tls->region_backoff != 0) {
        if (--tls->region_backoff == 0) {
            tls->region_heap = tls->region_heap_aside;
        }
        return false;
    }
    return tls->region_heap != NULL || region_heap(tls) != NULL;
}

static void *region_alloc(pfa_tls_t *tls, size_t size, size_t align, uint64_t flags)
{
    if (!prepare_region_heap(tls)) {
        return NULL;
    }
    size_t slot_size = pfa_life_slot_size(size);
    bool zero = (flags & PFA_FLAG_ZEROED) != 0;
    void *chunk = align == 0 ? pfa_backing_heap_malloc(tls->region_heap, slot_size, zero)
                             : pfa_backing_heap_aligned(tls->region_heap, slot_size, align, zero);
    if (chunk == NULL) {
        return region_failed(tls);
    }
    if (!publish(tls, chunk)) {
        return NULL;
    }
    if (pfa_life_begin(tls, (uintptr_t)chunk, size | flags, pfa_clock_now(tls))) {
        pfa_live_settle(tls);
    }
    return chunk;
}

/* --- large chunks ------------------------------------------------------------------------------------------------ */

static unsigned large_class(uint64_t size)
{
    unsigned top = 63u - (unsigned)__builtin_clzll(size | 1);
    unsigned class = PFA_CLASS_LARGE + (top > 16 ? top - 16 : 0);
    return class < PFA_CLASS_COUNT ? class : PFA_CLASS_COUNT - 1;
}

static void count_large_birth(pfa_tls_t *tls, uint64_t size_flags)
{
    if (pfa_life_count_birth(tls, large_class(pfa_size_of(size_flags)), size_flags)) {
        pfa_live_settle(tls);
    }
}

static PFA_COLD void *large_failed(pfa_tls_t *tls, const char *what)
{
    static _Atomic bool said;
    tls->large_backoff = BACKOFF;
    say_once(&said, what);
    return NULL;
}

static void *large_memory(pfa_tls_t *tls, size_t size, size_t align, uint64_t flags, bool *outside)
{
    bool zero = (flags & PFA_FLAG_ZEROED) != 0;
    size = size > PFA_REGION_CHUNK_MAX ? size : PFA_REGION_CHUNK_MAX + 1;
    if (tls->large_heap == NULL) {
        tls->large_heap = anchored_heap(pfa_range.large_arena, PFA_REGION_CHUNK_MAX + 1, &tls->large_anchor);
    }
    *outside = false;
    if (tls->large_heap != NULL && align <= PFA_PLAIN_ALIGN_MAX) {
        void *chunk = align == 0 ? pfa_backing_heap_malloc(tls->large_heap, size, zero)
                                 : pfa_backing_heap_aligned(tls->large_heap, size, align, zero);
        if (chunk != NULL) {
            return chunk;
        }
    }
    *outside = true;
    return align == 0 ? (zero ? pfa_backing_calloc(size) : pfa_backing_malloc(size))
                      : pfa_backing_aligned(size, align, zero);
}

static void *large_alloc(pfa_tls_t *tls, size_t size, size_t align, uint64_t flags)
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
    void *chunk = large_memory(tls, size, align, flags, &outside);
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
    uint64_t size_flags = size | flags | PFA_FLAG_LARGE;
    pfa_record_begin(&node->record, pfa_clock_now(tls), size_flags, tls->record_tail);
    if (pfa_intervalmap_insert(&pfa_range.large, node) != 0) {
        pfa_backing_free(chunk);
        pfa_backing_free(node);
        return large_failed(tls, "no memory for the map of large chunks: some are not recorded");
    }
    count_large_birth(tls, size_flags);
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

static pfa_verdict_t verdict_of(uint64_t size_flags, bool at_start)
{
    static const pfa_verdict_t by_state[] = {PFA_CHUNK_FOREIGN, PFA_CHUNK_LIVE, PFA_CHUNK_FREED, PFA_CHUNK_SILENT};
    pfa_verdict_t verdict = by_state[size_flags >> 48 & 3];
    return at_start || verdict == PFA_CHUNK_FOREIGN ? verdict : PFA_CHUNK_INTERIOR;
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
        describe(finding, verdict_of(pfa_load_relaxed(&node->record.size_flags), address == node->start), node->start,
                 &node->record);
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
        pfa_rcu_read_unlock();
        /* Found alive again here means that two threads free it at once and the other was first. */
        if (finding->verdict == PFA_CHUNK_LIVE || finding->verdict == PFA_CHUNK_SILENT) {
            finding->verdict = PFA_CHUNK_FREED;
        }
        return finding->verdict;
    }
    uint64_t size_flags = pfa_load_relaxed(&node->record.size_flags);
    pfa_record_end(&node->record, size_flags);
    pfa_rcu_read_unlock();
    if (pfa_is_live(size_flags)) {
        pfa_life_count_death(tls, large_class(pfa_size_of(size_flags)), size_flags);
    }
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

void *pfa_chunk_alloc(pfa_tls_t *tls, size_t size, size_t align, uint64_t flags)
{
    size_t region_max = (flags & PFA_WEIGHT_MASK) == 0 ? PFA_REGION_CHUNK_MAX : SAMPLED_REGION_MAX;
    if (size <= region_max && align <= PFA_REGION_CHUNK_MAX - size) {
        return region_alloc(tls, size, align, flags);
    }
    return size <= PFA_SIZE_MASK >> 1 ? large_alloc(tls, size, align, flags) : NULL;
}

static pfa_verdict_t judge_slot(uint64_t offset, pfa_finding_t *finding)
{
    uint64_t word = pfa_region_word(offset);
    pfa_place_t place = pfa_region_place(offset, word);
    if (word == 0) {
        describe(finding, PFA_CHUNK_FOREIGN, 0, NULL);
    } else if (place.distance < 0) {
        describe(finding, PFA_CHUNK_INTERIOR, 0, NULL);
    } else {
        uint64_t lead = (uint64_t)place.record->lead << PFA_LEAD_SHIFT;
        uint64_t within = pfa_place_within(&place, word);
        pfa_verdict_t verdict = verdict_of(pfa_load_relaxed(&place.record->size_flags), within == lead);
        describe(finding, verdict, pfa_range.base + offset - within + lead, place.record);
    }
    return finding->verdict;
}

static pfa_verdict_t region_free(pfa_tls_t *tls, uintptr_t address, pfa_finding_t *finding)
{
    uint64_t offset = address - pfa_range.base;
    pfa_verdict_t verdict = judge_slot(offset, finding);
    if (verdict == PFA_CHUNK_LIVE || verdict == PFA_CHUNK_SILENT) {
        uint64_t word = pfa_region_word(offset);
        pfa_record_end(pfa_region_place(offset, word).record, finding->size_flags);
        if (verdict == PFA_CHUNK_LIVE) {
            pfa_life_count_death(tls, pfa_word_class(word), finding->size_flags);
        }
        pfa_backing_free((void *)address);
        return PFA_CHUNK_LIVE;
    }
    return verdict;
}

pfa_verdict_t pfa_chunk_free(pfa_tls_t *tls, uintptr_t address, pfa_finding_t *finding)
{
    uint64_t offset = address - pfa_range.base;
    if (offset < pfa_range.region_span) {
        return region_free(tls, address, finding);
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
        (void)judge_slot(offset, finding);
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

static void resize(pfa_tls_t *tls, pfa_record_t *record, unsigned class, size_t size, bool due, uint64_t weight)
{
    uint64_t old = pfa_load_relaxed(&record->size_flags);
    uint64_t kept = old & (PFA_FLAG_LARGE | PFA_FLAG_ALIGNED | PFA_FLAG_LEAD);
    bool large = (old & PFA_FLAG_LARGE) != 0;
    if (pfa_is_live(old)) {
        pfa_life_count_death(tls, large ? large_class(pfa_size_of(old)) : class, old);
    }
    if (!due) {
        pfa_store_relaxed(&record->size_flags, size | kept | PFA_FLAGS_SILENT);
        return;
    }
    uint64_t fresh = size | kept | PFA_FLAG_REALLOC | weight;
    pfa_record_begin(record, pfa_clock_now(tls), fresh, tls->record_tail | pfa_record_tail(0, record->lead));
    if (pfa_life_count_birth(tls, large ? large_class(size) : class, fresh)) {
        pfa_live_settle(tls);
    }
}

void pfa_chunk_resize(pfa_tls_t *tls, uintptr_t address, size_t size, bool due, uint64_t weight)
{
    uint64_t offset = address - pfa_range.base;
    if (offset < pfa_range.region_span) {
        uint64_t word = pfa_region_word(offset);
        resize(tls, pfa_region_place(offset, word).record, pfa_word_class(word), size, due, weight);
        return;
    }
    pfa_rcu_read_lock();
    pfa_large_t *node = pfa_intervalmap_find(&pfa_range.large, address);
    if (node != NULL) {
        resize(tls, &node->record, 0, size, due, weight);
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
