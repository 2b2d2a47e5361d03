/* Owns the reading of a live table's records in parts. See analyze/trace/parts.h. */
#include "analyze/trace/parts.h"
#include "analyze/base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whole records one behind the other, or with holes between. */
typedef struct part {
    pfa_live_extent_t where; /* of an extent */
    size_t unit;             /* from one record to the next */
} part_t;

struct pfa_parts {
    const pfa_trace_t *trace;
    part_t *list;
    size_t count;
    size_t room;
};

typedef struct doubt {
    size_t part;
    size_t number; /* in the order of the part */
    pfa_live_record_t record;
    pfa_event_accesses_t accesses;
} doubt_t;

/* Few enough that what is kept of them stays in the nearer caches. */
enum { PART_ROWS = PFA_BATCH_ROWS / 4, SLOTS = 2 * PART_ROWS };
_Static_assert((SLOTS & (SLOTS - 1)) == 0, "slots are found by a mask");

struct pfa_part_reader {
    const pfa_parts_t *parts;
    const pfa_visitor_t *visitor;
    pfa_died_t died;
    bool accesses; /* are wanted, and there are some */
    bool told;     /* and mean something */
    size_t part;
    size_t seen; /* records of the part that are live */
    /* Those that are told: */
    pfa_live_record_t *records;
    pfa_event_accesses_t *all_accesses;
    uint32_t *kind_of;
    uint32_t count;
    pfa_batch_kind_t *kinds;
    uint32_t *numbers; /* what the visitor said of kinds */
    double *weights;
    uint32_t kind_count;
    uint32_t *slots; /* of kinds, by their hash: number and 1 */
    doubt_t *doubts;
    size_t doubt_count;
    size_t doubt_room;
    size_t doubts_told;
};

static void add_part(pfa_parts_t *parts, const pfa_live_extent_t *extent, size_t unit, uint64_t from, uint64_t to)
{
    pfa_live_extent_t where = *extent;
    where.offset += from;
    where.size = to - from;
    parts->list = pfa_memory_grow(parts->list, &parts->room, parts->count + 1, sizeof *parts->list);
    parts->list[parts->count++] = (part_t){.where = where, .unit = unit};
}

/* The next byte from `at` on that is in a hole, or is not; the end if there is none. */
static uint64_t seek(const pfa_livetable_t *table, const pfa_live_extent_t *extent, uint64_t at, uint64_t end,
                     int whence)
{
    uint64_t start = pfa_livetable_offset(extent);
    off_t found = lseek(pfa_livetable_fd(table, extent), (off_t)(start + at), whence);
    if (found < 0) {
        return whence == SEEK_DATA && errno != ENXIO ? at : end;
    }
    uint64_t next = (uint64_t)found > start + at ? (uint64_t)found - start : at;
    return next < end ? next : end;
}

/* Parts have as many records as are told at a time, wherever they lie. */
static void plan_extent(pfa_parts_t *parts, const pfa_live_extent_t *extent)
{
    const pfa_livetable_t *table = parts->trace->live;
    bool large = extent->kind == PFA_EXTENT_LARGES;
    size_t unit = large ? PFA_LIVE_LARGE_CELL : table->head->record_size;
    uint64_t units = large ? pfa_live_cells(extent->size, table->head->version) : extent->size / unit;
    uint64_t end = units * unit;
    uint64_t most = (uint64_t)PART_ROWS * unit;
    uint64_t from = 0; /* of the part */
    uint64_t has = 0;  /* so much of it may be data */
    for (uint64_t at = 0; at < end;) {
        uint64_t first = seek(table, extent, at, end, SEEK_DATA);
        uint64_t data = first / unit * unit;
        from = has == 0 ? data : from;
        uint64_t hole = first < end ? seek(table, extent, first, end, SEEK_HOLE) : end;
        hole = hole > first ? hole : first + 1; /* a file that changes meanwhile */
        at = (hole + unit - 1) / unit * unit;
        at = at < end ? at : end;
        for (uint64_t left = at - data; left != 0;) {
            uint64_t taken = left < most - has ? left : most - has;
            has += taken;
            left -= taken;
            if (has == most) {
                add_part(parts, extent, unit, from, at - left);
                from = at - left;
                has = 0;
            }
        }
    }
    if (has != 0) {
        add_part(parts, extent, unit, from, end);
    }
}

