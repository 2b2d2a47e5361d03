/* Owns the walk through rows. See analyze/trace/rows.h. */
#include "analyze/trace/rows.h"
#include "analyze/base/memory.h"
#include "analyze/base/progress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What a walk decodes a block into. */
typedef struct decoder {
    pfa_batch_kind_t kinds[PFA_BATCH_ROWS];
    double weights[PFA_BATCH_ROWS];
    uint32_t numbers[PFA_BATCH_ROWS]; /* what the visitor said of kinds */
} decoder_t;

struct pfa_rows {
    const pfa_trace_t *trace;
    const pfa_visitor_t *visitor;
    decoder_t *decoder;
    pfa_loader_t *loader;
    pfa_bytes_t payload;
    pfa_region_list_t regions; /* of the picture whose rows are walked through */
    pfa_died_t died;
    bool all;         /* pictures, and what died since */
    bool told;        /* what is said of accesses means something */
    uint32_t picture; /* that the batch is of, or 0 */
};
typedef pfa_rows_t walk_t;

static bool is_counted(uint64_t size_flags, bool live)
{
    return live || (size_flags & PFA_EVENT_BEFORE) == 0;
}

pfa_rows_t *pfa_rows_begin(const pfa_trace_t *trace, const pfa_visitor_t *visitor, bool all)
{
    walk_t *walk = pfa_memory_get(1, sizeof *walk);
    *walk = (walk_t){.trace = trace,
                     .visitor = visitor,
                     .decoder = pfa_memory_get(1, sizeof(decoder_t)),
                     .loader = pfa_loader_new(trace->fd),
                     .died = pfa_died_begin(trace),
                     .all = all,
                     .told = visitor->accesses && pfa_trace_has_accesses(trace)};
    return walk;
}

void pfa_rows_end(pfa_rows_t *walk)
{
    pfa_memory_free(walk->decoder);
    pfa_loader_free(walk->loader);
    pfa_bytes_free(&walk->payload);
    pfa_region_list_free(&walk->regions);
    pfa_died_end(&walk->died);
    pfa_memory_free(walk);
}

/* Whether the decoder is to tell accesses: if nobody wants them, or there are none, it need not. */
static bool wants_accesses(const walk_t *walk, const pfa_batch_reader_t *reader)
{
    return walk->visitor->accesses && (reader->head.flags & PFA_BATCH_ACCESSES) != 0;
}

static uint64_t within_step(const pfa_trace_t *trace)
{
    return ((uint64_t)1 << trace->axis) - 1;
}

void pfa_row_put_on_axis(const pfa_trace_t *trace, pfa_row_t *row)
{
    uint64_t within = within_step(trace);
    uint64_t early = row->event.alloc_time & within;
    row->event.alloc_time -= early;
    row->event.free_time -= row->event.free_time != UINT64_MAX ? row->event.free_time & within : 0;
    if (row->accesses.length != 0) {
        row->accesses.first -= early;
        row->accesses.last -= early;
    }
}

static void begin_batch(const pfa_visitor_t *visitor)
{
    if (visitor->batch != NULL) {
        visitor->batch(visitor->to);
    }
}

static void visit_single(const walk_t *walk, pfa_row_t *row, bool live)
{
    const pfa_visitor_t *visitor = walk->visitor;
    if (!is_counted(row->event.size_flags, live)) {
        return;
    }
    double weight = pfa_trace_weight(walk->trace, row->event.size_flags);
    uint32_t number = 0;
    begin_batch(visitor);
    if (visitor->kind != NULL) {
        pfa_batch_kind_t kind = pfa_batch_kind_of(&row->event);
        number = visitor->kind(visitor->to, &kind, weight, live);
    }
    if (visitor->row != NULL) {
        pfa_row_put_on_axis(walk->trace, row);
        row->told = row->told && walk->told;
        visitor->row(visitor->to, number, row, weight, live);
    }
}

static pfa_live_record_t record_of(const pfa_event_t *event)
{
    return (pfa_live_record_t){.alloc_time = event->alloc_time,
                               .size_flags = event->size_flags,
                               .stack = event->stack,
                               .thread = event->thread};
}

/* As pfa_batch_next, with accesses if they are wanted. */
static int next_row(const walk_t *walk, pfa_batch_reader_t *reader, bool accesses, pfa_row_t *row, uint32_t *kind)
{
    pfa_batch_row_t read;
    int more = pfa_batch_next(reader, walk->decoder->kinds, &read, accesses ? &row->accesses : NULL);
    row->event = read.event;
    row->life = read.life;
    row->told = accesses;
    row->place = (pfa_live_place_t){.address = read.address};
    *kind = read.kind;
    return more;
}

