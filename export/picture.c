/* Owns pictures: all chunks that are alive, read from the live table while the program goes on. Each record is taken as a
 * whole or not at all; the picture as a whole is of no single moment, but of the time it took.
 *
 * That may be seconds. Rings that get full meanwhile are emptied between two slices of it, so blocks of deaths lie between the
 * blocks of a picture. Those between the blocks of the final one are told as all that come behind it: with PFA_BATCH_AFTER_LIVE
 * and whole times, by which a reader knows the chunks that died and are in the picture all the same.
 *
 * Where a chunk lies is known by the description of its region, which comes before the region's records (export/format/regions.h),
 * or by the address behind the large cells. */
#include "base/clock.h"
#include "export/block.h"
#include "export/format/regions.h"
#include "export/writer.h"
#include "meta/accesses.h"
#include "meta/extents.h"
#include "meta/record.h"
#include "meta/ring.h"

#include <errno.h>
#include <string.h>

enum { NAME_MAX_SIZE = 255, SLICE = 4096, REGIONS_AT_ONCE = 4096 };

typedef struct picture {
    pfa_trace_live_t head;
    const char *name;
    pfa_batch_t *batch;
    size_t batch_at; /* where in the payload it begins */
    uint32_t shift;  /* of times, once there are many */
    uint64_t rows;
    uint32_t looked_at; /* records, in this slice */
    bool alone;         /* there is nobody to fill rings, or whoever does undoes it */
    int err;
    const char *extent; /* that is being read, */
    uint64_t step;      /* from one record to the next in it, */
    pfa_regions_t regions;
    uint32_t told_count; /* regions that have chunks here, not written yet */
} picture_t;

/* Those regions; under the writer's lock, as all of this. */
static pfa_trace_region_t told[REGIONS_AT_ONCE];

static void begin_batch(pfa_batch_t *batch)
{
    pfa_batch_begin(batch, 0, PFA_BATCH_LIVE | PFA_BATCH_ADDRESSES | (pfa_accesses_kept ? PFA_BATCH_ACCESSES : 0));
}

static void note_error(picture_t *picture, int err)
{
    picture->err = picture->err != 0 ? picture->err : err;
}

static void flush_regions(picture_t *picture)
{
    pfa_trace_regions_t head = {.picture = picture->head.number, .count = picture->told_count};
    size_t size = head.count * sizeof *told;
    char *payload = pfa_block_scratch();
    if (head.count == 0) {
        return;
    }
    memcpy(payload, &head, sizeof head);
    memcpy(payload + sizeof head, told, size);
    note_error(picture, pfa_writer_block(PFA_BLOCK_REGIONS, payload, sizeof head + size));
    picture->told_count = 0;
}

static void tell_region(picture_t *picture, pfa_place_region_t *region)
{
    if (region->told != 0) {
        return;
    }
    region->told = 1;
    if (picture->told_count == REGIONS_AT_ONCE) {
        flush_regions(picture);
    }
    told[picture->told_count++] = (pfa_trace_region_t){
        .start = region->start, .slot_size = (uint32_t)region->slot_size, .slots = (uint32_t)region->slots};
}

static void flush(picture_t *picture, uint32_t flags)
{
    flush_regions(picture); /* before their chunks */
    pfa_writer_nodes();
    picture->rows += picture->batch->head.rows;
    pfa_batch_set_shift(picture->batch, picture->rows > PFA_BATCH_EXACT_ROWS ? picture->shift : 0);
    char *payload = pfa_block_scratch();
    pfa_trace_live_t head = picture->head;
    head.flags |= flags;
    memset(payload, 0, picture->batch_at);
    memcpy(payload, &head, sizeof head);
    memcpy(payload + sizeof head, picture->name, head.name_size);
    size_t size = pfa_batch_finish(picture->batch, (uint8_t *)payload + picture->batch_at);
    note_error(picture, pfa_writer_block(PFA_BLOCK_LIVE, payload, picture->batch_at + size));
    begin_batch(picture->batch);
}

