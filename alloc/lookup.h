/* From any address to the profiled chunk it lies in. Used by free, by the tests, and by the access callbacks. */
#ifndef PFA_ALLOC_LOOKUP_H
#define PFA_ALLOC_LOOKUP_H

#include "alloc/region.h"

typedef struct pfa_hit {
    uintptr_t start;      /* of the chunk, as the program got it */
    pfa_record_t *record; /* live at the time of the look-up */
} pfa_hit_t;

/* Budget: outside the profiled range, three loads, one subtraction, two compares; in R eight loads and two multiplies; no
 * call, no atomic, no lock. Safe on any value at any time. The record of a large chunk may be used inside the RCU read
 * section that the call was made in only (alloc/intervalmap.h); one of a region chunk stays readable for ever. */
PFA_INLINE bool pfa_lookup(uintptr_t address, pfa_hit_t *hit)
{
    uint64_t offset = address - pfa_range.base;
    if (PFA_LIKELY(offset >= pfa_range.total_span) && PFA_LIKELY(!pfa_load_relaxed(&pfa_range.large.has_outside))) {
        return false;
    }
    if (PFA_LIKELY(offset < pfa_range.region_span)) {
        pfa_place_t place = pfa_region_place(offset);
        if (PFA_UNLIKELY(place.word == 0)) {
            return false;
        }
        uint64_t within = pfa_place_within(&place);
        uint64_t lead = pfa_record_lead(place.record);
        hit->record = place.record;
        hit->start = address - within + lead;
        return pfa_is_live(pfa_load_relaxed(&place.record->size_flags)) && within >= lead;
    }
    pfa_large_t *large = pfa_intervalmap_find(&pfa_range.large, address);
    if (large == NULL) {
        return false;
    }
    hit->start = large->start;
    hit->record = large->record;
    return pfa_is_live(pfa_load_relaxed(&large->record->size_flags));
}

/* The same out of line, and in an RCU read section of its own: for tests and for code that is not hot. Without accesses
 * in the record, those of the copy say that there were none. */
bool pfa_lookup_copy(uintptr_t address, uintptr_t *start, pfa_wide_record_t *copy);

#endif
