/* Owns the reading of slabs: blocks of a trace by all threads, some at a time, and then its live table. See analyze/query/walking.h. */
#include "analyze/query/walking.h"
#include "analyze/base/memory.h"
#include "analyze/base/progress.h"
#include "analyze/query/keys.h"
#include "analyze/query/remembered.h"

#include <string.h>

static uint32_t read_kind(void *to, const pfa_batch_kind_t *kind, double weight, bool live)
{
    const pfa_walk_reader_t *reader = to;
    return pfa_slab_add_kind(reader->slab, &reader->walking->from, kind, weight, live);
}

static void read_row(void *to, uint32_t kind, const pfa_row_t *row, double weight, bool live)
{
    const pfa_walk_reader_t *reader = to;
    (void)weight;
    (void)live;
    pfa_slab_add_row(reader->slab, &reader->walking->from, kind, row);
}

static pfa_chunk_row_t *make_room(void *to, uint32_t count)
{
    const pfa_walk_reader_t *reader = to;
    return pfa_slab_room(reader->slab, count);
}

static void take_rows(void *to, uint32_t count)
{
    const pfa_walk_reader_t *reader = to;
    pfa_slab_add_rows(reader->slab, count);
}

/* Where pictures have chunks that died since, which are told apart one after the other (analyze/trace/rows.h). */
static bool is_in_order(const pfa_walking_t *walking, const pfa_block_t *block)
{
    return walking->from.whole || (walking->trace->died_count != 0 && block->kind == PFA_BLOCK_LIVE);
}

static void read_block(pfa_walking_t *walking, size_t number, unsigned worker)
{
    pfa_walk_reader_t *reader = &walking->readers[worker];
    pfa_slab_t *slab = &walking->slabs[number];
    if (reader->rows == NULL) {
        reader->rows = pfa_rows_begin(walking->trace, &walking->visitors[worker], false);
    }
    reader->slab = slab;
    if (walking->remembers) {
        size_t block = (size_t)(walking->blocks[number] - walking->trace->blocks.list);
        pfa_remembered_give(&walking->source->remembered, block, walking->blocks[number], slab);
    }
    slab->bad = !pfa_rows_block(reader->rows, walking->blocks[number]);
    pfa_walk_sort_if_known(walking, slab);
}

/* A task. */
static void read_any(void *to, size_t number, unsigned worker)
{
    pfa_walking_t *walking = to;
    if (!is_in_order(walking, walking->blocks[number])) {
        read_block(walking, number, worker);
    }
}

static void set_met(pfa_walking_t *walking)
{
    if (walking->all.meet != NULL && walking->met == NULL) {
        walking->met = pfa_memory_grow(NULL, &walking->met_room, 1, sizeof *walking->met);
    }
    walking->from.met = walking->all.meet != NULL ? walking->met : NULL;
    walking->from.met_count = walking->met_room;
}

/* Reads the blocks that slabs were given, and tells them. */
static void walk_slabs(pfa_walking_t *walking, pfa_progress_t *progress)
{
    set_met(walking);
    pfa_walk_run(walking, walking->count, read_any);
    for (size_t i = 0; i < walking->count; i++) {
        if (is_in_order(walking, walking->blocks[i])) {
            read_block(walking, i, 0);
        }
        walking->bad_blocks += walking->slabs[i].bad;
        pfa_progress_step(progress, sizeof(pfa_block_header_t) + walking->blocks[i]->stored_size);
    }
    pfa_walk_tell(walking);
}

void pfa_walk_blocks(pfa_walking_t *walking, const char *what)
{
    const pfa_blocks_t *blocks = &walking->trace->blocks;
    pfa_progress_t progress;
    pfa_progress_begin(&progress, walking->trace->watch, what, blocks->size);
    for (size_t i = 0; i < blocks->count; i++) {
        const pfa_block_t *block = &blocks->list[i];
        if (!pfa_rows_are_in(block, &walking->visitors[0])) {
            pfa_progress_step(&progress, sizeof(pfa_block_header_t) + block->stored_size);
            continue;
        }
        walking->blocks[walking->count++] = block;
        if (walking->count == PFA_SLABS) {
            walk_slabs(walking, &progress);
        }
    }
    if (walking->count != 0) {
        walk_slabs(walking, &progress);
    }
    memset(walking->blocks, 0, sizeof walking->blocks);
    pfa_progress_end(&progress);
}

/* Kinds of the live table come with one row each. */
static uint32_t take_kind(void *to, const pfa_batch_kind_t *kind, double weight, bool live)
{
    pfa_walk_reader_t *reader = to;
    pfa_walking_t *walking = reader->walking;
    if (walking->slabs[walking->count].kind_count == PFA_BATCH_ROWS) {
        walking->count++;
        if (walking->count == PFA_SLABS) {
            pfa_walk_tell(walking);
            set_met(walking);
        }
    }
    reader->slab = &walking->slabs[walking->count];
    return pfa_slab_add_kind(reader->slab, &walking->from, kind, weight, live);
}