/* Accesses may come in between: each word is one of then or one of now. */
static pfa_event_accesses_t read_accesses(const pfa_record_t *record, uint64_t alloc_time, uint64_t size)
{
    const uint64_t *from = (const uint64_t *)(const void *)(record + 1);
    uint64_t words[sizeof(pfa_live_accesses_t) / sizeof(uint64_t)];
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        words[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
    }
    pfa_live_accesses_t copy;
    memcpy(&copy, words, sizeof copy);
    return pfa_live_accesses(&copy, alloc_time, size);
}

/* Another thread may end this life and begin another meanwhile: then it is not of this picture. */
static bool read_record(const pfa_record_t *record, pfa_event_t *event, pfa_event_accesses_t *accesses)
{
    uint64_t size_flags = pfa_load_acquire(&record->size_flags);
    if (!pfa_is_live(size_flags)) {
        return false;
    }
    /* Acquire loads: the last one below comes after all of them. */
    uint64_t tail = pfa_load_acquire(&record->tail);
    *event = (pfa_event_t){.alloc_time = __atomic_load_n(&record->alloc_time, __ATOMIC_ACQUIRE),
                           .size_flags = size_flags & ~(uint64_t)PFA_FLAGS_SILENT,
                           .stack = __atomic_load_n(&record->stack, __ATOMIC_ACQUIRE),
                           .type_link = __atomic_load_n(&record->type_link, __ATOMIC_ACQUIRE),
                           .thread = (uint16_t)tail,
                           .tag = (uint16_t)(tail >> 16),
                           .last_thread = (uint16_t)(tail >> 32)};
    if (event->alloc_time < pfa_extents_head->start_counter) {
        return false; /* another trace's */
    }
    if (pfa_accesses_kept) {
        *accesses = read_accesses(record, event->alloc_time, pfa_size_of(size_flags));
    }
    /* The next life in the same place may have the same size, but never the same time. */
    uint64_t changed = pfa_load_relaxed(&record->size_flags) ^ size_flags;
    return (changed & ~(uint64_t)PFA_FLAG_SHARED) == 0 && /* accesses change that one, and the last thread */
           __atomic_load_n(&record->alloc_time, __ATOMIC_RELAXED) == event->alloc_time;
}

static const pfa_record_t *record_at(const picture_t *picture, uint64_t number)
{
    return (const pfa_record_t *)(const void *)(picture->extent + number * picture->step);
}

/* The description is written by the thread that owns the slice: size_flags last, and 0 before. */
static void take_description(picture_t *picture, uint64_t number)
{
    const pfa_record_t *record = record_at(picture, number);
    pfa_live_record_t copy = {.size_flags = pfa_load_acquire(&record->size_flags)};
    copy.alloc_time = __atomic_load_n(&record->alloc_time, __ATOMIC_ACQUIRE);
    copy.stack = __atomic_load_n(&record->stack, __ATOMIC_ACQUIRE);
    copy.type_link = __atomic_load_n(&record->type_link, __ATOMIC_ACQUIRE);
    if (pfa_live_is_region(copy.size_flags) && pfa_load_relaxed(&record->size_flags) == copy.size_flags) {
        pfa_regions_take(&picture->regions, number, &copy);
    }
}

/* Chunks live of which the region was described before they were born: if it is described as it was when that was read, it was so
 * all the time. */
static bool is_current(const picture_t *picture, const pfa_place_region_t *region)
{
    const pfa_record_t *record = record_at(picture, region->described);
    return pfa_size_of(pfa_load_relaxed(&record->size_flags)) == region->slot_size &&
           __atomic_load_n(&record->alloc_time, __ATOMIC_RELAXED) == region->start;
}

/* Where the chunk of a record lies that was read as a whole; 0: not known. */
static uint64_t find_region_chunk(picture_t *picture, uint64_t number)
{
    pfa_place_region_t *region = pfa_regions_find(&picture->regions, number);
    if (region == NULL || !is_current(picture, region)) {
        return 0;
    }
    tell_region(picture, region);
    uint16_t lead = (uint16_t)(pfa_load_relaxed(&record_at(picture, number)->tail) >> 48);
    return pfa_regions_address(region, number, lead);
}

/* Between two slices. */
static void make_way(picture_t *picture)
{
    picture->looked_at = 0;
    if (!picture->alone && pfa_ring_any_urgent()) {
        pfa_writer_drain_urgent((picture->head.flags & PFA_LIVE_FINAL) != 0 ? PFA_BATCH_AFTER_LIVE : 0);
    }
}

