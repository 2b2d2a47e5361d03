/* Owns the library's side of access profiling: the views of instrumented modules (hooks/access/view.h), and what their
 * callbacks leave to us: the first access to a chunk, the first by another thread, full counters, the clock, maps of words,
 * and large chunks that the table of slices does not know.
 *
 * pfa_accesses_* may wait for PFA_LOCK_VIEWS. `rare` is called from the middle of the program, anywhere: it takes no lock
 * and allocates nothing, but for the registration with RCU of a thread that touches a chunk outside the profiled range. */
#include "alloc/chunk.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/message.h"
#include "base/options.h"
#include "base/sys.h"
#include "base/wiped.h"
#include "hooks/access/schedule.h"
#include "hooks/access/view.h"
#include "hooks/hooks.h"
#include "meta/accesses.h"
#include "meta/extents.h"
#include "meta/thread.h"

#include <stdbool.h>

_Static_assert(PFA_LARGE_LEAD >> PFA_LEAD_SHIFT < (uint64_t)1 << (64 - PFA_FIRST_BITS), "first_word has room for it");

/* Accesses of a thread that come to us between two readings of the counter, if there is no other reason for one. */
enum { TICKS = 63, ALWAYS = 1 << 17 };

PFA_EXPORT void profalloc_access_attach(pfa_access_view_t *view);
PFA_EXPORT void profalloc_access_detach(pfa_access_view_t *view);

static pfa_access_view_t *views;
static bool open; /* may views be filled? */

bool pfa_accesses_wanted(void)
{
    bool instrumented = &profalloc_instrumented != NULL || pfa_load_relaxed(&pfa_accesses_modules) != 0;
    return pfa_options.accesses == 1 || (pfa_options.accesses == 2 && instrumented);
}

/* --- what an access leaves to us ---------------------------------------------------------------------------------- */

/* Where an access fell. */
typedef struct target {
    pfa_record_t *record;
    uint64_t distance; /* from where the record's low and high are counted, */
    uint64_t start;    /* and the chunk's start from there */
} target_t;

static bool find_slot(uint64_t offset, target_t *target)
{
    pfa_place_t place = pfa_region_place(offset);
    if (place.word == 0 || place.distance < 0) {
        return false;
    }
    target->record = place.record;
    target->distance = (uint64_t)place.distance;
    target->start = (uint64_t)place.distance - pfa_place_within(&place) + pfa_record_lead(place.record);
    return true;
}

/* By the table of slices, as the callbacks do: the memory of a record stays one of records. */
static bool find_cell(uint64_t offset, target_t *target)
{
    if (offset >= pfa_range.total_span || !pfa_range_is_wide()) {
        return false;
    }
    const pfa_slice_t *slice = &pfa_range.slices[offset >> PFA_SLICE_SHIFT];
    uint64_t word = pfa_load_acquire(&slice->word); /* partner: publish in alloc/large.c */
    *target = (target_t){
        .record = pfa_load_relaxed(&slice->records), .distance = word + (offset & 0xffff), .start = PFA_LARGE_LEAD};
    return word != 0;
}

/* In an RCU read section. */
static bool find_large(uintptr_t address, target_t *target)
{
    const pfa_large_t *node = pfa_intervalmap_find(&pfa_range.large, address);
    if (node == NULL) {
        return false;
    }
    *target = (target_t){.record = node->record, .distance = address - node->start};
    return true;
}

static void refresh_clock(pfa_access_thread_t *thread)
{
    thread->clock = pfa_counter();
    thread->ticks = TICKS;
}

/* What a full counter says: the mask of a half. */
static uint64_t full(void)
{
    return ((uint64_t)1 << pfa_options.access_counter_bits) - 1;
}

/* A counter with more. */
static uint64_t add(uint32_t counter, uint64_t more)
{
    uint64_t sum = pfa_access_count(counter) + more;
    return sum < full() ? sum : full();
}

/* Counters that asked for the time, with more. */
static uint64_t begin_again(pfa_access_thread_t *thread, const pfa_record_t *record, uint64_t before, uint64_t counts)
{
    uint64_t size = pfa_size_of(pfa_load_relaxed(&record->size_flags));
    uint64_t *hint = &pfa_usual[pfa_usual_slot(record->stack, record->thread, size)];
    uint64_t usual = __atomic_load_n(hint, __ATOMIC_RELAXED);
    pfa_reading_t *reading = pfa_reading_of(pfa_readings, record);
    if (before == PFA_BOTH(PFA_ACCESS_NONE)) {
        bool wanted = pfa_usual_wants(usual);
        if (wanted) {
            __atomic_store_n(hint, usual | PFA_USUAL_TAKEN, __ATOMIC_RELAXED);
        }
        pfa_reading_begin(reading, record, thread->clock, pfa_schedule_total(counts), wanted);
    }
    bool watched = pfa_usual_is_watched(usual) && pfa_reading_is_watched(reading, record);
    uint64_t reads = add((uint32_t)before, (uint32_t)counts);
    uint64_t writes = add((uint32_t)(before >> 32), counts >> 32);
    uint64_t next = pfa_schedule(writes << 32 | reads, usual, watched);
    if (next == 0) {
        pfa_reading_end(reading, record); /* it is not kept up from here on */
        next = (uint64_t)pfa_access_counter((uint32_t)writes, PFA_ACCESS_TICKS) << 32 |
               pfa_access_counter((uint32_t)reads, PFA_ACCESS_TICKS);
    }
    return next;
}