pfa_parts_t *pfa_parts_new(const pfa_trace_t *trace)
{
    static const uint32_t kinds[] = {PFA_EXTENT_RECORDS, PFA_EXTENT_LARGES};
    const pfa_livetable_t *table = trace->live;
    pfa_parts_t *parts = pfa_memory_get(1, sizeof *parts);
    parts->trace = trace;
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        for (size_t i = 0; table != NULL && i < table->extent_count; i++) {
            if (table->extents[i].kind == kinds[kind]) {
                plan_extent(parts, &table->extents[i]);
            }
        }
    }
    return parts;
}

void pfa_parts_free(pfa_parts_t *parts)
{
    if (parts != NULL) {
        pfa_memory_free(parts->list);
        pfa_memory_free(parts);
    }
}

size_t pfa_parts_count(const pfa_parts_t *parts)
{
    return parts->count;
}

static bool is_live(const pfa_live_head_t *head, const pfa_live_record_t *record)
{
    return (record->size_flags & PFA_RECORD_STATE) == PFA_RECORD_LIVE && record->alloc_time >= head->start_counter;
}

typedef struct latest {
    const part_t *part;
    const pfa_live_head_t *head;
    bool accesses;
    uint64_t time;
} latest_t;

static void see_last(void *to, const uint8_t *bytes, size_t size, uint64_t at)
{
    latest_t *latest = to;
    (void)at;
    for (size_t i = 0; i < size; i += latest->part->unit) {
        pfa_live_record_t record;
        pfa_live_accesses_t live;
        memcpy(&record, bytes + i, sizeof record);
        if (!is_live(latest->head, &record)) {
            continue;
        }
        latest->time = record.alloc_time > latest->time ? record.alloc_time : latest->time;
        if (latest->accesses) {
            memcpy(&live, bytes + i + sizeof record, sizeof live);
            if (live.last > latest->time || record.alloc_time + pfa_first_time(live.first) > latest->time) {
                uint64_t last =
                    pfa_live_accesses(&live, record.alloc_time, record.size_flags >> PFA_RECORD_SIZE_SHIFT).last;
                latest->time = last > latest->time ? last : latest->time;
            }
        }
    }
}

uint64_t pfa_parts_last(const pfa_parts_t *parts, size_t number)
{
    const pfa_livetable_t *table = parts->trace->live;
    const part_t *part = &parts->list[number];
    latest_t latest = {.part = part, .head = table->head, .accesses = pfa_livetable_has_accesses(table)};
    (void)pfa_livetable_walk_extent(table, &part->where, part->unit, see_last, &latest);
    return latest.time;
}

pfa_part_reader_t *pfa_part_reader_new(const pfa_parts_t *parts, const pfa_visitor_t *visitor)
{
    const pfa_trace_t *trace = parts->trace;
    pfa_part_reader_t *reader = pfa_memory_get(1, sizeof *reader);
    reader->parts = parts;
    reader->visitor = visitor;
    reader->died = pfa_died_begin(trace);
    reader->accesses = visitor->accesses && trace->live != NULL && pfa_livetable_has_accesses(trace->live);
    reader->told = reader->accesses && pfa_trace_has_accesses(trace);
    reader->records = pfa_memory_get(PART_ROWS, sizeof *reader->records);
    reader->all_accesses = pfa_memory_get(PART_ROWS, sizeof *reader->all_accesses);
    reader->kind_of = pfa_memory_get(PART_ROWS, sizeof *reader->kind_of);
    reader->kinds = pfa_memory_get(PART_ROWS, sizeof *reader->kinds);
    reader->numbers = pfa_memory_get(PART_ROWS, sizeof *reader->numbers);
    reader->weights = pfa_memory_get(PART_ROWS, sizeof *reader->weights);
    reader->slots = pfa_memory_get(SLOTS, sizeof *reader->slots);
    return reader;
}

