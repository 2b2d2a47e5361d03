/* The access itself, hot: from an address to its record, and what is noted there. Inline, for the callbacks of both
 * compilers (hooks/access) and for the code that the Clang pass puts into a program (hooks/pass).
 *
 * Budget: outside the window (hooks/access/view.h) a look at one bit, seldom a shift and a compare. In R, from the slice's two words on: one multiply, five
 * loads and four stores in the record's line and the thread's. No call, no lock, no atomic read-modify-write, no
 * allocation. Safe at any time on any address: before the library has started, in signal handlers, at a thread's end, and on
 * memory that was freed a moment ago; races lose counts, never more, since the memory of records stays one of records. */
#ifndef PFA_HOOKS_ACCESS_ACCESS_H
#define PFA_HOOKS_ACCESS_ACCESS_H

#include "hooks/access/view.h"

#include <stdbool.h>

#ifndef PFA_ACCESS_ANYWHERE
#define PFA_ACCESS_ANYWHERE 0
#endif

#define PFA_MODULE __attribute__((visibility("hidden")))

extern PFA_MODULE pfa_access_view_t pfa_access_view;
extern PFA_MODULE PFA_THREAD_LOCAL pfa_access_thread_t pfa_access_thread;

/* Out of line: first accesses, accesses of another thread than the last, full counters, the clock, large chunks that have no
 * slices. Here and below `last` is the distance of the last byte from the first. */
PFA_INLINE void pfa_access_rare(uintptr_t address, uint64_t last, uint64_t counts)
{
    pfa_access_view.rare(address, last + 1, counts, &pfa_access_thread);
}

/* By the view's `slices`. */
PFA_INLINE const pfa_slice_t *pfa_access_slice(uintptr_t slices, uintptr_t address)
{
    return (const pfa_slice_t *)(slices + (address >> PFA_SLICE_SHIFT) * sizeof(pfa_slice_t));
}

/* At `distance` from where the record counts its places. */
PFA_INLINE void pfa_access_note(pfa_wide_record_t *wide, uint64_t distance, uintptr_t address, uint64_t last,
                                uint64_t counts)
{
    pfa_access_thread_t *thread = &pfa_access_thread;
    uint64_t sum = wide->accesses.counts + counts;
    uint32_t ticks = (uint32_t)thread->ticks - 1;
    bool news = wide->record.last_thread != thread->number;
    if (PFA_UNLIKELY(news) || PFA_UNLIKELY((sum & PFA_ACCESS_FULL) != 0) || PFA_UNLIKELY((int32_t)ticks < 0)) {
        pfa_access_rare(address, last, counts);
        return;
    }
    uint32_t low = (uint32_t)distance;
    uint32_t high = (uint32_t)(distance + last);
    thread->ticks = (int32_t)ticks;
    wide->accesses.counts = sum;
    wide->accesses.low = low < wide->accesses.low ? low : wide->accesses.low;
    wide->accesses.high = high > wide->accesses.high ? high : wide->accesses.high;
    wide->accesses.last_access = thread->clock;
}

/* Out of line, but warm: a program that manages memory of its own in large chunks comes here only. */
__attribute__((unused)) static PFA_NOINLINE void pfa_access_large(uintptr_t address, uint64_t last, uint64_t counts)
{
    if (PFA_LIKELY(address < pfa_access_view.table_end)) {
        const pfa_slice_t *slice = pfa_access_slice(pfa_access_view.slices, address);
        uint64_t start = pfa_load_relaxed(&slice->word);
        pfa_record_t *record = pfa_load_relaxed(&slice->records);
        if (PFA_LIKELY(record != NULL)) {
            pfa_access_note((pfa_wide_record_t *)record, address - start, address, last, counts);
            return;
        }
    }
    pfa_access_rare(address, last, counts);
}

/* In the window, or in base and span; not below base, where the table has nothing. */
PFA_INLINE void pfa_access_at(uintptr_t address, uint64_t last, uint64_t counts)
{
    const pfa_access_view_t *view = &pfa_access_view;
    __asm__("" : "+r"(view)); /* both words by one load, from one address */
    uintptr_t region_end = view->region_end;
    uintptr_t slices = view->slices;
    if (PFA_UNLIKELY(address >= region_end)) {
        pfa_access_large(address, last, counts);
        return;
    }
    /* Not atomic, so that one load may bring both: they were stored before the chunk was handed out. */
    uint64_t slice[2];
    __builtin_memcpy(slice, pfa_access_slice(slices, address), sizeof slice);
    uint64_t word = slice[0];
    uintptr_t records = slice[1];
    if (PFA_UNLIKELY(word == 0)) {
        return;
    }
    uint64_t distance = (address & 0xffff) + (word & PFA_WORD_REACH_MASK) - PFA_REGION_LEAD;
    int64_t scaled = (int64_t)distance * (int64_t)(word >> PFA_WORD_RECIPROCAL_SHIFT);
    records += (uint64_t)(scaled >> PFA_RECIPROCAL_BITS) * sizeof(pfa_wide_record_t);
    pfa_access_note((pfa_wide_record_t *)records, distance, address, last, counts);
}

/* Any address; the range check is all that most need. */
PFA_INLINE bool pfa_access_concerns(uintptr_t address)
{
    if (PFA_ACCESS_ANYWHERE) {
        return PFA_UNLIKELY(address - pfa_access_view.base < pfa_access_view.span);
    }
    /* The first is but a shorter way to say no to nearly all that the second says no to. */
    return PFA_UNLIKELY((address & PFA_ADDRESS_USUAL_BIT) == 0) &&
           PFA_LIKELY(address >> PFA_WINDOW_SHIFT == PFA_WINDOW);
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