/* Row by row, leaving out those that died after all. */
static bool walk_picture(walk_t *walk, pfa_batch_reader_t *reader)
{
    bool accesses = wants_accesses(walk, reader);
    pfa_row_t row = {.life = 0};
    uint32_t kind;
    int more;
    while ((more = next_row(walk, reader, accesses, &row, &kind)) == 1) {
        pfa_live_record_t record = record_of(&row.event);
        row.event.free_time = UINT64_MAX;
        if (row.place.address != 0) {
            row.place = pfa_region_list_find(&walk->regions, walk->picture, row.place.address);
        }
        if (walk->all || !pfa_died_has(&walk->died, &record)) {
            visit_single(walk, &row, true);
        }
    }
    return more == 0;
}

/* Rows whose kinds do not say how large they are. */
static bool walk_sizes(const walk_t *walk, pfa_batch_reader_t *reader)
{
    bool accesses = wants_accesses(walk, reader);
    pfa_row_t row = {.life = 0};
    uint32_t kind;
    int more;
    while ((more = next_row(walk, reader, accesses, &row, &kind)) == 1) {
        visit_single(walk, &row, false);
    }
    return more == 0;
}

/* All rows at once. */
static bool walk_brief(const walk_t *walk, pfa_batch_reader_t *reader)
{
    const pfa_visitor_t *visitor = walk->visitor;
    const decoder_t *decoder = walk->decoder;
    uint64_t whole = ~within_step(walk->trace);
    if (reader->head.rows == 0) {
        return true;
    }
    pfa_batch_brief_t *rows = visitor->room(visitor->to, reader->head.rows);
    uint32_t count = pfa_batch_deaths(reader, decoder->kinds, rows);
    for (uint32_t i = 0; i < count; i++) {
        rows[i].kind = decoder->numbers[rows[i].kind];
        rows[i].alloc_time &= whole;
        rows[i].free_time &= rows[i].free_time != UINT64_MAX ? whole : UINT64_MAX;
    }
    visitor->rows(visitor->to, count);
    return count == reader->head.rows;
}

static bool walk_deaths(const walk_t *walk, pfa_batch_reader_t *reader)
{
    const pfa_visitor_t *visitor = walk->visitor;
    decoder_t *decoder = walk->decoder;
    if ((reader->head.flags & PFA_BATCH_SIZES) != 0) {
        return walk_sizes(walk, reader);
    }
    begin_batch(visitor);
    for (uint32_t i = 0; i < reader->head.kinds; i++) {
        bool told = visitor->kind != NULL && is_counted(decoder->kinds[i].size_flags, false);
        decoder->numbers[i] =
            told ? visitor->kind(visitor->to, &decoder->kinds[i], decoder->weights[i], false) : PFA_ROW_SKIP;
    }
    if (visitor->row == NULL) {
        return true;
    }
    bool accesses = wants_accesses(walk, reader);
    if (visitor->room != NULL && !accesses && !visitor->places) {
        return walk_brief(walk, reader);
    }
    pfa_row_t row = {.life = 0};
    uint32_t kind;
    int more;
    while ((more = next_row(walk, reader, accesses, &row, &kind)) == 1) {
        if (is_counted(row.event.size_flags, false)) {
            pfa_row_put_on_axis(walk->trace, &row);
            row.told = accesses && walk->told;
            visitor->row(visitor->to, decoder->numbers[kind], &row, decoder->weights[kind], false);
        }
    }
    return more == 0;
}

static bool walk_batch(walk_t *walk, const uint8_t *bytes, size_t size, bool live)
{
    pfa_batch_reader_t reader;
    if (!pfa_batch_open(&reader, bytes, size) || ((reader.head.flags & PFA_BATCH_LIVE) != 0) != live) {
        return false;
    }
    pfa_batch_kinds(&reader, walk->decoder->kinds);
    for (uint32_t i = 0; i < reader.head.kinds; i++) {
        walk->decoder->weights[i] = pfa_trace_weight(walk->trace, walk->decoder->kinds[i].size_flags);
    }
    reader.wants_addresses = walk->visitor->places;
    return live ? walk_picture(walk, &reader) : walk_deaths(walk, &reader);
}

/* No recording has larger blocks of rows, and each thread would need so much memory. */
static bool is_too_large(const pfa_block_t *block)
{
    enum { NAME_MOST = 1 << 16 };
    return block->kind != PFA_BLOCK_REGIONS &&
           block->raw_size > sizeof(pfa_trace_live_t) + NAME_MOST + (uint64_t)PFA_BATCH_SIZE_MAX;
}

bool pfa_rows_block(pfa_rows_t *walk, const pfa_block_t *block)
{
    pfa_bytes_t *payload = &walk->payload;
    pfa_trace_live_t live;
    const uint8_t *bytes;
    size_t size;
    if (is_too_large(block) || pfa_block_load(walk->loader, block, payload) != 0) {
        return false;
    }
    if (block->kind == PFA_BLOCK_REGIONS) {
        return pfa_region_list_take(&walk->regions, payload->bytes, payload->size);
    }
    if (block->kind == PFA_BLOCK_EVENTS) {
        return walk_batch(walk, payload->bytes, payload->size, false);
    }
    if (!pfa_trace_live_batch(payload, &live, &bytes, &size)) {
        return false;
    }
    walk->picture = live.number;
    return !(walk->all || pfa_trace_is_final(walk->trace, &live)) || walk_batch(walk, bytes, size, true);
}