void pfa_part_reader_free(pfa_part_reader_t *reader)
{
    if (reader != NULL) {
        pfa_died_end(&reader->died);
        pfa_memory_free(reader->records);
        pfa_memory_free(reader->all_accesses);
        pfa_memory_free(reader->kind_of);
        pfa_memory_free(reader->kinds);
        pfa_memory_free(reader->numbers);
        pfa_memory_free(reader->weights);
        pfa_memory_free(reader->slots);
        pfa_memory_free(reader->doubts);
        pfa_memory_free(reader);
    }
}

static uint64_t flags_of(const pfa_live_record_t *record)
{
    return record->size_flags & ~(uint64_t)PFA_RECORD_STATE;
}

static bool is_of_kind(const pfa_batch_kind_t *kind, const pfa_live_record_t *record)
{
    return kind->size_flags == flags_of(record) && kind->stack == record->stack &&
           kind->type == (record->type_link & PFA_TYPE_MASK) && kind->thread == record->thread &&
           kind->tag == record->tag && kind->last_thread == record->last_thread;
}

/* Field by field: a whole one that is made elsewhere and copied has to wait for its parts to be stored. */
static void make_kind(pfa_batch_kind_t *kind, const pfa_live_record_t *record)
{
    kind->size_flags = flags_of(record);
    kind->stack = record->stack;
    kind->free_stack = 0;
    kind->type = record->type_link & PFA_TYPE_MASK;
    kind->thread = record->thread;
    kind->free_thread = 0;
    kind->tag = record->tag;
    kind->last_thread = record->last_thread;
    kind->rows = 1;
}

static uint32_t find_kind(pfa_part_reader_t *reader, const pfa_live_record_t *record)
{
    uint64_t threads = (uint64_t)record->thread << 32 | (uint64_t)record->tag << 16 | record->last_thread;
    uint64_t hash =
        pfa_checksum_mix(flags_of(record), (uint64_t)record->stack << 32 | (record->type_link & PFA_TYPE_MASK));
    hash = pfa_checksum_mix(hash, threads);
    for (uint32_t slot = (uint32_t)(hash >> 32) % SLOTS;; slot = (slot + 1) % SLOTS) {
        uint32_t number = reader->slots[slot];
        if (number == 0) {
            make_kind(&reader->kinds[reader->kind_count], record);
            reader->slots[slot] = ++reader->kind_count;
            return reader->kind_count - 1;
        }
        if (is_of_kind(&reader->kinds[number - 1], record)) {
            reader->kinds[number - 1].rows++;
            return number - 1;
        }
    }
}

static void begin_rows(pfa_part_reader_t *reader)
{
    memset(reader->slots, 0, SLOTS * sizeof *reader->slots);
    reader->count = 0;
    reader->kind_count = 0;
}

static void add_row(pfa_part_reader_t *reader, const pfa_live_record_t *record, const pfa_event_accesses_t *accesses)
{
    uint32_t row = reader->count++;
    uint32_t kind = find_kind(reader, record);
    if (reader->visitor->row == NULL) {
        return;
    }
    reader->records[row] = *record;
    reader->kind_of[row] = kind;
    if (accesses != NULL) {
        reader->all_accesses[row] = *accesses;
    }
}

static void add_doubt(pfa_part_reader_t *reader, const pfa_live_record_t *record, const pfa_event_accesses_t *accesses)
{
    reader->doubts =
        pfa_memory_grow(reader->doubts, &reader->doubt_room, reader->doubt_count + 1, sizeof *reader->doubts);
    doubt_t *doubt = &reader->doubts[reader->doubt_count++];
    *doubt = (doubt_t){.part = reader->part, .number = reader->seen, .record = *record};
    if (accesses != NULL) {
        doubt->accesses = *accesses;
    }
}

static void take_records(void *to, const uint8_t *bytes, size_t size, uint64_t at)
{
    pfa_part_reader_t *reader = to;
    const pfa_live_head_t *head = reader->parts->trace->live->head;
    size_t unit = reader->parts->list[reader->part].unit;
    (void)at;
    /* A process that goes on may have filled holes since they were looked for: what is too much is read with the next question. */
    for (size_t i = 0; i < size && reader->count < PART_ROWS; i += unit) {
        pfa_live_record_t record;
        pfa_event_accesses_t accesses;
        memcpy(&record, bytes + i, sizeof record);
        if (!is_live(head, &record)) {
            continue;
        }
        if (reader->accesses) {
            accesses = pfa_live_accesses_of(head, &record, bytes + i);
        }
        if (pfa_died_may_have(&reader->died, &record)) {
            add_doubt(reader, &record, reader->accesses ? &accesses : NULL);
        } else {
            add_row(reader, &record, reader->accesses ? &accesses : NULL);
        }
        reader->seen++;
    }
}

