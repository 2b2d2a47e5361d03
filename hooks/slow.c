/* Owns the long ways of malloc and free, and of what is like them: what they do when the fast path said no. Nothing here may
 * call a function that this library replaces. */
#include "alloc/life.h"
#include "alloc/rcu.h"
#include "base/lock.h"
#include "base/options.h"
#include "hooks/slow.h"
#include "meta/measure.h"

/* Sets the countdown for the mode in force. */
static void rearm(pfa_tls_t *tls)
{
    uint32_t epoch = pfa_load_acquire(&pfa_sampling.epoch);
    pfa_mode_t mode = (pfa_mode_t)pfa_load_acquire(&pfa_sampling.mode);
    int64_t countdown = -1;
    if (mode == PFA_MODE_OFF) {
        countdown = PFA_COUNTDOWN_OFF;
    } else if (mode == PFA_MODE_SAMPLED) {
        tls->weight_class = (uint8_t)pfa_load_acquire(&pfa_sampling.weight_class);
        countdown = (int64_t)pfa_sampler_distance(&tls->random, pfa_sampler_period(tls->weight_class));
    }
    tls->mode = (uint8_t)mode;
    tls->clock_may_skip = mode == PFA_MODE_FULL;
    pfa_clock_stop_skipping(tls);
    __atomic_store_n(&tls->countdown, countdown, __ATOMIC_RELAXED);
    if (pfa_load_relaxed(&tls->epoch) != epoch) {
        pfa_live_settle(tls); /* the mode before may have allowed more to be held back */
        pfa_thread_say_name(tls);
        pfa_store_relaxed(&tls->epoch, epoch);
    }
    /* Partner: pfa_sys_fence_all in pfa_thread_list_interrupt, which is a fence here too. If the mode changed while we
     * were at it, we see that below, or whoever changed it finds our countdown. (A fence of our own waits until all that
     * the program has written is in the cache: two percent of the time of programs with big chunks.) */
    pfa_fence_compiler();
    if (pfa_load_relaxed(&pfa_sampling.epoch) != epoch) {
        __atomic_store_n(&tls->countdown, -1, __ATOMIC_RELAXED);
    }
}

static void *plain(size_t size, size_t align, uint64_t flags)
{
    bool zero = (flags & PFA_FLAG_ZEROED) != 0;
    if (align != 0) {
        return pfa_backing_aligned(size, align, zero);
    }
    return zero ? pfa_backing_calloc(size) : pfa_backing_malloc(size);
}

/* Is the thread set up, and for the mode in force, and is that to record everything; and did no signal handler come into the
 * middle of our own doings? */
static inline bool records_all(const pfa_tls_t *tls)
{
    return PFA_LIKELY(tls->locks == 0) &&
           PFA_LIKELY(pfa_load_relaxed(&tls->epoch) == pfa_load_relaxed(&pfa_sampling.epoch)) &&
           PFA_LIKELY(tls->mode == PFA_MODE_FULL);
}

bool pfa_slow_is_due(pfa_tls_t *tls, size_t size, uint64_t *weight)
{
    *weight = 0;
    if (PFA_UNLIKELY(pfa_locks_held())) {
        return false; /* in a handler that came into the middle of our own doings */
    }
    if (tls->state != PFA_THREAD_READY && !pfa_thread_enter(tls)) {
        return false;
    }
    if (pfa_load_relaxed(&tls->epoch) != pfa_load_relaxed(&pfa_sampling.epoch)) {
        rearm(tls);
        tls->countdown -= (int64_t)(size & INT64_MAX);
    }
    if (tls->countdown >= 0) {
        return false;
    }
    if (PFA_UNLIKELY(pfa_load_relaxed(&pfa_fork_pending))) {
        pfa_fork_go_on(tls);
        if (pfa_range.blind) {
            return false; /* it could not have records after all */
        }
    }
    if (tls->mode == PFA_MODE_FULL) {
        return true;
    }
    bool due = tls->mode == PFA_MODE_SAMPLED;
    if (due) {
        *weight = (uint64_t)tls->weight_class << PFA_WEIGHT_SHIFT;
    }
    rearm(tls);
    return due;
}

