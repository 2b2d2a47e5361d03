/* Owns where records lie, and pfa_range.units. See alloc/places.h. */
#include "alloc/places.h"
#include "alloc/region.h"
#include "base/sys.h"
#include "meta/extents.h"

#include <errno.h>

enum { UNIT_SLICES = PFA_UNIT_SLICES, YIELDS = 1000, PAUSES = 5000, PAUSE_NS = 200000 };

enum { GROUPS_MAX = PFA_LIVE_EXTENTS / 4 }; /* each is a mapping, of which a process can have 65530 */

/* While a thread makes an extent, its word says so, and of which process it is: in a fork child it is made anew. */
enum { MAKING = PFA_LIVE_EXTENTS + 1, MAKERS = UINT16_MAX - MAKING };

/* The most records a place has: enough for slots of 48 bytes. Regions of smaller ones end with a page, or nearly. The
 * shared part has room for one such place and one description of each slice and a gap, and whole pages. */
enum { PLACE_MAX = 1399, SHARED = UNIT_SLICES * 1408 };
_Static_assert(UNIT_SLICES *(PLACE_MAX + 1) + PFA_RECORD_GAP / sizeof(pfa_record_t) <= SHARED && SHARED <= UINT16_MAX,
               "all places fit in, and are told by 16 bits");
_Static_assert((SHARED * sizeof(pfa_record_t)) % PFA_LIVE_PAGE == 0 &&
                   (UNIT_SLICES * PFA_RECORDS_PER_SLICE * sizeof(pfa_record_t)) % PFA_LIVE_PAGE == 0 &&
                   (UNIT_SLICES * PFA_RECORD_GAP) % PFA_LIVE_PAGE == 0,
               "units are whole pages, whatever their size");

static uint64_t unit_size(const pfa_range_t *range)
{
    return SHARED * pfa_record_size(range->wide) + UNIT_SLICES * range->home_stride;
}

static uint64_t units_for(uint64_t span)
{
    return ((span >> PFA_SLICE_SHIFT) + UNIT_SLICES - 1) / UNIT_SLICES;
}

static uint64_t unit_count(const pfa_range_t *range)
{
    return units_for(range->region_max);
}

uint64_t pfa_places_units_size(uint64_t span)
{
    return units_for(span) * sizeof(pfa_record_unit_t);
}

uint64_t pfa_places_group(uint64_t full)
{
    uint64_t count = units_for(full);
    uint64_t units = 1;
    while (count > units * GROUPS_MAX) {
        units *= 2;
    }
    return units;
}

static pfa_record_unit_t *group_of(uint64_t number)
{
    return &pfa_range.units[number - number % pfa_range.group_units];
}

/* Where a unit begins in its group's extent. */
static uint64_t unit_offset(uint64_t number)
{
    return number % pfa_range.group_units * unit_size(&pfa_range);
}

static uintptr_t unit_start(uint64_t number)
{
    return (uintptr_t)pfa_load_relaxed(&group_of(number)->records) + unit_offset(number);
}

static bool is_made(uint16_t extent)
{
    return extent != 0 && extent < MAKING;
}

/* True: the caller makes it, and stores its number or 0. Else *err is 0 if it is there, or EBUSY: who comes second waits, a
 * second at most (a fork may hold up the first in the kernel, while it copies the tables of pages), and then goes without a
 * record. */
static bool may_make(_Atomic uint16_t *extent, int *err)
{
    uint32_t process = pfa_extents_head != NULL ? pfa_extents_head->pid : 0; /* before the first extent of all */
    uint16_t making = (uint16_t)(MAKING + process % MAKERS);
    uint16_t seen = pfa_load_acquire(extent);
    for (int i = 0; i < YIELDS + PAUSES && !is_made(seen); i++) {
        if (seen == making) {
            if (i < YIELDS) {
                pfa_sys_yield();
            } else {
                pfa_sys_pause(PAUSE_NS);
            }
            seen = pfa_load_acquire(extent);
        } else if (pfa_cas_acq_rel(extent, &seen, making)) {
            return true;
        }
    }
    *err = is_made(seen) ? 0 : EBUSY;
    return false;
}

/* Partner: the acquire loads of such words. */
static int made(_Atomic uint16_t *extent, int err, uint32_t number)
{
    pfa_store_release(extent, err == 0 ? (uint16_t)(number + 1) : (uint16_t)0);
    return err;
}

static int make_group(uint64_t number)
{
    pfa_record_unit_t *group = group_of(number);
    int err;
    if (!may_make(&group->group_extent, &err)) {
        return err;
    }
    uint64_t index = number / pfa_range.group_units;
    uint64_t left = unit_count(&pfa_range) - index * pfa_range.group_units;
    uint64_t units = left < pfa_range.group_units ? left : pfa_range.group_units;
    void *memory = pfa_load_relaxed(&group->records); /* in a fork child, perhaps */
    uint32_t extent = 0;
    err = pfa_extents_add(PFA_EXTENT_RECORDS, (uint32_t)index, units * unit_size(&pfa_range), memory, &memory, &extent);
    if (err == 0) {
        pfa_store_relaxed(&group->records, (char *)memory);
    }
    return made(&group->group_extent, err, extent);
}

