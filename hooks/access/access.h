/* The access itself, hot: from an address to its record, and what is noted there. Inline, for the callbacks of both
 * compilers (hooks/access) and for the code that the Clang pass puts into a program (hooks/pass).
 *
 * Budget: outside the window (hooks/access/view.h) a shift and a compare. In R, from the slice's two words on: one multiply, five
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
 * slices. */
PFA_INLINE void pfa_access_rare(uintptr_t address, uint64_t size, uint64_t counts)
{
    pfa_access_view.rare(address, size, counts, &pfa_access_thread);
}

PFA_INLINE const pfa_slice_t *pfa_access_slice(uintptr_t address)
{
    return (const pfa_slice_t *)(pfa_access_view.slices + (address >> PFA_SLICE_SHIFT) * sizeof(pfa_slice_t));
}

/* At `distance` from where the record counts its places. */
PFA_INLINE void pfa_access_note(pfa_wide_record_t *wide, uint64_t distance, uintptr_t address, uint64_t size,
                                uint64_t counts)
{
    pfa_access_thread_t *thread = &pfa_access_thread;
    uint64_t sum = wide->accesses.counts + counts;
    uint32_t ticks = (uint32_t)thread->ticks - 1;
    bool news = wide->record.last_thread != thread->number;
    if (PFA_UNLIKELY(news) || PFA_UNLIKELY((sum & PFA_ACCESS_FULL) != 0) || PFA_UNLIKELY((int32_t)ticks < 0)) {
        pfa_access_rare(address, size, counts);
        return;
    }
    uint32_t first = (uint32_t)distance;
    uint32_t last = (uint32_t)(distance + size - 1);
    thread->ticks = (int32_t)ticks;
    wide->accesses.counts = sum;
    wide->accesses.low = first < wide->accesses.low ? first : wide->accesses.low;
    wide->accesses.high = last > wide->accesses.high ? last : wide->accesses.high;
    wide->accesses.last_access = thread->clock;
}

/* Out of line, but warm: a program that manages memory of its own in large chunks comes here only. */
__attribute__((unused)) static PFA_NOINLINE void pfa_access_large(uintptr_t address, uint64_t size, uint64_t counts)
{
    if (PFA_LIKELY(address < pfa_access_view.table_end)) {
        const pfa_slice_t *slice = pfa_access_slice(address);
        uint64_t start = pfa_load_relaxed(&slice->word);
        pfa_record_t *record = pfa_load_relaxed(&slice->records);
        if (PFA_LIKELY(record != NULL)) {
            pfa_access_note((pfa_wide_record_t *)record, address - start, address, size, counts);
            return;
        }
    }
    pfa_access_rare(address, size, counts);
}

/* In the window, or in base and span. size > 0. */
PFA_INLINE void pfa_access_at(uintptr_t address, uint64_t size, uint64_t counts)
{
    if (PFA_UNLIKELY(address >= pfa_access_view.region_end)) {
        pfa_access_large(address, size, counts);
        return;
    }
    const pfa_slice_t *slice = pfa_access_slice(address);
    uint64_t word = pfa_load_relaxed(&slice->word);
    uintptr_t records = (uintptr_t)pfa_load_relaxed(&slice->records);
    if (PFA_UNLIKELY(word == 0)) {
        return;
    }
    uint64_t distance = (address & 0xffff) + (word & PFA_WORD_REACH_MASK) - PFA_REGION_LEAD;
    int64_t scaled = (int64_t)distance * (int64_t)(word >> PFA_WORD_RECIPROCAL_SHIFT);
    records += (uint64_t)(scaled >> PFA_RECIPROCAL_BITS) * sizeof(pfa_wide_record_t);
    pfa_access_note((pfa_wide_record_t *)records, distance, address, size, counts);
}

/* Any address; the range check is all that most need. */
PFA_INLINE bool pfa_access_concerns(uintptr_t address)
{
    return PFA_UNLIKELY(PFA_ACCESS_ANYWHERE ? address - pfa_access_view.base < pfa_access_view.span
                                            : address >> PFA_WINDOW_SHIFT == PFA_WINDOW);
}

PFA_INLINE void pfa_access(uintptr_t address, uint64_t size, uint64_t counts)
{
    if (pfa_access_concerns(address)) {
        pfa_access_at(address, size, counts);
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