static PFA_NOINLINE void *unrecorded(pfa_tls_t *tls, size_t size, size_t align, uint64_t flags)
{
    void *chunk = plain(size, align, flags);
    if (chunk != NULL) {
        pfa_chunk_missed(tls);
    }
    return chunk;
}

/* In an allocation, never in free: a thread cannot be made everywhere that free may be called. */
static inline void make_background_thread(void)
{
    if (PFA_UNLIKELY(pfa_load_relaxed(&pfa_background_asked))) {
        pfa_process_make_background_thread();
    }
}

static PFA_NOINLINE void *alloc_measured(size_t size, size_t align, uint64_t flags)
{
    pfa_tls_t *tls = &pfa_tls;
    uint64_t began = pfa_measure_begin_alloc(tls);
    PFA_TAKE_STACK(tls);
    void *chunk = pfa_chunk_alloc(tls, size, align, flags);
    if (PFA_UNLIKELY(chunk == NULL)) {
        chunk = unrecorded(tls, size, align, flags);
    }
    pfa_measure_end_alloc(tls, size, began);
    return chunk;
}

static PFA_NOINLINE void *alloc_reading_clock(size_t size, size_t align, uint64_t flags)
{
    pfa_tls_t *tls = &pfa_tls;
    uint64_t weight = 0;
    pfa_wiped_check();
    make_background_thread();
    if (PFA_LIKELY(records_all(tls))) {
        if (pfa_measure_is_due(tls)) {
            return alloc_measured(size, align, flags);
        }
    } else if (!pfa_slow_is_due(tls, size, &weight)) {
        return plain(size, align, flags);
    }
    PFA_TAKE_STACK(tls);
    void *chunk = pfa_chunk_alloc(tls, size, align, flags | weight);
    return PFA_LIKELY(chunk != NULL) ? chunk : unrecorded(tls, size, align, flags);
}

/* While the clock is skipped nothing has changed: see pfa_slow_malloc. Reached by a jump, and so is what it jumps to. */
PFA_NOINLINE void *pfa_slow_alloc(size_t size, size_t align, uint64_t flags)
{
    pfa_tls_t *tls = &pfa_tls;
    if (pfa_measure_is_near(tls)) {
        return alloc_reading_clock(size, align, flags);
    }
    PFA_TAKE_STACK_OR(tls, return alloc_reading_clock(size, align, flags));
    void *chunk = pfa_chunk_alloc(tls, size, align, flags);
    return PFA_LIKELY(chunk != NULL) ? chunk : unrecorded(tls, size, align, flags);
}

/* Its stack is taken, if that could be. */
static PFA_NOINLINE void *allocate_plainly_asked(size_t size)
{
    pfa_tls_t *tls = &pfa_tls;
    void *chunk = pfa_chunk_alloc(tls, size, 0, 0);
    tls->asked_time = 0;
    return PFA_LIKELY(chunk != NULL) ? chunk : unrecorded(tls, size, 0, 0);
}

static PFA_NOINLINE void *settle_live(void *chunk)
{
    pfa_live_settle(&pfa_tls);
    return chunk;
}

PFA_INLINE void *allocate_recorded(pfa_tls_t *tls, size_t size, uint64_t now)
{
    void *chunk = pfa_backing_heap_pop(tls->region_heap, pfa_life_slot_size(size));
    if (PFA_UNLIKELY(chunk == NULL)) {
        tls->asked_time = now;
        return allocate_plainly_asked(size);
    }
    bool settle = pfa_life_begin(tls, (uintptr_t)chunk, pfa_size_flags(size, 0), now);
    return PFA_LIKELY(!settle) ? chunk : settle_live(chunk);
}