static int make_twin(pfa_record_unit_t *group)
{
    int err;
    if (!may_make(&group->group_twin, &err)) {
        return err;
    }
    uint32_t twin = 0;
    err = pfa_extents_add_twin(pfa_load_relaxed(&group->group_extent) - 1u, &twin);
    return made(&group->group_twin, err, twin);
}

/* Where a unit that nobody uses yet shall lie: in its group's extent or, if memory is short, in its twin. */
static int choose_extent(uint64_t number, uint32_t *extent)
{
    pfa_record_unit_t *group = group_of(number);
    *extent = pfa_load_relaxed(&group->group_extent) - 1u;
    if (pfa_extents_in_more(*extent) || !pfa_extents_is_short(unit_size(&pfa_range))) {
        return pfa_extents_use(*extent, unit_offset(number), unit_size(&pfa_range));
    }
    int err = make_twin(group);
    if (err == 0) {
        *extent = pfa_load_relaxed(&group->group_twin) - 1u;
        err = pfa_extents_map_twin(*extent, unit_offset(number), unit_size(&pfa_range));
    }
    return err;
}

/* Offsets in a unit: of the description of a slice's region, of places, of homes. */
static uint64_t described_offset(uint64_t within)
{
    return PFA_RECORD_GAP + within * pfa_range_record_size();
}

static uint64_t shared_offset(uint64_t record)
{
    return described_offset(UNIT_SLICES + record);
}

/* Whole pages: a store to one page of the system may take several blocks of the disk. */
static int make_room_in(uint32_t extent, uint64_t number, uint64_t begin, uint64_t end)
{
    uint64_t mask = pfa_backing_page_size() - 1;
    begin &= ~mask;
    return pfa_extents_make_room(extent, unit_offset(number) + begin, ((end + mask) & ~mask) - begin);
}

static int make_room(uint64_t number, uint64_t begin, uint64_t end)
{
    return make_room_in(pfa_load_relaxed(&pfa_range.units[number].extent) - 1u, number, begin, end);
}

static int make_described_room(uint64_t number, uint32_t extent)
{
    return make_room_in(extent, number, described_offset(0), described_offset(UNIT_SLICES));
}

static int commit_unit(uint64_t number)
{
    pfa_record_unit_t *unit = &pfa_range.units[number];
    uint32_t extent = 0;
    int err;
    /* Of two threads the second must not map over the first's records. It is rare that there are two: the slices are
     * mostly of one mimalloc segment, which one thread owns. */
    if (!may_make(&unit->extent, &err)) {
        return err;
    }
    err = make_group(number);
    err = err != 0 ? err : choose_extent(number, &extent);
    err = err != 0 ? err : make_described_room(number, extent);
    return made(&unit->extent, err, extent);
}

static uint64_t home_offset(uint64_t within)
{
    return SHARED * pfa_range_record_size() + within * pfa_range.home_stride + PFA_RECORD_GAP;
}

pfa_record_place_t pfa_places_of(uint64_t slice)
{
    return pfa_range.units[slice / UNIT_SLICES].places[slice % UNIT_SLICES];
}

/* What is in its first and last page is others' too. */
void pfa_places_leave(uint64_t slice, pfa_record_place_t place)
{
    uint64_t number = slice / UNIT_SLICES;
    if (place.count == 0 || place.first == pfa_places_of(slice).first) {
        return;
    }
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
    uint64_t limit = SHARED - UNIT_SLICES - PFA_RECORD_GAP / pfa_range_record_size();
    uint16_t used = pfa_load_relaxed(&unit->used);
    uint16_t first;
    do {
        first = place->count != 0 && place->first + place->count == used ? place->first : used;
        if (count > PLACE_MAX || first + count > limit) {
            return false;
        }
    } while (!pfa_cas_weak_acq_rel(&unit->used, &used, (uint16_t)(first + count)));
    *place = (pfa_record_place_t){.first = first, .count = count & 0x7fffu};
    return true;
}

/* Where the records that come before the first slot begin. */
static uint64_t find_place(uint64_t slice, pfa_need_t need)
{
    pfa_record_unit_t *unit = &pfa_range.units[slice / UNIT_SLICES];
    pfa_record_place_t *place = &unit->places[slice % UNIT_SLICES];
    uint64_t count = need.before + need.count;
    if (place->count < count && !grow_place(unit, place, count)) {
        return home_offset(slice % UNIT_SLICES) - need.before * pfa_range_record_size();
    }
    return shared_offset(place->first);
}