static uint64_t first_word(const target_t *target, uint64_t now, uint64_t alloc_time)
{
    uint64_t late = now > alloc_time ? now - alloc_time : 0;
    return (target->start >> PFA_LEAD_SHIFT) << PFA_FIRST_BITS | pfa_first_code(late);
}

/* Returns whether the clock has just been read. It is read here if another thread touched the chunk last: this thread's last reading may
 * be much older. */
static bool note_thread(const target_t *target, pfa_access_thread_t *thread, uint64_t size_flags)
{
    pfa_record_t *record = target->record;
    uint16_t mine = (uint16_t)thread->number;
    uint16_t before = __atomic_load_n(&record->last_thread, __ATOMIC_RELAXED);
    if (before == mine) {
        return false;
    }
    if (before != 0) {
        refresh_clock(thread);
    }
    if (before != 0 && (size_flags & PFA_FLAG_SHARED) != 0) {
        __atomic_store_n(&record->last_thread, mine, __ATOMIC_RELAXED); /* all is known but who was the last */
        return true;
    }
    /* Of two threads that come at once, one sees the other. */
    uint16_t last = __atomic_exchange_n(&record->last_thread, mine, __ATOMIC_RELAXED);
    if (last == 0) { /* the clock was read before this was called: any time may be between the allocation and this */
        pfa_record_accesses(record)->first_access = first_word(target, thread->clock, record->alloc_time);
    } else if ((size_flags & PFA_FLAG_SHARED) == 0) {
        (void)atomic_fetch_or_explicit(&record->size_flags, PFA_FLAG_SHARED, memory_order_relaxed);
    }
    return true;
}

static void note(const target_t *target, pfa_access_thread_t *thread, uint64_t size, uint64_t counts)
{
    pfa_record_t *record = target->record;
    uint64_t size_flags = pfa_load_relaxed(&record->size_flags);
    if (!pfa_is_live(size_flags)) {
        /* Nobody reads it, and the next accesses are not for us. But where there never was a chunk, there may be no room. */
        if (size_flags != 0 || pfa_range.inherited) {
            __atomic_store_n(&record->last_thread, (uint16_t)thread->number, __ATOMIC_RELAXED);
            pfa_record_accesses(record)->counts = 0;
        }
        return;
    }
    pfa_accesses_t *accesses = pfa_record_accesses(record);
    uint32_t unit = pfa_access_unit(pfa_size_of(size_flags));
    uint32_t first = (uint32_t)(target->distance >> unit);
    uint32_t last = (uint32_t)((target->distance + size - 1) >> unit);
    bool read = note_thread(target, thread, size_flags);
    uint64_t before = accesses->counts;
    bool is_asked = ((before ^ (before + counts)) & PFA_ACCESS_SELDOM) != 0;
    if (!read && is_asked) {
        refresh_clock(thread);
    }
    if (is_asked || full() != INT32_MAX) {
        accesses->counts = begin_again(thread, record, before, counts);
    } else {
        accesses->counts = before + counts;
    }
    accesses->low = first < accesses->low ? first : accesses->low;
    accesses->high = last > accesses->high ? last : accesses->high;
    accesses->last_access = thread->clock;
    if (pfa_options.access_map != 0) {
        pfa_access_map_add(record->stack, pfa_size_of(size_flags), target->distance - target->start, size, counts);
    }
}

static void rare(uintptr_t address, uint64_t size, uint64_t counts, pfa_access_thread_t *thread)
{
    uint64_t offset = address - pfa_range.base;
    target_t target;
    pfa_wiped_check();
    if (PFA_UNLIKELY(pfa_range.blind)) {
        return;
    }
    if (PFA_UNLIKELY((thread->number & PFA_ACCESS_NOBODY) != 0)) {
        bool always = pfa_options.access_map != 0 || full() != INT32_MAX || pfa_options.access_exact != 0;
        thread->number = pfa_thread_number(&pfa_tls) | (always ? ALWAYS : 0);
        refresh_clock(thread);
    }
    if (--thread->ticks < 0 || PFA_UNLIKELY(pfa_options.access_exact != 0)) {
        refresh_clock(thread);
    }
    if (offset < pfa_range.region_span) {
        if (find_slot(offset, &target)) {
            note(&target, thread, size, counts);
        }
        return;
    }
    if (find_cell(offset, &target)) {
        note(&target, thread, size, counts);
        return;
    }
    bool entered = pfa_rcu_enter(&pfa_tls);
    refresh_clock(thread); /* modules have found no record, and do not know whether it is the first access */
    if (find_large(address, &target)) {
        note(&target, thread, size, counts);
    }
    pfa_rcu_leave(entered);
}