static void add(picture_t *picture, const pfa_event_t *event, const pfa_event_accesses_t *accesses, uint64_t address)
{
    if (!pfa_batch_add(picture->batch, event, accesses, address)) {
        flush(picture, 0);
        (void)pfa_batch_add(picture->batch, event, accesses, address);
    }
}

/* One that was read may be another's by now, at another place: the place is read in between. */
static void add_record(picture_t *picture, uint64_t number, const uint64_t *addresses)
{
    const pfa_record_t *record = record_at(picture, number);
    pfa_event_t event;
    pfa_event_accesses_t accesses;
    if (!read_record(record, &event, &accesses)) {
        return;
    }
    uint64_t address =
        addresses != NULL ? __atomic_load_n(&addresses[number], __ATOMIC_ACQUIRE) : find_region_chunk(picture, number);
    if (__atomic_load_n(&record->alloc_time, __ATOMIC_RELAXED) != event.alloc_time) {
        address = 0;
    }
    add(picture, &event, &accesses, address);
}

static void add_records(picture_t *picture, uint64_t first, uint64_t count, const uint64_t *addresses)
{
    for (uint64_t number = first; number < first + count; number++) {
        if (++picture->looked_at == SLICE) {
            make_way(picture);
        }
        uint64_t size_flags = pfa_load_relaxed(&record_at(picture, number)->size_flags);
        if (pfa_is_live(size_flags)) {
            add_record(picture, number, addresses);
        } else if (pfa_live_is_region(size_flags) && addresses == NULL) {
            take_description(picture, number);
        }
    }
}

/* The records of an extent before this one that were ever stored to: reading others would take memory for them, which the file
 * system may not have. */
static void add_extent(picture_t *picture, uint32_t extent, uint64_t step, uint64_t limit, const uint64_t *addresses)
{
    uint64_t start = 0;
    uint64_t end;
    picture->extent = pfa_extents_at(extent);
    picture->step = step;
    pfa_regions_begin(&picture->regions);
    while (pfa_extents_next_data(extent, &start, &end) && start / step < limit) {
        uint64_t first = start / step;
        uint64_t behind = end / step < limit ? end / step : limit;
        add_records(picture, first, behind - first, addresses);
        start = end;
    }
}

static void add_larges(picture_t *picture, uint32_t extent)
{
    uint64_t cells = pfa_live_cells(pfa_extents_head->extents[extent].size, PFA_TRACE_VERSION);
    const char *memory = pfa_extents_at(extent);
    add_extent(picture, extent, PFA_LIVE_LARGE_CELL, cells,
               (const uint64_t *)(const void *)(memory + cells * PFA_LIVE_LARGE_CELL));
}

/* Never more than there is room for (fill_entry in meta/extents.c); but the head is shared memory. */
static uint32_t extent_count(void)
{
    uint32_t count = pfa_load_acquire(&pfa_extents_head->extent_count);
    return count < PFA_LIVE_EXTENTS ? count : PFA_LIVE_EXTENTS;
}

int pfa_writer_picture(const char *name, uint32_t flags, bool whole_times)
{
    static uint32_t count; /* under the writer's lock */
    picture_t picture = {.name = name, .batch = pfa_writer_picture_batch()};
    picture.shift = whole_times ? 0 : pfa_writer_shift();
    picture.alone = (flags & PFA_LIVE_FINAL) != 0 && !whole_times;
    picture.head.number = ++count;
    picture.head.flags = flags;
    picture.head.time = pfa_counter();
    picture.head.name_size = (uint32_t)strnlen(name, NAME_MAX_SIZE);
    picture.batch_at = (sizeof picture.head + picture.head.name_size + 7) & ~(size_t)7;
    begin_batch(picture.batch);
    uint32_t extents = extent_count();
    for (uint32_t i = 0; i < extents; i++) {
        pfa_extent_kind_t kind = pfa_extents_kind(i);
        if (kind == PFA_EXTENT_RECORDS) {
            add_extent(&picture, i, pfa_extents_head->record_size, UINT64_MAX, NULL);
        } else if (kind == PFA_EXTENT_LARGES) {
            add_larges(&picture, i);
        }
    }
    flush(&picture, PFA_LIVE_LAST);
    return picture.err;
}