static void walk_rings_of(const pfa_trace_t *trace, size_t extent, pfa_span_visit_t *visit, void *to)
{
    for (size_t i = 0; i < pfa_livetable_rings_in(trace->live, extent); i++) {
        pfa_live_extent_t ring = pfa_livetable_ring_at(trace->live, extent, i);
        pfa_live_span_t span;
        if (pfa_trace_takes_ring(trace, ring.index) &&
            pfa_livetable_ring(trace->live, &ring, pfa_trace_ring_end(trace, ring.index), &span) == 0) {
            visit(to, &span);
            pfa_live_span_free(&span);
        }
    }
}

void pfa_rows_walk_rings(const pfa_trace_t *trace, pfa_span_visit_t *visit, void *to)
{
    for (size_t i = 0; trace->live != NULL && i < trace->live->extent_count; i++) {
        walk_rings_of(trace, i, visit, to);
    }
}

pfa_row_t pfa_row_of(const pfa_trace_t *trace, const pfa_event_t *event, const pfa_event_accesses_t *accesses,
                     bool live)
{
    pfa_row_t row = {.event = *event, .told = accesses != NULL};
    if (accesses != NULL) {
        row.accesses = *accesses;
    }
    row.life = !live && event->free_time > event->alloc_time ? event->free_time - event->alloc_time : 0;
    pfa_row_put_on_axis(trace, &row);
    return row;
}

pfa_row_t pfa_row_of_span(const pfa_trace_t *trace, const pfa_live_span_t *span, size_t i)
{
    const pfa_event_accesses_t *accesses = span->accesses != NULL ? &span->accesses[i] : NULL;
    pfa_row_t row = pfa_row_of(trace, &span->events[i], accesses, false);
    row.place.address = span->addresses != NULL ? span->addresses[i] : 0;
    return row;
}

static void visit_span(void *to, const pfa_live_span_t *span)
{
    for (size_t i = 0; i < span->count; i++) {
        const walk_t *walk = to;
        pfa_row_t row = pfa_row_of_span(walk->trace, span, i);
        visit_single(walk, &row, false);
    }
}

static void visit_record(void *to, const pfa_live_record_t *record, const pfa_event_accesses_t *accesses,
                         const pfa_live_place_t *place)
{
    walk_t *walk = to;
    if (pfa_died_has(&walk->died, record)) {
        return;
    }
    pfa_event_t event = pfa_live_event(record);
    pfa_row_t row = pfa_row_of(walk->trace, &event, accesses, true);
    row.place = *place;
    visit_single(walk, &row, true);
}

void pfa_rows_deaths(pfa_rows_t *walk)
{
    pfa_rows_walk_rings(walk->trace, visit_span, walk);
}

int pfa_rows_table(pfa_rows_t *walk)
{
    const pfa_trace_t *trace = walk->trace;
    if (trace->live == NULL) {
        return 0;
    }
    pfa_rows_deaths(walk);
    return pfa_livetable_records(trace->live, visit_record, walk);
}

bool pfa_rows_are_in(const pfa_block_t *block, const pfa_visitor_t *visitor)
{
    return block->kind == PFA_BLOCK_EVENTS || block->kind == PFA_BLOCK_LIVE ||
           (visitor->places && block->kind == PFA_BLOCK_REGIONS);
}

int pfa_rows_walk(const pfa_trace_t *trace, const pfa_visitor_t *visitor, uint64_t *bad_blocks, const char *what)
{
    walk_t *walk = pfa_rows_begin(trace, visitor, false);
    pfa_progress_t progress;
    pfa_progress_begin(&progress, trace->watch, what, trace->blocks.size);
    for (size_t i = 0; i < trace->blocks.count; i++) {
        const pfa_block_t *block = &trace->blocks.list[i];
        if (pfa_rows_are_in(block, visitor) && !pfa_rows_block(walk, block)) {
            ++*bad_blocks;
        }
        pfa_progress_step(&progress, sizeof(pfa_block_header_t) + block->stored_size);
    }
    pfa_progress_end(&progress);
    int error = pfa_rows_table(walk);
    pfa_rows_end(walk);
    return error;
}

void pfa_access_bytes(const pfa_event_accesses_t *accesses, uint64_t size, uint64_t *low, uint64_t *behind)
{
    uint32_t unit = pfa_access_unit(size);
    *low = (uint64_t)accesses->low << unit;
    *behind = ((uint64_t)accesses->low + accesses->length) << unit;
    *behind = *behind < size ? *behind : size;
    *low = *low < *behind ? *low : *behind;
}