/* The same as it is below, between two readings of the counter. */
static PFA_NOINLINE PFA_FLATTEN void *malloc_measured(size_t size)
{
    pfa_tls_t *tls = &pfa_tls;
    uint64_t began = pfa_measure_begin_alloc(tls);
    PFA_TAKE_STACK(tls);
    if (!pfa_clock_is_skipping(tls)) {
        pfa_backing_heap_tend(tls->region_heap);
    }
    pfa_measure_own_begin(tls);
    void *chunk = pfa_backing_heap_pop(tls->region_heap, pfa_life_slot_size(size));
    pfa_measure_own_end(tls);
    if (PFA_UNLIKELY(chunk == NULL)) {
        chunk = allocate_plainly_asked(size);
    } else if (pfa_life_begin(tls, (uintptr_t)chunk, pfa_size_flags(size, 0), pfa_clock_now(tls))) {
        pfa_live_settle(tls);
    }
    pfa_measure_end_alloc(tls, size, began);
    return chunk;
}

static PFA_NOINLINE PFA_FLATTEN void *allocate_reading_clock(size_t size)
{
    pfa_tls_t *tls = &pfa_tls;
    pfa_wiped_check();
    pfa_clock_stop_skipping(tls);
    make_background_thread();
    if (PFA_UNLIKELY(!records_all(tls)) || PFA_UNLIKELY(tls->region_heap == NULL)) {
        return alloc_reading_clock(size, 0, 0);
    }
    if (pfa_measure_is_due(tls)) {
        return malloc_measured(size);
    }
    PFA_TAKE_STACK(tls);
    pfa_backing_heap_tend(tls->region_heap);
    return allocate_recorded(tls, size, pfa_clock_read(tls));
}

/* Recording everything, this is malloc. Reached by a jump, so that its caller is the program; so is what it jumps to. While
 * the clock is skipped (meta/clock.h) nothing else has changed either: that happens only where everything is recorded
 * and there is a region heap, and whatever ends that ends the skipping. */
PFA_FLATTEN void *pfa_slow_malloc(size_t size)
{
    pfa_tls_t *tls = &pfa_tls;
    if (PFA_UNLIKELY(!pfa_clock_may_skip(tls))) {
        return allocate_reading_clock(size);
    }
    PFA_TAKE_STACK_OR(tls, return allocate_reading_clock(size));
    return allocate_recorded(tls, size, pfa_clock_step(tls));
}

void pfa_slow_refuse(void *chunk, const pfa_finding_t *finding, const void *caller, const char *call)
{
    static const char *const what[] = {
        [PFA_CHUNK_FREED] = "double free",
        [PFA_CHUNK_INTERIOR] = "a pointer that is not the start of a chunk",
        [PFA_CHUNK_FOREIGN] = "a pointer that is no chunk of this allocator",
    };
    pfa_report_bad(call, what[finding->verdict], chunk, finding, caller);
}

void pfa_slow_free_for(void *chunk, const void *caller)
{
    pfa_tls_t *tls = &pfa_tls;
    pfa_finding_t finding;
    if (chunk == NULL) {
        return;
    }
    pfa_wiped_check();
    pfa_verdict_t verdict = pfa_chunk_free(tls, (uintptr_t)chunk, &finding);
    if (PFA_UNLIKELY(tls->thread == NULL)) {
        pfa_rcu_rest(tls);
    }
    if (verdict == PFA_CHUNK_LIVE) {
        return;
    }
    if (finding.verdict == PFA_CHUNK_PLAIN) {
        pfa_measure_own_begin(tls);
        pfa_backing_free(chunk);
        pfa_measure_own_end(tls);
    } else {
        pfa_slow_refuse(chunk, &finding, caller, "free");
    }
}

