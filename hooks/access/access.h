/* The access itself, hot: from an address to its record, and what is noted there. Inline, for the callbacks of both
 * compilers (hooks/access) and for the code that the Clang pass puts into a program (hooks/pass).
 *
 * Budget: outside the window (hooks/access/view.h) a look at one bit, seldom one more compare. In R and L: three pairs of
 * words loaded, of the view, the slice and the thread, in R one multiply, and three loads and three stores in the record's
 * line. No call, no lock, no atomic read-modify-write, no allocation. Safe at any time on any address, but for one in a slice
 * that another thread gets for the first time at that very moment: before the library has started, in signal handlers, at a
 * thread's end, and on memory that was freed a moment ago: the memory of records stays one of records. Races lose counts; a
 * use of freed memory that races with its reuse may be counted for another chunk. */
#ifndef PFA_HOOKS_ACCESS_ACCESS_H
#define PFA_HOOKS_ACCESS_ACCESS_H

#include "base/clock.h"
#include "hooks/access/schedule.h"
#include "hooks/access/view.h"

#include <stdbool.h>

#ifndef PFA_ACCESS_ANYWHERE
#define PFA_ACCESS_ANYWHERE 0
#endif

#define PFA_MODULE __attribute__((visibility("hidden")))

extern PFA_MODULE pfa_access_view_t pfa_access_view;

/* For two words that lie side by side: the pointer to them is taken as it is, and both are loaded where that is said, which
 * compilers make one load of where there is such an instruction. A value that was taken as it is is not loaded again. */
#define PFA_AS_IT_IS(pointer) __asm__("" : "+r"(pointer))
#define PFA_LOADED_TOGETHER(a, b) __asm__("" : : "r"(a), "r"(b))

/* Out of line: first accesses, the first one of a second thread, full counters, the clock, chunks so large that they
 * have no slices. Here and below `last` is the distance of the last byte from the first. */
PFA_INLINE void pfa_access_rare(uintptr_t address, uint64_t last, uint64_t counts)
{
    pfa_access_view.rare(address, last + 1, counts, &pfa_access_thread);
}

/* What a test build does at each access to a chunk (tests/access/seen.c). */
#ifndef PFA_ACCESS_SEEN
#define PFA_ACCESS_SEEN(wide) ((void)0)
#endif

#ifndef PFA_ACCESS_OTHER
#define PFA_ACCESS_OTHER __attribute__((unused)) static PFA_NOINLINE
#endif

/* By the view's `slices`. */
PFA_INLINE const pfa_slice_t *pfa_access_slice(uintptr_t slices, uintptr_t address)
{
    return (const pfa_slice_t *)(slices + (address >> PFA_SLICE_SHIFT) * sizeof(pfa_slice_t));
}

PFA_INLINE void pfa_access_write(pfa_wide_record_t *wide, uint64_t sum, uint64_t distance, uint64_t last,
                                 uint64_t clock)
{
    uint32_t low = (uint32_t)distance;
    uint32_t high = (uint32_t)(distance + last);
    wide->accesses.counts = sum;
    wide->accesses.low = low < wide->accesses.low ? low : wide->accesses.low;
    wide->accesses.high = high > wide->accesses.high ? high : wide->accesses.high;
    wide->accesses.last_access = clock;
}

/* What is seldom. A counter asks for the time (export/format/live.h). Or another thread was the last: where it is known already that
 * there are several, all that changes is who was, and threads that share a chunk take turns here. The clock is read: this thread's last
 * reading may be much older than the other's accesses. The line of the cache that comes from another processor takes longer than that. */
PFA_ACCESS_OTHER void pfa_access_other(uintptr_t address, uint64_t last, uint64_t counts, pfa_wide_record_t *wide,
                                       uint64_t distance)
{
    pfa_access_thread_t *thread = &pfa_access_thread;
    uint64_t before = wide->accesses.counts;
    uint64_t sum = before + counts;
    if (PFA_LIKELY(wide->record.last_thread == thread->number) &&
        PFA_LIKELY((before & PFA_BOTH(PFA_ACCESS_FAR)) == 0)) {
        const pfa_access_view_t *view = &pfa_access_view;
        uint64_t now = pfa_counter();
        uint64_t *hint = &view->usual[pfa_usual_slot(wide->record.stack, wide->record.thread,
                                                     pfa_size_of(pfa_load_relaxed(&wide->record.size_flags)))];
        pfa_reading_t *reading = pfa_reading_of(view->readings, wide);
        uint64_t usual = __atomic_load_n(hint, __ATOMIC_RELAXED);
        bool watched = pfa_usual_is_watched(usual) && pfa_reading_is_watched(reading, wide);
        uint64_t done = pfa_schedule_counts(before);
        uint64_t since = now - thread->clock;
        uint64_t age = now - wide->record.alloc_time;
        uint64_t next = pfa_schedule(done + counts, usual, watched);
        if (PFA_LIKELY(next != 0)) {
            if (PFA_UNLIKELY(watched) && pfa_schedule_is_pause(done, since, age)) {
                __atomic_store_n(hint, pfa_usual_with_pause(usual, pfa_schedule_total(done)), __ATOMIC_RELAXED);
            }
            pfa_reading_note(reading, wide, now, pfa_schedule_total(done + counts));
            thread->clock = now;
            pfa_access_write(wide, next, distance, last, now);
            return;
        }
    }
    if (wide->record.last_thread == 0) {
        thread->clock = pfa_counter(); /* here, not where it is noted: what `rare` needs first may be far away */
        pfa_access_rare(address, last, counts);
        return;
    }
    if ((pfa_load_relaxed(&wide->record.size_flags) & PFA_FLAG_SHARED) == 0 || thread->number > UINT16_MAX ||
        ((before ^ sum) & PFA_ACCESS_SELDOM) != 0) {
        pfa_access_rare(address, last, counts);
        return;
    }
    thread->clock = pfa_counter();
    wide->record.last_thread = (uint16_t)thread->number;
    pfa_access_write(wide, sum, distance, last, thread->clock);
}

