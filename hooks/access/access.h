/* The access itself, hot: from an address to its record, and what is noted there. Inline, for the callbacks of both
 * compilers (hooks/access) and for the code that the Clang pass puts into a program (hooks/pass).
 *
 * Budget: outside the profiled range two loads and a compare. In R, from the slice's two words on: one multiply, five
 * loads and four stores in the record's line and the thread's. No call, no lock, no atomic read-modify-write, no
 * allocation. Safe at any time on any address: before the library has started, in signal handlers, at a thread's end, and on
 * memory that was freed a moment ago; races lose counts, never more, since the memory of records stays one of records. */
#ifndef PFA_HOOKS_ACCESS_ACCESS_H
#define PFA_HOOKS_ACCESS_ACCESS_H

#include "hooks/access/view.h"

#include <stdbool.h>

#define PFA_MODULE __attribute__((visibility("hidden")))

extern PFA_MODULE pfa_access_view_t pfa_access_view;
extern PFA_MODULE PFA_THREAD_LOCAL pfa_access_thread_t pfa_access_thread;

/* Out of line: first accesses, accesses of another thread than the last, saturated counters, the clock, large chunks that
 * have no slices. */
PFA_INLINE void pfa_access_rare(uint64_t offset, uint64_t size, uint64_t counts)
{
    pfa_access_view.rare(&pfa_access_thread, pfa_access_view.base + offset, size, counts);
}

/* In the profiled range, as an offset into it. size > 0. */
PFA_INLINE void pfa_access_at(uint64_t offset, uint64_t size, uint64_t counts)
{
    const pfa_access_view_t *view = &pfa_access_view;
    uint64_t distance;
    uintptr_t record;
    if (PFA_LIKELY(offset < view->region_span)) {
        const pfa_slice_t *slice = &view->slices[offset >> PFA_SLICE_SHIFT];
        uint64_t word = pfa_load_relaxed(&slice->word);
        record = (uintptr_t)pfa_load_relaxed(&slice->records);
        distance = (offset & 0xffff) + (word & PFA_WORD_REACH_MASK) - PFA_REGION_LEAD;
        int64_t scaled = (int64_t)distance * (int64_t)(word >> PFA_WORD_RECIPROCAL_SHIFT);
        record += (uint64_t)(scaled >> PFA_RECIPROCAL_BITS) * sizeof(pfa_wide_record_t);
        if (PFA_UNLIKELY(word == 0)) {
            return;
        }
    } else {
        if (PFA_UNLIKELY(offset >= view->table_span)) {
            pfa_access_rare(offset, size, counts);
            return;
        }
        const pfa_slice_t *slice = &view->slices[offset >> PFA_SLICE_SHIFT];
        record = (uintptr_t)pfa_load_relaxed(&slice->records);
        distance = offset - pfa_load_relaxed(&slice->word);
        if (PFA_UNLIKELY(record == 0)) {
            pfa_access_rare(offset, size, counts);
            return;
        }
    }
    pfa_wide_record_t *wide = (pfa_wide_record_t *)record;
    pfa_access_thread_t *thread = &pfa_access_thread;
    uint64_t sum = wide->accesses.counts + counts;
    if (PFA_UNLIKELY(wide->record.last_thread != thread->number) || PFA_UNLIKELY((sum & view->unusual) != 0) ||
        PFA_UNLIKELY(--thread->ticks < 0)) {
        pfa_access_rare(offset, size, counts);
        return;
    }
    uint32_t first = (uint32_t)distance;
    uint32_t last = (uint32_t)(distance + size - 1);
    wide->accesses.counts = sum;
    wide->accesses.low = first < wide->accesses.low ? first : wide->accesses.low;
    wide->accesses.high = last > wide->accesses.high ? last : wide->accesses.high;
    wide->accesses.last_access = thread->clock;
}

/* Any address; the range check is all that most need. */
PFA_INLINE bool pfa_access_concerns(uintptr_t address)
{
    return PFA_UNLIKELY(address - pfa_access_view.base < pfa_access_view.span);
}

PFA_INLINE void pfa_access(uintptr_t address, uint64_t size, uint64_t counts)
{
    if (pfa_access_concerns(address)) {
        pfa_access_at(address - pfa_access_view.base, size, counts);
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