static void tell_rows(const pfa_part_reader_t *reader)
{
    const pfa_visitor_t *visitor = reader->visitor;
    const pfa_trace_t *trace = reader->parts->trace;
    pfa_row_t row = {.event.free_time = UINT64_MAX, .told = reader->told};
    for (uint32_t i = 0; i < reader->count; i++) {
        uint32_t kind = reader->kind_of[i];
        const pfa_live_record_t *record = &reader->records[i];
        row.event.alloc_time = record->alloc_time;
        row.event.size_flags = flags_of(record);
        row.event.stack = record->stack;
        row.event.type_link = record->type_link;
        row.event.thread = record->thread;
        row.event.tag = record->tag;
        row.event.last_thread = record->last_thread;
        if (reader->accesses) {
            row.accesses = reader->all_accesses[i];
        }
        if (trace->axis != 0) {
            pfa_row_put_on_axis(trace, &row);
        }
        visitor->row(visitor->to, reader->numbers[kind], &row, reader->weights[kind], true);
    }
}

static void tell(pfa_part_reader_t *reader)
{
    const pfa_visitor_t *visitor = reader->visitor;
    if (reader->count != 0 && visitor->batch != NULL) {
        visitor->batch(visitor->to);
    }
    for (uint32_t i = 0; i < reader->kind_count; i++) {
        const pfa_batch_kind_t *kind = &reader->kinds[i];
        reader->weights[i] = pfa_trace_weight(reader->parts->trace, kind->size_flags);
        reader->numbers[i] = visitor->kind != NULL ? visitor->kind(visitor->to, kind, reader->weights[i], true) : 0;
    }
    if (visitor->row != NULL) {
        tell_rows(reader);
    }
}

int pfa_part_read(pfa_part_reader_t *reader, size_t number)
{
    const part_t *part = &reader->parts->list[number];
    reader->part = number;
    reader->seen = 0;
    begin_rows(reader);
    int error = pfa_livetable_walk_extent(reader->parts->trace->live, &part->where, part->unit, take_records, reader);
    if (error == 0) {
        tell(reader);
    }
    return error;
}

static int compare_doubts(const void *a, const void *b)
{
    const doubt_t *left = a;
    const doubt_t *right = b;
    if (left->part != right->part) {
        return left->part < right->part ? -1 : 1;
    }
    return left->number < right->number ? -1 : left->number > right->number;
}

/* Those of all readers become the first one's, in the order of the table. */
static void gather_doubts(pfa_part_reader_t *const *readers, size_t count)
{
    pfa_part_reader_t *first = readers[0];
    for (size_t i = 1; i < count; i++) {
        for (size_t j = 0; j < readers[i]->doubt_count; j++) {
            first->doubts =
                pfa_memory_grow(first->doubts, &first->doubt_room, first->doubt_count + 1, sizeof *first->doubts);
            first->doubts[first->doubt_count++] = readers[i]->doubts[j];
        }
        readers[i]->doubt_count = 0;
    }
    if (first->doubts_told == 0 && first->doubt_count != 0) {
        qsort(first->doubts, first->doubt_count, sizeof *first->doubts, compare_doubts);
    }
}

bool pfa_parts_doubts(pfa_part_reader_t *const *readers, size_t count)
{
    pfa_part_reader_t *first = readers[0];
    gather_doubts(readers, count);
    begin_rows(first);
    while (first->doubts_told < first->doubt_count && first->count < PART_ROWS) {
        const doubt_t *doubt = &first->doubts[first->doubts_told++];
        if (!pfa_died_has(&first->died, &doubt->record)) {
            add_row(first, &doubt->record, first->accesses ? &doubt->accesses : NULL);
        }
    }
    tell(first);
    return first->doubts_told < first->doubt_count;
}