/* At `distance` from where the record counts its places. */
PFA_INLINE void pfa_access_note(pfa_wide_record_t *wide, uint64_t distance, uintptr_t address, uint64_t last,
                                uint64_t counts)
{
    pfa_access_thread_t *thread = &pfa_access_thread;
    PFA_ACCESS_SEEN(wide);
    PFA_AS_IT_IS(thread);
    uint64_t clock = thread->clock;
    uint64_t number = thread->number;
    PFA_LOADED_TOGETHER(clock, number);
    uint64_t before = wide->accesses.counts;
    uint64_t sum = before + counts;
    if (PFA_UNLIKELY(wide->record.last_thread != number) || PFA_UNLIKELY(((before ^ sum) & PFA_ACCESS_SELDOM) != 0)) {
        pfa_access_other(address, last, counts, wide, distance);
        return;
    }
    pfa_access_write(wide, sum, distance, last, clock);
}

/* Where slices tell of nothing. */
PFA_ACCESS_OTHER void pfa_access_nothing(uintptr_t address, uint64_t last, uint64_t counts)
{
    const pfa_access_view_t *view = &pfa_access_view;
    if (address - view->region_end < view->large_span) {
        pfa_access_rare(address, last, counts);
    }
}

/* In R or L; the place by the slice's word. */
PFA_INLINE void pfa_access_by(const pfa_slice_t *slice, uintptr_t address, uint64_t last, uint64_t counts)
{
    /* Not atomic, so that one load may bring both: they were stored before the chunk was handed out. */
    PFA_AS_IT_IS(slice);
    uint64_t words[2];
    __builtin_memcpy(words, slice, sizeof words);
    uint64_t word = words[0];
    uintptr_t record = words[1];
    uint64_t distance;
    PFA_LOADED_TOGETHER(word, record);
    PFA_AS_IT_IS(word);
    if (PFA_LIKELY(pfa_word_is_region(word))) {
        distance = (address & 0xffff) + (uint64_t)pfa_word_reach(word);
        int64_t scaled = (int64_t)distance * (int64_t)(word >> PFA_WORD_RECIPROCAL_SHIFT);
        record += (uint64_t)(scaled >> PFA_RECIPROCAL_BITS) * sizeof(pfa_wide_record_t);
    } else if (PFA_LIKELY(word != 0)) {
        uintptr_t same = address;
        PFA_AS_IT_IS(same); /* so that nothing is calculated before it is known what for */
        distance = (same & 0xffff) + word;
    } else {
        pfa_access_nothing(address, last, counts);
        return;
    }
    pfa_access_note((pfa_wide_record_t *)record, distance, address, last, counts);
}

/* Where there is no cell (alloc/range.c), beyond it, and for addresses that are of no concern after all: globals of a program
 * that is not position-independent. */
PFA_ACCESS_OTHER void pfa_access_beyond(uintptr_t address, uint64_t last, uint64_t counts)
{
    const pfa_access_view_t *view = &pfa_access_view;
    if (address - view->base >= view->span) {
        return;
    }
    if (address < view->region_end + view->large_span) {
        pfa_access_by(pfa_access_slice(view->slices, address), address, last, counts);
        return;
    }
    pfa_access_rare(address, last, counts);
}

/* Any address. */
PFA_INLINE void pfa_access_at(uintptr_t address, uint64_t last, uint64_t counts)
{
    const pfa_access_view_t *view = &pfa_access_view;
    PFA_AS_IT_IS(view);
    uintptr_t cell = view->cell;
    uintptr_t slices = view->slices;
    PFA_LOADED_TOGETHER(cell, slices);
    if (PFA_UNLIKELY(address >> PFA_CELL_SHIFT != cell)) {
        pfa_access_beyond(address, last, counts);
        return;
    }
    pfa_access_by(pfa_access_slice(slices, address), address, last, counts);
}

/* Is it worth a look? For nearly all addresses that are not in the profiled range this says no. */
PFA_INLINE bool pfa_access_concerns(uintptr_t address)
{
    if (PFA_ACCESS_ANYWHERE) {
        return PFA_UNLIKELY(address - pfa_access_view.base < pfa_access_view.span);
    }
    return PFA_UNLIKELY((address & PFA_ADDRESS_USUAL_BIT) == 0);
}

/* size > 0. */
PFA_INLINE void pfa_access(uintptr_t address, uint64_t size, uint64_t counts)
{
    if (pfa_access_concerns(address)) {
        __asm__("" : "+r"(address)); /* whatever register the rest wants it in, it is moved there only here */
        pfa_access_at(address, size - 1, counts);
    }
}

/* A range that may be empty. */
PFA_INLINE void pfa_access_range(const void *address, uint64_t size, uint64_t counts)
{
    if (size != 0) {
        pfa_access((uintptr_t)address, size, counts);
    }
}

#endif
