/* Owns the life of recorded chunks as far as it is not hot (alloc/life.h is), not of large ones (alloc/large.c is), and not ended by
 * realloc (alloc/resize.c).
 * See alloc/chunk.h for who may call what. */
#include "alloc/chunk.h"
#include "alloc/finding.h"
#include "alloc/large.h"
#include "alloc/life.h"
#include "alloc/sampler.h"
#include "base/message.h"
#include "meta/clock.h"
#include "meta/extents.h"
#include "meta/measure.h"
#include "meta/reading.h"
#include "meta/thread.h"
#include "meta/usual.h"

#include <string.h>

enum { BACKOFF = 4096 };

/* Sampled chunks above this size are treated as large: with a few of them at a time, a page of slots for each of many
 * classes is memory that is never warm, and growing buffers were 10 percent slower for it. */
#define SAMPLED_REGION_MAX ((size_t)16 << 10)

pfa_share_t pfa_life_sampled_share(uint64_t size_flags)
{
    uint64_t size = pfa_size_of(size_flags);
    double weight = pfa_sampler_weight(pfa_weight_class_of(size_flags), size);
    return (pfa_share_t){(uint64_t)(weight * PFA_COUNT_ONE + 0.5), (uint64_t)(weight * (double)size + 0.5)};
}

/* What was done with a chunk that dies; and what the next ones of its call site can be known by. */
static pfa_event_accesses_t uses(pfa_record_t *record, uint64_t size_flags, uint64_t now)
{
    pfa_event_accesses_t accesses = pfa_life_accesses(record, size_flags);
    pfa_reading_t *reading = pfa_reading_of(pfa_readings, record);
    bool watched = false;
    if (pfa_reading_is_of(reading, record)) {
        watched = pfa_load_relaxed(&reading->watched) != 0 && pfa_load_relaxed(&reading->clock) >= record->alloc_time;
        /* Where another thread was the last, it has read the clock, and that is not among the readings. */
        bool is_passed = (size_flags & PFA_FLAG_SHARED) != 0 && accesses.last > pfa_load_relaxed(&reading->clock);
        if (accesses.length != 0 && !is_passed) {
            uint32_t total = accesses.reads + accesses.writes;
            accesses.last = pfa_reading_last(reading, accesses.first, accesses.last, now, total);
        }
        pfa_reading_end(reading, record);
    }
    pfa_usual_note(pfa_usual_slot(record->stack, record->thread, pfa_size_of(size_flags)), accesses.reads,
                   accesses.writes, watched, record->alloc_time, now);
    return accesses;
}

void pfa_life_forget_use(const pfa_record_t *record)
{
    uint64_t size_flags = pfa_load_relaxed(&record->size_flags);
    pfa_usual_forget(pfa_usual_slot(record->stack, record->thread, pfa_size_of(size_flags)));
}

void pfa_life_more(pfa_event_more_t *more, pfa_record_t *record, uint64_t size_flags, uintptr_t address, uint64_t now)
{
    *more = (pfa_event_more_t){.address = address};
    if (pfa_range_is_wide()) {
        more->accesses = uses(record, size_flags, now);
    }
}

void pfa_life_tell_more(const pfa_ring_t *ring, pfa_record_t *record, uint64_t size_flags, uintptr_t address,
                        uint64_t now)
{
    uint64_t at = ring->head & ring->mask;
    if (ring->accesses != NULL) {
        ring->accesses[at] = uses(record, size_flags, now);
    }
    if (ring->addresses != NULL) {
        ring->addresses[at] = address;
    }
}