/* --- views -------------------------------------------------------------------------------------------------------- */

/* Chunks outside the profiled range can be anywhere: then every access above its base asks. What is below is not looked at,
 * since the callbacks index a table that begins there. */
static uint64_t span(void)
{
    return pfa_load_relaxed(&pfa_range.large.has_outside) ? 0 - (uint64_t)pfa_range.base : pfa_range.total_span;
}

static void fill(pfa_access_view_t *view)
{
    static _Atomic bool said;
    static _Atomic bool said_merged;
    if (view->window != 0 && (view->window != PFA_WINDOW_BASE || !pfa_range_in_window())) {
        pfa_say_once(&said,
                     "the part of the address space that this program's callbacks look at cannot be had: accesses "
                     "are not recorded; build it with PROFALLOC_WINDOW=any");
        return;
    }
    if (view->merged != 0 && pfa_options.access_map != 0) {
        pfa_say_once(&said_merged,
                     "access_map: the program's accesses are told as ranges, and its words are not told apart; "
                     "build it with PROFALLOC_PASS=map");
    }
    view->base = pfa_range.base;
    view->region_end = pfa_range.base + pfa_range.region_span;
    view->large_span = pfa_range.total_span - pfa_range.region_span;
    view->slices = (uintptr_t)pfa_range.slices - (pfa_range.base >> PFA_SLICE_SHIFT) * sizeof(pfa_slice_t);
    view->rare = rare;
    view->usual = pfa_usual;
    view->readings = pfa_readings;
    /* No partner: an address in the range comes to a thread by way of an allocation, which comes after this. But something
     * of the program's own may lie in the cell: whoever sees that this is one sees its slices, too. */
    __atomic_store_n(&view->span, span(), __ATOMIC_RELEASE);
    pfa_sys_fence_all();
    __atomic_store_n(&view->cell, pfa_range.whole_cell ? PFA_WINDOW_BASE >> PFA_CELL_SHIFT : PFA_NO_CELL,
                     __ATOMIC_RELEASE);
}

static void widen(void)
{
    pfa_lock(PFA_LOCK_VIEWS);
    for (pfa_access_view_t *view = views; open && view != NULL; view = view->next) {
        __atomic_store_n(&view->span, span(), __ATOMIC_RELAXED);
    }
    pfa_unlock(PFA_LOCK_VIEWS);
}

void pfa_accesses_open(void)
{
    pfa_chunk_went_outside = widen;
    pfa_lock(PFA_LOCK_VIEWS);
    open = pfa_accesses_kept;
    for (pfa_access_view_t *view = views; open && view != NULL; view = view->next) {
        fill(view);
    }
    pfa_unlock(PFA_LOCK_VIEWS);
}

void pfa_accesses_close(void)
{
    open = false;
    for (pfa_access_view_t *view = views; view != NULL; view = view->next) {
        __atomic_store_n(&view->cell, PFA_NO_CELL, __ATOMIC_RELAXED);
        __atomic_store_n(&view->span, 0, __ATOMIC_RELAXED);
    }
}

static bool is_known(const pfa_access_view_t *view)
{
    static _Atomic bool said;
    if (view->version == PFA_ACCESS_VERSION && view->size == sizeof *view) {
        return true;
    }
    pfa_say_once(&said, "a module was built with another version of profalloc-cc: its accesses are not recorded; "
                        "build it again");
    return false;
}

void profalloc_access_attach(pfa_access_view_t *view)
{
    static _Atomic bool said;
    if (!is_known(view)) {
        return;
    }
    (void)pfa_process_enter();
    pfa_lock(PFA_LOCK_VIEWS);
    view->next = views;
    views = view;
    if (open) {
        fill(view);
    }
    uint64_t merged = pfa_add_relaxed(&pfa_accesses_merged, view->merged != 0) + (view->merged != 0);
    uint64_t modules = pfa_add_relaxed(&pfa_accesses_modules, 1) + 1;
    if (pfa_extents_head != NULL) { /* where it is told of a process that was killed */
        pfa_store_relaxed(&pfa_extents_head->instrumented, modules);
        pfa_store_relaxed(&pfa_extents_head->merged, merged);
    }
    pfa_unlock(PFA_LOCK_VIEWS);
    if (!pfa_accesses_kept && pfa_range.total_span != 0 && pfa_options.accesses == 2) {
        pfa_say_once(&said, "instrumented code was loaded after recording began without accesses: they are not "
                            "recorded; set accesses:true");
    }
}

void profalloc_access_detach(pfa_access_view_t *view)
{
    pfa_lock(PFA_LOCK_VIEWS);
    for (pfa_access_view_t **at = &views; *at != NULL; at = &(*at)->next) {
        if (*at == view) {
            *at = view->next;
            break;
        }
    }
    pfa_unlock(PFA_LOCK_VIEWS);
}
