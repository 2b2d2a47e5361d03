/* Owns the record area and pfa_range.units. See alloc/places.h. */
#include "alloc/places.h"
#include "alloc/region.h"
#include "base/sys.h"
#include "meta/extents.h"

#include <errno.h>

enum { UNIT_SLICES = PFA_UNIT_SLICES, COMMITTING = UINT16_MAX, PATIENCE = 10000 };

/* Records of the shared part, and how many of them a region may have: enough for slots of 48 bytes. Regions of smaller
 * ones end with a page, or nearly. */
enum { SHARED = UNIT_SLICES * 1408, PLACE_MAX = 1400 };
_Static_assert(SHARED <= UINT16_MAX, "places are told by 16 bits");
_Static_assert((SHARED * sizeof(pfa_record_t)) % PFA_LIVE_PAGE == 0 &&
                   (UNIT_SLICES * PFA_RECORDS_PER_SLICE * sizeof(pfa_record_t)) % PFA_LIVE_PAGE == 0 &&
                   (UNIT_SLICES * PFA_RECORD_GAP) % PFA_LIVE_PAGE == 0,
               "units are whole pages, whatever their size");

/* Of a slice's place in the shared part: the number of its first record, and how many they are, 0 without one. */
static uint32_t make_place(uint32_t first, uint32_t count)
{
    return first << 16 | count;
}

static uint64_t shared_size(void)
{
    return SHARED * pfa_range_record_size();
}

static uint64_t unit_size(const pfa_range_t *range)
{
    uint64_t record_size = range->wide ? sizeof(pfa_wide_record_t) : sizeof(pfa_record_t);
    return SHARED * record_size + UNIT_SLICES * range->home_stride;
}

static uint64_t unit_count(const pfa_range_t *range)
{
    return ((range->region_span >> PFA_SLICE_SHIFT) + UNIT_SLICES - 1) / UNIT_SLICES;
}

uint64_t pfa_places_size(const pfa_range_t *range)
{
    return unit_count(range) * unit_size(range);
}

uint64_t pfa_places_units_size(const pfa_range_t *range)
{
    return unit_count(range) * sizeof *range->units;
}

static int commit_unit(uint64_t number)
{
    pfa_record_unit_t *unit = &pfa_range.units[number];
    size_t size = unit_size(&pfa_range);
    uint32_t extent = 0;
    uint16_t none = 0;
    /* Of two threads the second must not map over the first's records. It is rare that there are two: the slices are
     * mostly of one mimalloc segment, which one thread owns. Who comes second waits for a moment, and if that is not
     * enough goes without a record. */
    if (!pfa_cas_acq_rel(&unit->extent, &none, COMMITTING)) {
        for (int i = 0; i < PATIENCE && none == COMMITTING; i++) {
            pfa_sys_yield();
            none = pfa_load_acquire(&unit->extent);
        }
        return none == COMMITTING || none == 0 ? EBUSY : 0;
    }
    void *at = (void *)(pfa_range.records + number * size);
    int err = pfa_extents_add(PFA_EXTENT_RECORDS, (uint32_t)number, size, at, NULL, &extent);
    /* Partner: the acquire load in pfa_places_get. */
    pfa_store_release(&unit->extent, err == 0 ? (uint16_t)(extent + 1) : (uint16_t)0);
    return err;
}

/* Takes records of the shared part; false if there are too few left. */
static bool take_shared(pfa_record_unit_t *unit, uint64_t count, uint32_t *first)
{
    uint64_t limit = SHARED - PFA_RECORD_GAP / pfa_range_record_size();
    uint16_t used = pfa_load_relaxed(&unit->used);
    do {
        if (count > PLACE_MAX || used + count > limit) {
            return false;
        }
    } while (!pfa_cas_weak_acq_rel(&unit->used, &used, (uint16_t)(used + count)));
    *first = used;
    return true;
}

/* Where the records of a slice begin, `before` included, in the unit's extent. */
static uint64_t shared_offset(uint32_t first)
{
    return PFA_RECORD_GAP + first * pfa_range_record_size();
}

static uint64_t home_offset(uint64_t within)
{
    return shared_size() + within * pfa_range.home_stride + PFA_RECORD_GAP;
}

static uint64_t find_place(pfa_record_unit_t *unit, uint64_t within, uint64_t before, uint64_t count)
{
    uint32_t place = pfa_load_relaxed(&unit->places[within]);
    uint32_t first = place >> 16;
    if ((uint16_t)place < before + count) {
        if (!take_shared(unit, before + count, &first)) {
            return home_offset(within) - before * pfa_range_record_size();
        }
        pfa_store_relaxed(&unit->places[within], make_place(first, (uint32_t)(before + count)));
    }
    return shared_offset(first);
}

int pfa_places_get(uint64_t slice, uint64_t before, uint64_t count, pfa_record_t **records)
{
    uint64_t number = slice / UNIT_SLICES;
    pfa_record_unit_t *unit = &pfa_range.units[number];
    uint16_t seen = pfa_load_acquire(&unit->extent);
    if (PFA_UNLIKELY(seen == 0) || PFA_UNLIKELY(seen == COMMITTING)) {
        int err = commit_unit(number);
        if (err != 0) {
            return err;
        }
    }
    uint64_t record_size = pfa_range_record_size();
    uint64_t offset = find_place(unit, slice % UNIT_SLICES, before, count);
    *records = (pfa_record_t *)(pfa_range.records + number * unit_size(&pfa_range) + offset + before * record_size);
    return pfa_extents_make_room(pfa_load_relaxed(&unit->extent) - 1u, offset, (before + count) * record_size);
}

/* The slots of the region that begins with this slice, and the rest behind them; 0 if none does. */
static uint64_t slots_of(uint64_t slice)
{
    uint64_t count = pfa_range.region_span >> PFA_SLICE_SHIFT;
    uint64_t word = pfa_load_relaxed(&pfa_range.slices[slice].word);
    uint64_t slices = 1;
    if (word == 0 || pfa_word_back(word) != 0) {
        return 0;
    }
    for (; slices < PFA_REGION_SLICES_MAX && slice + slices < count; slices++) {
        uint64_t next = pfa_load_relaxed(&pfa_range.slices[slice + slices].word);
        if (next == 0 || pfa_word_back(next) != slices) {
            break;
        }
    }
    return (slices << PFA_SLICE_SHIFT) / pfa_word_slot_size(word) + 1;
}

int pfa_places_make_room(uint32_t extent, uint64_t number)
{
    uint64_t record_size = pfa_range_record_size();
    uint64_t start = pfa_range.records + number * unit_size(&pfa_range);
    uint64_t used = pfa_load_relaxed(&pfa_range.units[number].used);
    int err = used == 0 ? 0 : pfa_extents_make_room(extent, shared_offset(0), used * record_size);
    for (uint64_t within = 0; within < UNIT_SLICES && err == 0; within++) {
        uint64_t slice = number * UNIT_SLICES + within;
        uint64_t home = home_offset(within);
        if (slice < pfa_range.region_span >> PFA_SLICE_SHIFT && slots_of(slice) != 0 &&
            (uintptr_t)pfa_load_relaxed(&pfa_range.slices[slice].records) == start + home) {
            /* The gap too: what lies before the region's first slot is looked up there. */
            err = pfa_extents_make_room(extent, home - PFA_RECORD_GAP, PFA_RECORD_GAP + slots_of(slice) * record_size);
        }
    }
    return err;
}