void pfa_life_tell_slowly(pfa_tls_t *tls, uintptr_t address, pfa_record_t *record, uint64_t size_flags)
{
    if (pfa_ring_is_open()) {
        uint32_t stack = tls->free_stack;
        if (stack == 0) {
            stack =
                tls->thread != NULL ? pfa_stack_site(tls, tls->free_site) : pfa_stack_find_site(tls, tls->free_site);
        }
        uint64_t now = tls->moved_time != 0 ? tls->moved_time : pfa_measure_now(tls);
        uint64_t flags = tls->moved_time != 0 ? PFA_EVENT_MOVED : 0;
        pfa_life_tell(tls, address, record, size_flags, flags, stack, now);
    } else if (pfa_range_has_accesses(size_flags)) {
        pfa_life_forget_use(record);
    }
}

void pfa_chunk_missed(pfa_tls_t *tls)
{
    if (tls->thread != NULL) {
        (void)__atomic_fetch_add(&tls->thread->counters.unrecorded, 1, __ATOMIC_RELAXED); /* rare; also in handlers */
    }
    if (pfa_extents_head != NULL) { /* where it is told of a process that was killed */
        pfa_add_relaxed(&pfa_extents_head->unrecorded, 1);
    }
}

static PFA_COLD void *region_failed(pfa_tls_t *tls)
{
    static _Atomic bool said;
    /* A full disk does not get better by trying, and each try would cost a heap. */
    tls->region_backoff = pfa_extents_full() ? UINT32_MAX : BACKOFF;
    pfa_clock_stop_skipping(tls);
    tls->region_heap_aside = tls->region_heap;
    tls->region_heap = NULL;
    if (!pfa_extents_said_no_room()) {
        pfa_say_trouble(&said, "the profiled range is full or has no memory: some chunks are not recorded");
    }
    return NULL;
}

/* Each failure costs a heap, so whoever tries next waits twice as long: there are few of them, however long it goes on. */
static uint32_t longer_backoff(void)
{
    enum { DOUBLINGS = 10 };          /* 4 million allocations: then it is seen whether there is room again */
    static _Atomic uint32_t failures; /* of all threads */
    uint32_t times = pfa_add_relaxed(&failures, 1);
    return (uint32_t)BACKOFF << (times < DOUBLINGS ? times : DOUBLINGS);
}

/* The heap has a page of unknown geometry at hand: never take from it again, make another. */
static PFA_COLD void *publish_failed(pfa_tls_t *tls)
{
    void *heap = tls->region_heap;
    (void)region_failed(tls);
    tls->region_heap_aside = NULL;
    uint32_t backoff = longer_backoff();
    tls->region_backoff = tls->region_backoff > backoff ? tls->region_backoff : backoff;
    pfa_backing_give_up_heap(heap);
    return NULL;
}

static PFA_COLD void *region_heap(pfa_tls_t *tls)
{
    void *anchor;
    tls->region_heap = pfa_backing_kept_heap(pfa_range.region_arena, PFA_REGION_SLOT_MIN, &anchor);
    /* The anchor's page has slots at hand from now on, so its geometry must be known. */
    if (anchor != NULL && pfa_region_publish(anchor) != 0) {
        return publish_failed(tls);
    }
    return tls->region_heap != NULL ? tls->region_heap : region_failed(tls);
}

/* A handler that comes meanwhile finds no heap, or another. */
static void leave_region_heap(pfa_tls_t *tls)
{
    void *heap = tls->region_heap != NULL ? tls->region_heap : tls->region_heap_aside;
    tls->region_heap = NULL;
    tls->region_heap_aside = NULL; /* the thread may be born again */
    tls->region_backoff = 0;
    pfa_fence_compiler();
    if (heap != NULL) {
        pfa_backing_leave_heap(heap);
    }
}

