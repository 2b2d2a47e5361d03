/* Where the records of regions are: in the extents of that kind, wherever those lie. For tests of alloc/. */
#ifndef PFA_TESTS_RECORDS_H
#define PFA_TESTS_RECORDS_H

#include "alloc/range.h"
#include "meta/extents.h"

/* The number of the next extent of records at or behind this one; UINT32_MAX: there is none. */
static inline uint32_t next_records(uint32_t number)
{
    uint32_t count = pfa_load_acquire(&pfa_extents_head->extent_count);
    while (number < count && pfa_extents_kind(number) != PFA_EXTENT_RECORDS) {
        number++;
    }
    return number < count ? number : UINT32_MAX;
}

/* Is it in one of them, at a whole number of records from its start? */
static inline bool is_a_record(const void *record)
{
    for (uint32_t i = next_records(0); i != UINT32_MAX; i = next_records(i + 1)) {
        uint64_t offset = (uintptr_t)record - (uintptr_t)pfa_extents_at(i);
        if (offset < pfa_extents_head->extents[i].size) {
            return offset % pfa_range_record_size() == 0;
        }
    }
    return false;
}

#endif