void pfa_places_describe(uint64_t slice, pfa_description_t region)
{
    uint64_t record_size = pfa_range_record_size();
    uintptr_t at = unit_start(slice / UNIT_SLICES) + described_offset(slice % UNIT_SLICES);
    pfa_record_t *record = (pfa_record_t *)at;
    pfa_store_relaxed(&record->size_flags, 0); /* no region, to whoever reads it meanwhile */
    pfa_fence_release();
    __atomic_store_n(&record->alloc_time, region.start, __ATOMIC_RELAXED);
    __atomic_store_n(&record->stack, (uint32_t)region.slots, __ATOMIC_RELAXED);
    __atomic_store_n(&record->type_link, (uint32_t)(((uintptr_t)region.records - at) / record_size), __ATOMIC_RELAXED);
    /* Partner: pfa_regions_take (export/format/regions.h). */
    pfa_store_release(&record->size_flags, pfa_size_flags(region.slot_size, PFA_RECORD_REGION));
}

/* Room for all of a slice's place. Regions come and go, and mostly stay where the one before them was. */
static int make_place_room(uint64_t number, pfa_record_place_t *place)
{
    if (place->has_room) {
        return 0;
    }
    uint64_t size = place->count * pfa_range_record_size();
    uint64_t begin = shared_offset(place->first);
    int err = make_room(number, begin, begin + size);
    place->has_room = err == 0 && size < PFA_RECORDS_DROPPED;
    return err;
}

int pfa_places_get(uint64_t slice, pfa_need_t need, pfa_record_t **records)
{
    uint64_t number = slice / UNIT_SLICES;
    pfa_record_unit_t *unit = &pfa_range.units[number];
    pfa_record_place_t *place = &unit->places[slice % UNIT_SLICES];
    if (PFA_UNLIKELY(!is_made(pfa_load_acquire(&unit->extent)))) {
        int err = commit_unit(number);
        if (err != 0) {
            return err;
        }
    }
    uint64_t record_size = pfa_range_record_size();
    uint64_t begin = find_place(slice, need);
    *records = (pfa_record_t *)(unit_start(number) + begin + need.before * record_size);
    bool is_home = place->count < need.before + need.count;
    return is_home ? make_room(number, begin, begin + (need.before + need.count) * record_size)
                   : make_place_room(number, place);
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

static void describe_again(uint64_t slice, pfa_need_t need)
{
    uint64_t word = pfa_load_relaxed(&pfa_range.slices[slice].word);
    uintptr_t start = pfa_range.base + (slice << PFA_SLICE_SHIFT) - (uint64_t)pfa_word_reach(word);
    pfa_record_t *records = pfa_load_relaxed(&pfa_range.slices[slice].records);
    pfa_places_describe(slice, (pfa_description_t){start, pfa_word_slot_size(word), need.count, records});
}

static int make_unit_room(uint64_t number)
{
    uint64_t record_size = pfa_range_record_size();
    uint64_t begin = 0;
    uint64_t end = 0;
    for (unsigned i = 0; i < UNIT_SLICES; i++) {
        pfa_range.units[number].places[i].has_room = 0;
    }
    int err = make_described_room(number, pfa_load_relaxed(&pfa_range.units[number].extent) - 1u);
    for (uint64_t slice = number * UNIT_SLICES; slice < (number + 1) * UNIT_SLICES && err == 0; slice++) {
        pfa_need_t need = need_of(slice);
        if (need.count == 0) {
            continue;
        }
        uint64_t records = (uintptr_t)pfa_load_relaxed(&pfa_range.slices[slice].records) - unit_start(number);
        uint64_t next = records - need.before * record_size;
        if (next != end) { /* neighbours are asked for together */
            err = begin != end ? make_room(number, begin, end) : 0;
            begin = next;
        }
        end = records + need.count * record_size;
        describe_again(slice, need);
    }
    return err == 0 && begin != end ? make_room(number, begin, end) : err;
}

int pfa_places_make_room(uint32_t extent, uint64_t index)
{
    uint64_t first = index * pfa_range.group_units;
    uint64_t end = first + pfa_range.group_units;
    end = end < unit_count(&pfa_range) ? end : unit_count(&pfa_range);
    int err = 0;
    if (pfa_load_relaxed(&pfa_range.units[first].records) == NULL) { /* its maker had not come to that */
        pfa_store_relaxed(&pfa_range.units[first].records, (char *)pfa_extents_at(extent));
    }
    pfa_store_relaxed(&pfa_range.units[first].group_extent, (uint16_t)(extent + 1));
    pfa_store_relaxed(&pfa_range.units[first].group_twin, (uint16_t)0);
    for (uint64_t number = first; number < end && err == 0; number++) {
        _Atomic uint16_t *word = &pfa_range.units[number].extent;
        uint32_t chosen = 0;
        if (is_made(pfa_load_relaxed(word))) {
            err = choose_extent(number, &chosen);
            pfa_store_relaxed(word, (uint16_t)(err == 0 ? chosen + 1 : extent + 1));
            err = err != 0 ? err : make_unit_room(number);
        }
    }
    return err;
}