void pfa_chunk_thread_end(pfa_tls_t *tls)
{
    pfa_clock_stop_skipping(tls);
    leave_region_heap(tls);
    if (tls->large_anchor != NULL) {
        pfa_backing_free(tls->large_anchor);
    }
    if (tls->large_spare != NULL) {
        pfa_backing_free(tls->large_spare);
    }
    tls->large_anchor = NULL;
    tls->large_spare = NULL;
    tls->large_heap = NULL;
    tls->large_backoff = 0;
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

/* A slot from a page that may be new to us. Until that is published, nobody takes another from it. */
static void *fetch_slot_busily(pfa_tls_t *tls, size_t slot_size, size_t align)
{
    if (!prepare_region_heap(tls)) {
        return NULL;
    }
    pfa_measure_own_begin(tls);
    void *chunk = align == 0 ? pfa_backing_heap_malloc(tls->region_heap, slot_size, false)
                             : pfa_backing_heap_aligned(tls->region_heap, slot_size, align, false);
    pfa_measure_own_end(tls);
    if (chunk == NULL) {
        return region_failed(tls);
    }
    if (pfa_region_publish(chunk) != 0) {
        pfa_backing_free(chunk);
        return publish_failed(tls);
    }
    return chunk;
}

void (*pfa_chunk_many_made)(void);

/* The backing makes new slots a few at a time, more of them the smaller they are; a program that does little fetches a few times
 * for each of its sizes. */
static void count_fetch(void)
{
    enum { FETCHES = 256 };
    static _Atomic uint32_t fetches;
    if (pfa_add_relaxed(&fetches, 1) % FETCHES == FETCHES - 1 && pfa_chunk_many_made != NULL) {
        pfa_chunk_many_made();
    }
}

static PFA_NOINLINE void *fetch_slot(pfa_tls_t *tls, size_t slot_size, size_t align)
{
    count_fetch();
    pfa_tls_begin_busy(tls);
    void *chunk = fetch_slot_busily(tls, slot_size, align);
    pfa_tls_end_busy(tls);
    return chunk;
}

static PFA_NOINLINE void *pop_measured(pfa_tls_t *tls, size_t slot_size, size_t align)
{
    pfa_measure_own_begin(tls);
    void *chunk = pfa_backing_heap_pop_aligned(tls->region_heap, slot_size, align);
    pfa_measure_own_end(tls);
    return chunk;
}

static void *pop_slot(pfa_tls_t *tls, size_t slot_size, size_t align)
{
    void *heap = tls->region_heap;
    if (PFA_UNLIKELY(heap == NULL)) {
        return NULL;
    }
    return PFA_LIKELY(!tls->measures_own) ? pfa_backing_heap_pop_aligned(heap, slot_size, align)
                                          : pop_measured(tls, slot_size, align);
}

static void *region_alloc(pfa_tls_t *tls, size_t size, size_t align, uint64_t flags)
{
    size_t slot_size = pfa_life_slot_size(size);
    void *chunk = pop_slot(tls, slot_size, align);
    if (PFA_UNLIKELY(chunk == NULL)) {
        chunk = fetch_slot(tls, slot_size, align);
        if (chunk == NULL) {
            return NULL;
        }
    }
    if ((flags & PFA_FLAG_ZEROED) != 0) {
        pfa_measure_own_begin(tls);
        memset(chunk, 0, slot_size); /* not left to mimalloc, which knows nothing of slots used again at once */
        pfa_measure_own_end(tls);
    }
    uint64_t now = tls->asked_time;
    if (PFA_LIKELY(now != 0)) {
        tls->asked_time = 0; /* a handler that comes meanwhile gets this one or its own, never the same */
    } else if (pfa_clock_may_skip(tls)) {
        now = pfa_clock_step(tls);
    } else {
        now = pfa_clock_read(tls);
        pfa_backing_heap_tend(tls->region_heap);
    }
    if (pfa_life_begin(tls, (uintptr_t)chunk, pfa_size_flags(size, flags), now)) {
        pfa_live_settle(tls);
    }
    return chunk;
}

void *pfa_chunk_alloc(pfa_tls_t *tls, size_t size, size_t align, uint64_t flags)
{
    size_t region_max = (flags & PFA_WEIGHT_MASK) == 0 ? PFA_REGION_CHUNK_MAX : SAMPLED_REGION_MAX;
    if (size <= region_max && align <= PFA_REGION_CHUNK_MAX - size) {
        return region_alloc(tls, size, align, flags);
    }
    pfa_tls_begin_busy(tls);
    void *chunk = pfa_large_alloc(tls, size, align, flags);
    pfa_tls_end_busy(tls);
    return chunk;
}

/* Is it the first byte of what was, at some time, a chunk? */
static bool is_start(const pfa_place_t *place)
{
    if (PFA_UNLIKELY(pfa_finding_is_inherited(place->record))) {
        return true;
    }
    return pfa_place_within(place) == pfa_record_lead(place->record);
}

static bool is_slot(const pfa_place_t *place)
{
    return place->word != 0 && place->distance >= 0;
}

static pfa_verdict_t judge_slot(uint64_t offset, pfa_finding_t *finding)
{
    pfa_place_t place = pfa_region_place(offset);
    if (!is_slot(&place)) {
        pfa_finding_describe(finding, place.word == 0 ? PFA_CHUNK_FOREIGN : PFA_CHUNK_INTERIOR, 0, NULL);
    } else if (PFA_UNLIKELY(pfa_range.blind)) {
        pfa_finding_describe(finding, PFA_CHUNK_SILENT, 0, NULL);
    } else {
        uintptr_t start = pfa_range.base + offset - pfa_place_within(&place) + pfa_record_lead(place.record);
        uint64_t size_flags = pfa_load_relaxed(&place.record->size_flags);
        pfa_finding_describe(finding, pfa_finding_verdict(size_flags, is_start(&place)), start, place.record);
    }
    return finding->verdict;
}

void pfa_chunk_count_inherited(uint64_t size_flags)
{
    if (pfa_range.inherited && !pfa_range.blind && (size_flags & PFA_FLAGS_SILENT) == 0) {
        pfa_add_relaxed(&pfa_extents_head->inherited, 1);
    }
}

static pfa_verdict_t region_free(pfa_tls_t *tls, uintptr_t address, pfa_finding_t *finding)
{
    uint64_t offset = address - pfa_range.base;
    pfa_place_t place = pfa_region_place(offset);
    if (!is_slot(&place) || !is_start(&place)) {
        return judge_slot(offset, finding);
    }
    if (PFA_UNLIKELY(pfa_range.blind)) {
        pfa_backing_free((void *)address);
        return PFA_CHUNK_LIVE;
    }
    uint64_t size_flags = pfa_load_relaxed(&place.record->size_flags);
    if ((size_flags & PFA_FLAG_LIVE) == 0 && !pfa_finding_is_inherited(place.record)) {
        return judge_slot(offset, finding);
    }
    if (pfa_is_live(size_flags)) {
        pfa_life_tell_slowly(tls, address, place.record, size_flags);
    } else {
        pfa_chunk_count_inherited(size_flags);
    }
    pfa_record_end(place.record, size_flags);
    if (pfa_is_live(size_flags)) {
        pfa_life_count_death(tls, pfa_word_class(place.word), size_flags);
    }
    pfa_measure_own_begin(tls);
    pfa_backing_free_keeping((void *)address);
    pfa_measure_own_end(tls);
    return PFA_CHUNK_LIVE;
}

pfa_verdict_t pfa_chunk_free(pfa_tls_t *tls, uintptr_t address, pfa_finding_t *finding)
{
    uint64_t offset = address - pfa_range.base;
    if (offset < pfa_range.region_span) {
        return region_free(tls, address, finding);
    }
    if (offset < pfa_range.total_span || pfa_load_relaxed(&pfa_range.large.has_outside)) {
        return pfa_large_free(tls, address, finding);
    }
    pfa_finding_describe(finding, pfa_finding_unrecorded(address), 0, NULL);
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
        pfa_finding_describe(finding, pfa_finding_unrecorded(address), 0, NULL);
        return;
    }
    bool entered = pfa_rcu_enter(&pfa_tls);
    pfa_large_judge(address, finding);
    pfa_rcu_leave(entered);
}