/* What the table has that is told one after the other. */
static int walk_table_in_order(pfa_walking_t *walking, bool all)
{
    pfa_walk_reader_t *reader = &walking->readers[0];
    int error = 0;
    if (reader->rows == NULL) {
        reader->rows = pfa_rows_begin(walking->trace, &walking->visitors[0], false);
    }
    set_met(walking);
    walking->visitors[0].kind = take_kind;
    if (all) {
        error = pfa_rows_table(reader->rows);
    } else {
        pfa_rows_deaths(reader->rows);
    }
    walking->visitors[0].kind = read_kind;
    walking->count += walking->slabs[walking->count].kind_count != 0;
    if (walking->count != 0) {
        pfa_walk_tell(walking);
    }
    return error;
}

static pfa_part_reader_t *part_reader(pfa_walking_t *walking, unsigned worker)
{
    pfa_walk_reader_t *reader = &walking->readers[worker];
    if (reader->part == NULL) {
        reader->part = pfa_part_reader_new(walking->parts, &walking->visitors[worker]);
    }
    return reader->part;
}

/* A task. */
static void read_part(void *to, size_t number, unsigned worker)
{
    pfa_walking_t *walking = to;
    pfa_part_reader_t *part = part_reader(walking, worker);
    walking->readers[worker].slab = &walking->slabs[number];
    walking->errors[number] = pfa_part_read(part, walking->first_part + number);
    pfa_walk_sort_if_known(walking, &walking->slabs[number]);
}

/* The few records that parts left out, since they could be of chunks that died. */
static void walk_doubts(pfa_walking_t *walking)
{
    pfa_part_reader_t *parts[PFA_WORKERS_MOST] = {part_reader(walking, 0)};
    size_t count = 1;
    for (unsigned i = 1; i < pfa_workers_count(walking->workers); i++) {
        parts[count] = walking->readers[i].part;
        count += parts[count] != NULL;
    }
    for (bool more = true; more;) {
        set_met(walking);
        walking->readers[0].slab = &walking->slabs[0];
        more = pfa_parts_doubts(parts, count);
        walking->count = 1;
        pfa_walk_tell(walking);
    }
}

static int walk_parts(pfa_walking_t *walking)
{
    size_t count = pfa_parts_count(walking->parts);
    int error = 0;
    for (size_t i = 0; i < count && error == 0; i += PFA_SLABS) {
        size_t slabs = count - i < PFA_SLABS ? count - i : PFA_SLABS;
        walking->first_part = i;
        walking->count = slabs;
        set_met(walking);
        pfa_walk_run(walking, slabs, read_part);
        for (size_t number = 0; number < slabs; number++) {
            error = error == 0 ? walking->errors[number] : error;
        }
        pfa_walk_tell(walking);
    }
    if (error == 0) {
        walk_doubts(walking);
    }
    return error;
}

/* Deaths first; then live chunks, by all threads unless it is asked where they lie. */
int pfa_walk_table(pfa_walking_t *walking)
{
    if (walking->from.whole || walking->trace->live == NULL) {
        return walk_table_in_order(walking, true);
    }
    int error = walk_table_in_order(walking, false);
    if (error == 0) {
        walking->parts = pfa_parts_new(walking->trace);
        error = walk_parts(walking);
    }
    return error;
}

/* What nobody asks of single chunks needs no look at them. */
static bool needs_rows(const pfa_query_t *query, const pfa_look_t *look)
{
    return look->chunk != NULL || look->beside != NULL || look->lane_chunk != NULL ||
           (query->where != NULL && pfa_where_needs_chunks(query->where));
}

/* What slabs of this source are filled with, and how. */
void pfa_walk_begin_reading(pfa_walking_t *walking)
{
    if (walking->met != NULL) { /* what is known of a stack may be another thing in another source */
        memset(walking->met, 0, walking->met_room);
    }
    const pfa_query_t *query = walking->query;
    const pfa_look_t *look = &walking->all;
    bool rows = needs_rows(query, look);
    bool accesses = look->accesses || (query->where != NULL && pfa_where_needs_accesses(query->where));
    walking->from = (pfa_slab_source_t){.query = query,
                                        .source = walking->source,
                                        .trace = walking->trace,
                                        .rows = rows,
                                        .accesses = accesses && walking->source->has_accesses &&
                                                    pfa_trace_has_accesses(walking->trace),
                                        .whole = look->whole,
                                        .all_late = query->where != NULL || !pfa_groups_are_of_stacks(query)};
    /* Walks that look for sets have other expressions. */
    walking->remembers = query->where != NULL && !query->uncounted && pfa_groups_are_of_stacks(query);
    for (unsigned i = 0; i < pfa_workers_count(walking->workers); i++) {
        walking->readers[i] = (pfa_walk_reader_t){.walking = walking};
        walking->visitors[i] = (pfa_visitor_t){.to = &walking->readers[i],
                                               .accesses = walking->from.accesses,
                                               .places = look->whole,
                                               .kind = read_kind,
                                               .row = rows ? read_row : NULL,
                                               .room = walking->from.accesses || look->whole ? NULL : make_room,
                                               .rows = take_rows};
    }
}

void pfa_walk_end_reading(pfa_walking_t *walking)
{
    for (unsigned i = 0; i < pfa_workers_count(walking->workers); i++) {
        if (walking->readers[i].rows != NULL) {
            pfa_rows_end(walking->readers[i].rows);
        }
        if (walking->readers[i].part != NULL) {
            pfa_part_reader_free(walking->readers[i].part);
        }
    }
    if (walking->parts != NULL) {
        pfa_parts_free(walking->parts);
        walking->parts = NULL;
    }
}
