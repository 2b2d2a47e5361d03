/* Owns the reading of a live table's records: what is said of each live chunk, and where it lies. See analyze/trace/livetable.h. */
#include "analyze/trace/blocks.h"
#include "analyze/trace/livetable.h"
#include "export/format/regions.h"

#include <string.h>

typedef struct walk {
    const pfa_livetable_t *table;
    const pfa_live_extent_t *extent;
    size_t unit; /* from one record to the next */
    pfa_live_record_visit_t *visit;
    void *to;
    pfa_regions_t *regions; /* of the extent */
} walk_t;

pfa_event_accesses_t pfa_live_accesses_of(const pfa_live_head_t *head, const pfa_live_record_t *record,
                                          const uint8_t *bytes)
{
    pfa_live_accesses_t live;
    memcpy(&live, bytes + sizeof *record, sizeof live);
    pfa_event_accesses_t accesses =
        pfa_live_accesses(&live, record->alloc_time, record->size_flags >> PFA_RECORD_SIZE_SHIFT);
    if (head->version == 1) {
        accesses.reads = pfa_access_count_1(live.reads, record->alloc_time);
        accesses.writes = pfa_access_count_1(live.writes, record->alloc_time);
    } else if (head->version == 2) {
        accesses.reads = pfa_access_count_2(live.reads);
        accesses.writes = pfa_access_count_2(live.writes);
    }
    return accesses;
}

/* Of a region's chunk; its regions were told before it. */
static pfa_live_place_t place_in_region(pfa_regions_t *regions, uint64_t number, uint16_t lead)
{
    const pfa_place_region_t *region = pfa_regions_find(regions, number);
    if (region == NULL) {
        return (pfa_live_place_t){.address = 0};
    }
    return (pfa_live_place_t){.address = pfa_regions_address(region, number, lead),
                              .region = region->start,
                              .slot_size = (uint32_t)region->slot_size,
                              .slots = (uint32_t)region->slots};
}

/* Of a large one. */
static pfa_live_place_t place_of_cell(const walk_t *walk, uint64_t number)
{
    pfa_live_place_t place = {.address = 0};
    uint64_t cells = pfa_live_cells(walk->extent->size, walk->table->head->version);
    if (walk->table->head->version >= 3 && number < cells) {
        uint64_t at = pfa_livetable_offset(walk->extent) + cells * PFA_LIVE_LARGE_CELL + number * sizeof place.address;
        (void)pfa_file_read(pfa_livetable_fd(walk->table, walk->extent), &place.address, sizeof place.address, at);
    }
    return place;
}

static void each_record(void *to, const uint8_t *bytes, size_t size, uint64_t at)
{
    walk_t *walk = to;
    bool has_accesses = pfa_livetable_has_accesses(walk->table);
    bool in_region = walk->extent->kind == PFA_EXTENT_RECORDS;
    for (size_t i = 0; i < size; i += walk->unit) {
        pfa_live_record_t record;
        uint64_t number = (at + i) / walk->unit;
        memcpy(&record, bytes + i, sizeof record);
        if ((record.size_flags & PFA_RECORD_STATE) == PFA_RECORD_LIVE &&
            record.alloc_time >= walk->table->head->start_counter) {
            pfa_event_accesses_t accesses;
            if (has_accesses) {
                accesses = pfa_live_accesses_of(walk->table->head, &record, bytes + i);
            }
            pfa_live_place_t place =
                in_region ? place_in_region(walk->regions, number, record.lead) : place_of_cell(walk, number);
            walk->visit(walk->to, &record, has_accesses ? &accesses : NULL, &place);
        } else if (in_region && pfa_live_is_region(record.size_flags)) {
            pfa_regions_take(walk->regions, number, &record);
        }
    }
}

static int walk_records_of(const pfa_livetable_t *table, const pfa_live_extent_t *extent, walk_t *walk)
{
    walk->extent = extent;
    walk->unit = table->head->record_size;
    pfa_live_extent_t part = *extent;
    if (extent->kind == PFA_EXTENT_LARGES) {
        walk->unit = PFA_LIVE_LARGE_CELL;
        part.size = pfa_live_cells(extent->size, table->head->version) * PFA_LIVE_LARGE_CELL;
    }
    pfa_regions_begin(walk->regions);
    return pfa_livetable_walk_extent(table, &part, walk->unit, each_record, walk);
}

static int walk_all_records(const pfa_livetable_t *table, uint32_t kind, walk_t *walk)
{
    int error = 0;
    for (size_t i = 0; error == 0 && i < table->extent_count; i++) {
        if (table->extents[i].kind == kind) {
            error = walk_records_of(table, &table->extents[i], walk);
        }
    }
    return error;
}

int pfa_livetable_records(const pfa_livetable_t *table, pfa_live_record_visit_t *visit, void *to)
{
    pfa_regions_t regions;
    walk_t walk = {.table = table, .visit = visit, .to = to, .regions = &regions};
    int error = walk_all_records(table, PFA_EXTENT_RECORDS, &walk);
    return error != 0 ? error : walk_all_records(table, PFA_EXTENT_LARGES, &walk);
}
