/* Owns the record area and pfa_range.units. See alloc/places.h. */
#include "alloc/places.h"
#include "alloc/region.h"
#include "base/sys.h"
#include "meta/extents.h"

#include <errno.h>

enum { UNIT_SLICES = PFA_UNIT_SLICES, COMMITTING = UINT16_MAX, PATIENCE = 10000 };

/* The most records a place has: enough for slots of 48 bytes. Regions of smaller ones end with a page, or nearly. The
 * shared part has room for one such place of each slice and a gap, and whole pages. */
enum { PLACE_MAX = 1400, SHARED = UNIT_SLICES * 1408 };
_Static_assert(UNIT_SLICES *PLACE_MAX + PFA_RECORD_GAP / sizeof(pfa_record_t) <= SHARED && SHARED <= UINT16_MAX,
               "all places fit in, and are told by 16 bits");
_Static_assert((SHARED * sizeof(pfa_record_t)) % PFA_LIVE_PAGE == 0 &&
                   (UNIT_SLICES * PFA_RECORDS_PER_SLICE * sizeof(pfa_record_t)) % PFA_LIVE_PAGE == 0 &&
                   (UNIT_SLICES * PFA_RECORD_GAP) % PFA_LIVE_PAGE == 0,
               "units are whole pages, whatever their size");

static uint64_t unit_size(const pfa_range_t *range)
{
    return SHARED * pfa_record_size(range->wide) + UNIT_SLICES * range->home_stride;
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

static uintptr_t unit_start(uint64_t number)
{
    return pfa_range.records + number * unit_size(&pfa_range);
}

static _Atomic uint64_t units_end; /* behind the last that was ever asked for */

void pfa_places_after_fork(void)
{
    for (uint64_t i = 0; i < pfa_load_relaxed(&units_end); i++) {
        uint16_t making = COMMITTING;
        (void)pfa_cas_acq_rel(&pfa_range.units[i].extent, &making, (uint16_t)0);
    }
}

static int commit_unit(uint64_t number)
{
    pfa_atomic_max(&units_end, number + 1);
    pfa_record_unit_t *unit = &pfa_range.units[number];
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
    int err = pfa_extents_add(PFA_EXTENT_RECORDS, (uint32_t)number, unit_size(&pfa_range), (void *)unit_start(number),
                              NULL, &extent);
    /* Partner: the acquire load in pfa_places_get. */
    pfa_store_release(&unit->extent, err == 0 ? (uint16_t)(extent + 1) : (uint16_t)0);
    return err;
}

/* Offsets in a unit. */
static uint64_t shared_offset(uint64_t record)
{
    return PFA_RECORD_GAP + record * pfa_range_record_size();
}

static uint64_t home_offset(uint64_t within)
{
    return SHARED * pfa_range_record_size() + within * pfa_range.home_stride + PFA_RECORD_GAP;
}

/* Gives the memory of a place back that its slice has outgrown: what is in its first and last page is others' too. */
static void leave_place(uint64_t number, pfa_record_place_t place)
{
    uintptr_t mask = pfa_backing_page_size() - 1;
    uintptr_t begin = (unit_start(number) + shared_offset(place.first) + mask) & ~mask;
    uintptr_t end = (unit_start(number) + shared_offset((uint64_t)place.first + place.count)) & ~mask;
    if (begin < end) {
        pfa_extents_drop((void *)begin, end - begin);
    }
}

/* A place for more records than the slice's old one has: that made longer if nothing is behind it, or another. False if
 * the shared part has too few left. */
static bool grow_place(pfa_record_unit_t *unit, pfa_record_place_t *place, uint64_t count)
{
    uint64_t limit = SHARED - PFA_RECORD_GAP / pfa_range_record_size();
    uint16_t used = pfa_load_relaxed(&unit->used);
    uint16_t first;
    do {
        first = place->count != 0 && place->first + place->count == used ? place->first : used;
        if (count > PLACE_MAX || first + count > limit) {
            return false;
        }
    } while (!pfa_cas_weak_acq_rel(&unit->used, &used, (uint16_t)(first + count)));
    *place = (pfa_record_place_t){first, (uint16_t)count};
    return true;
}

/* Where the records that come before the first slot begin. */
static uint64_t find_place(uint64_t slice, pfa_need_t need)
{
    pfa_record_unit_t *unit = &pfa_range.units[slice / UNIT_SLICES];
    pfa_record_place_t *place = &unit->places[slice % UNIT_SLICES];
    pfa_record_place_t old = *place;
    uint64_t count = need.before + need.count;
    if (old.count < count && !grow_place(unit, place, count)) {
        return home_offset(slice % UNIT_SLICES) - need.before * pfa_range_record_size();
    }
    if (old.count != 0 && old.first != place->first) {
        leave_place(slice / UNIT_SLICES, old);
    }
    return shared_offset(place->first);
}

/* Whole pages: a store to one page of the system may take several blocks of the disk. */
static int make_room(uint32_t extent, uint64_t begin, uint64_t end)
{
    uint64_t mask = pfa_backing_page_size() - 1;
    begin &= ~mask;
    return pfa_extents_make_room(extent, begin, ((end + mask) & ~mask) - begin);
}

int pfa_places_get(uint64_t slice, pfa_need_t need, pfa_record_t **records)
{
    uint64_t number = slice / UNIT_SLICES;
    const pfa_record_unit_t *unit = &pfa_range.units[number];
    uint16_t seen = pfa_load_acquire(&unit->extent);
    if (PFA_UNLIKELY(seen == 0) || PFA_UNLIKELY(seen == COMMITTING)) {
        int err = commit_unit(number);
        if (err != 0) {
            return err;
        }
    }
    uint64_t record_size = pfa_range_record_size();
    uint64_t begin = find_place(slice, need);
    *records = (pfa_record_t *)(unit_start(number) + begin + need.before * record_size);
    return make_room(pfa_load_relaxed(&unit->extent) - 1u, begin, begin + (need.before + need.count) * record_size);
}

/* Of the region that begins with this slice; all 0 if none does. */
static pfa_need_t need_of(uint64_t slice)
{
    uint64_t count = pfa_range.region_span >> PFA_SLICE_SHIFT;
    uint64_t word = slice < count ? pfa_load_relaxed(&pfa_range.slices[slice].word) : 0;
    uint64_t slices = 1;
    if (word == 0 || pfa_word_back(word) != 0) {
        return (pfa_need_t){0, 0};
    }
    for (; slices < PFA_REGION_SLICES_MAX && slice + slices < count; slices++) {
        uint64_t next = pfa_load_relaxed(&pfa_range.slices[slice + slices].word);
        if (next == 0 || pfa_word_back(next) != slices) {
            break;
        }
    }
    return pfa_region_need(word, slices);
}

int pfa_places_make_room(uint32_t extent, uint64_t number)
{
    uint64_t record_size = pfa_range_record_size();
    uint64_t begin = 0;
    uint64_t end = 0;
    int err = 0;
    for (uint64_t slice = number * UNIT_SLICES; slice < (number + 1) * UNIT_SLICES && err == 0; slice++) {
        pfa_need_t need = need_of(slice);
        if (need.count == 0) {
            continue;
        }
        uint64_t records = (uintptr_t)pfa_load_relaxed(&pfa_range.slices[slice].records) - unit_start(number);
        uint64_t next = records - need.before * record_size;
        if (next != end) { /* neighbours are asked for together */
            err = begin != end ? make_room(extent, begin, end) : 0;
            begin = next;
        }
        end = records + need.count * record_size;
    }
    return err == 0 && begin != end ? make_room(extent, begin, end) : err;
}
