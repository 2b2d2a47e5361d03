/* Owns the change from the parent's records to the child's own. See alloc/inherit.h. */
#include "alloc/inherit.h"
#include "alloc/region.h"
#include "meta/extents.h"

#include <errno.h>

enum { SLICES_PER_EXTENT = 16 };

/* The end of the records of the slots that begin in this slice, in its extent; 0 if there are none. */
static uint64_t records_end(uint64_t unit, uint64_t slice)
{
    uint64_t word = pfa_load_relaxed(&pfa_range.slices[unit * SLICES_PER_EXTENT + slice].word);
    if (word == 0) {
        return 0;
    }
    uint64_t slots = 0;
    if (pfa_word_back(word) == 0) {
        slots = ((uint64_t)PFA_REGION_SLICES_MAX << PFA_SLICE_SHIFT) / pfa_word_slot_size(word);
        slots = slots < PFA_RECORDS_PER_SLICE ? slots : PFA_RECORDS_PER_SLICE;
    }
    return slice * pfa_range.record_stride + PFA_RECORD_GAP + slots * pfa_range_record_size();
}

/* For all records of an extent: nobody asks again, the regions are known. Neighbours are asked for together. */
static int make_room_in(uint32_t extent, uint64_t unit)
{
    uint64_t start = 0;
    uint64_t end = 0;
    for (uint64_t slice = 0; slice < SLICES_PER_EXTENT; slice++) {
        uint64_t next_end = records_end(unit, slice);
        uint64_t next = slice * pfa_range.record_stride;
        if (next_end == 0 || next == end) {
            end = next_end != 0 ? next_end : end;
            continue;
        }
        int err = end != start ? pfa_extents_make_room(extent, start, end - start) : 0;
        if (err != 0) {
            return err;
        }
        start = next;
        end = next_end;
    }
    return end != start ? pfa_extents_make_room(extent, start, end - start) : 0;
}

static int make_room(void)
{
    uint32_t count = pfa_load_relaxed(&pfa_extents_head->extent_count);
    int err = 0;
    for (uint32_t i = 0; i < count && err == 0; i++) {
        const pfa_live_extent_t *extent = &pfa_extents_head->extents[i];
        if (extent->kind != PFA_EXTENT_RECORDS) {
            err = extent->kind == PFA_EXTENT_NONE ? 0 : pfa_extents_make_room(i, 0, extent->size);
            continue;
        }
        err = make_room_in(i, extent->index);
    }
    return err;
}

int pfa_inherit(const char *path)
{
    int err = pfa_extents_reopen(path);
    pfa_range.inherited = true;
    if (err == 0 && make_room() != 0) {
        pfa_extents_unlink();
        (void)pfa_extents_reopen(NULL);
        err = ENOSPC;
    }
    return err;
}