/* Notes more of the place than its return address, where that is asked for. */
static PFA_COLD void take_free_stack(pfa_tls_t *tls, const pfa_unwind_start_t *start)
{
    tls->free_stack = pfa_options.free_depth == 0 ? PFA_NODE_UNKNOWN
                                                  : pfa_stack_take_some(tls, start, (unsigned)pfa_options.free_depth);
}

/* The long way through a free, in a function that is reached from free by jumps alone, so that its own return address is
 * the program's. */
#define FREE_OTHERWISE(tls, chunk)                                                                                     \
    do {                                                                                                               \
        if (PFA_UNLIKELY(pfa_options.free_depth != 1) && pfa_ring_is_open()) {                                         \
            pfa_unwind_start_t start_;                                                                                 \
            PFA_UNWIND_HERE(&start_);                                                                                  \
            take_free_stack((tls), &start_);                                                                           \
        }                                                                                                              \
        (tls)->free_site = (uintptr_t)__builtin_return_address(0);                                                     \
        pfa_slow_free_for((chunk), __builtin_return_address(0));                                                       \
        (tls)->free_stack = 0;                                                                                         \
    } while (0)

static PFA_NOINLINE void settle_and_free(void *chunk)
{
    pfa_live_settle(&pfa_tls);
    pfa_backing_free(chunk);
}

static PFA_NOINLINE PFA_FLATTEN void free_measured(void *chunk)
{
    pfa_tls_t *tls = &pfa_tls;
    uint64_t began = pfa_measure_begin(tls);
    tls->free_site = (uintptr_t)__builtin_return_address(0);
    pfa_ending_t ending = PFA_LIKELY(pfa_options.free_depth == 1) ? pfa_life_end(tls, (uintptr_t)chunk) : PFA_LIFE_NOT;
    if (PFA_UNLIKELY(ending == PFA_LIFE_NOT)) {
        FREE_OTHERWISE(tls, chunk);
    } else {
        if (ending == PFA_LIFE_ENDED_SETTLE) {
            pfa_live_settle(tls);
        }
        pfa_measure_own_begin(tls);
        pfa_backing_free_first_here(chunk);
        pfa_measure_own_end(tls);
    }
    pfa_measure_end(tls, PFA_TIMES_FREES, 0, began);
}

static PFA_NOINLINE void free_otherwise(void *chunk)
{
    pfa_tls_t *tls = &pfa_tls;
    if (PFA_UNLIKELY(tls->short_free == NULL) && chunk != NULL && pfa_measure_is_armed(tls)) {
        free_measured(chunk);
        return;
    }
    if (PFA_UNLIKELY(tls->thread == NULL) && chunk != NULL) {
        pfa_thread_enter_to_free(tls);
    }
    FREE_OTHERWISE(tls, chunk);
}

/* In plain space: that is not in its zone, or this is no multiple of 8. */
static PFA_NOINLINE PFA_FLATTEN void free_plain_elsewhere(void *chunk)
{
    if (PFA_LIKELY((uintptr_t)chunk % 8 == 0)) {
        pfa_backing_free_here(chunk);
    } else {
        free_otherwise(chunk);
    }
}

/* Recording everything, this is free: kept short, all that is rare a tail call. */
PFA_FLATTEN void pfa_slow_free(void *chunk)
{
    if (PFA_UNLIKELY(pfa_range_plain((uintptr_t)chunk))) {
        free_plain_elsewhere(chunk);
        return;
    }
    pfa_tls_t *tls = &pfa_tls;
    tls->free_site = (uintptr_t)__builtin_return_address(0);
    switch (PFA_LIKELY(pfa_options.free_depth == 1) ? pfa_life_end(tls, (uintptr_t)chunk) : PFA_LIFE_NOT) {
    case PFA_LIFE_ENDED:
        pfa_backing_free_first_here(chunk);
        break;
    case PFA_LIFE_ENDED_SETTLE:
        settle_and_free(chunk);
        break;
    case PFA_LIFE_NOT:
        free_otherwise(chunk);
    }
}
