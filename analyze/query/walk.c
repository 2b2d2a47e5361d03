/* Owns the walk through the chunks of a query. See analyze/query/query.h. Of each source some blocks at a time are read by all threads into
 * slabs (analyze/query/slab.h); what is new in them is looked up in order; then they are told. */
#include "analyze/query/walk.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/base/progress.h"
#include "analyze/base/workers.h"
#include "analyze/query/keys.h"
#include "analyze/query/slab.h"
#include "analyze/trace/parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a thread reads blocks with. */
typedef struct reader {
    struct walking *walking;
    pfa_slab_t *slab; /* that is filled */
    pfa_rows_t *rows;
    pfa_part_reader_t *part; /* of a live table */
} reader_t;

typedef struct walking {
    pfa_query_t *query;
    const pfa_look_t *looks;
    pfa_look_t all; /* what any of them wants: functions that are not NULL, and flags */
    const pfa_trace_t *trace;
    pfa_source_t *source;
    pfa_workers_t *workers;
    pfa_slab_source_t from;
    pfa_visitor_t visitors[PFA_WORKERS_MOST]; /* by thread */
    reader_t readers[PFA_WORKERS_MOST];
    pfa_slab_t slabs[PFA_SLABS];
    const pfa_block_t *blocks[PFA_SLABS]; /* of slabs */
    pfa_parts_t *parts;                   /* of the live table that is read, */
    size_t first_part;                    /* that the first slab has; */
    int errors[PFA_SLABS];
    size_t count; /* of slabs that are in use */
    uint64_t bad_blocks;
    uint8_t *met; /* by stack: roles in which this walk has told it */
    size_t met_room;
    double (*numbers)[PFA_FIELDS]; /* of open kinds of a slab */
    size_t number_room;
    uint32_t *slots;
    size_t slot_room;
    uint32_t open_count;
    pfa_asked_t asked;
    pfa_subject_t subject;
} walking_t;

/* Whether what there is to say of sources is found out by this walk. */
static bool is_first(const pfa_query_t *query)
{
    return !query->walked && !query->uncounted;
}

static uint32_t find_stack(walking_t *walking, uint32_t node)
{
    pfa_source_t *source = walking->source;
    if (node < source->node_count && source->stack_of[node] != 0) {
        return source->stack_of[node];
    }
    node = node < source->node_count ? node : PFA_NODE_UNKNOWN;
    return pfa_stacks_add(&walking->query->stacks, walking->trace, node, source->stack_of);
}

/* The fields that a kind answers; those of single chunks are not known yet. */
static void fill_numbers(const pfa_query_t *query, double *numbers, const pfa_kind_t *kind)
{
    for (size_t i = 0; i < PFA_FIELDS; i++) {
        numbers[i] = NAN;
    }
    numbers[PFA_FIELD_size] = (double)kind->size;
    numbers[PFA_FIELD_live] = kind->live;
    numbers[PFA_FIELD_freed] = !kind->live;
    numbers[PFA_FIELD_shared] =
        kind->source->has_accesses ? (double)((kind->flags & PFA_RECORD_SHARED) != 0) : (double)NAN;
    if (kind->stack < query->scored.room) {
        const double *scores = query->scored.of[kind->stack];
        numbers[PFA_FIELD_lifetime_score] = scores[PFA_ASKED_LIFETIME];
        numbers[PFA_FIELD_usage] = scores[PFA_ASKED_USAGE];
        numbers[PFA_FIELD_useful_lifetime] = scores[PFA_ASKED_USEFUL];
        numbers[PFA_FIELD_score] = scores[PFA_ASKED_MEAN];
        numbers[PFA_FIELD_severity] = scores[PFA_ASKED_SEVERITY];
    }
}

/* What the answers about texts are remembered by. */
static void fill_ids(pfa_subject_t *subject, const pfa_kind_t *kind)
{
    uint64_t source = (uint64_t)kind->source->id << 32;
    subject->stack = kind->stack;
    subject->free_stack = kind->free_stack;
    subject->ids[PFA_FIELD_thread] = source | kind->thread;
    subject->ids[PFA_FIELD_free_thread] = source | (kind->live ? UINT32_MAX >> 1 : kind->free_thread);
    subject->ids[PFA_FIELD_tag] = source | kind->tag;
    subject->ids[PFA_FIELD_trace] = source;
}

/* PFA_OPEN: its chunks are to be asked one by one. */
static pfa_truth_t ask_kind(walking_t *walking, pfa_slab_kind_t *kind)
{
    pfa_where_t *where = walking->query->where;
    uint32_t slot;
    if (where == NULL) {
        return PFA_YES;
    }
    walking->asked.kind = &kind->kind;
    fill_ids(&walking->subject, &kind->kind);
    fill_numbers(walking->query, walking->subject.numbers, &kind->kind);
    pfa_truth_t truth = pfa_where_kind(where, &walking->subject, &slot);
    if (truth == PFA_OPEN) {
        size_t at = walking->open_count++;
        walking->numbers = pfa_memory_grow(walking->numbers, &walking->number_room, at + 1, sizeof *walking->numbers);
        walking->slots = pfa_memory_grow(walking->slots, &walking->slot_room, at + 1, sizeof *walking->slots);
        memcpy(walking->numbers[at], walking->subject.numbers, sizeof walking->numbers[at]);
        walking->slots[at] = slot;
        kind->open = walking->open_count & 0x7fffffff;
    }
    return truth;
}

static bool ask_chunk(walking_t *walking, const pfa_slab_kind_t *kind, const pfa_chunk_t *chunk)
{
    double *numbers = walking->numbers[kind->open - 1];
    numbers[PFA_FIELD_lifetime] = chunk->life;
    numbers[PFA_FIELD_born] = chunk->born;
    numbers[PFA_FIELD_died] = chunk->died;
    if (chunk->accesses != NULL) {
        numbers[PFA_FIELD_reads] = chunk->accesses->reads;
        numbers[PFA_FIELD_writes] = chunk->accesses->writes;
        numbers[PFA_FIELD_coverage] = kind->kind.size != 0 ? chunk->touched / (double)kind->kind.size : (double)NAN;
        numbers[PFA_FIELD_idle] = chunk->idle;
        numbers[PFA_FIELD_wait] = chunk->wait;
    }
    return pfa_where_chunk(walking->query->where, walking->slots[kind->open - 1], numbers);
}

static void meet_stack(walking_t *walking, uint32_t stack, uint8_t role, bool *new)
{
    walking->met = pfa_memory_grow(walking->met, &walking->met_room, (size_t)stack + 1, sizeof *walking->met);
    *new = *new || (walking->met[stack] & role) == 0;
    walking->met[stack] |= role;
}

static void meet(walking_t *walking, const pfa_kind_t *kind)
{
    bool new = false;
    if (walking->all.meet == NULL) {
        return;
    }
    meet_stack(walking, kind->stack, kind->live ? PFA_MET_LIVE : PFA_MET_DEAD, &new);
    if (!kind->live) {
        meet_stack(walking, kind->free_stack, PFA_MET_FREES, &new);
    }
    for (const pfa_look_t *look = walking->looks; new &&look != NULL; look = look->next) {
        if (look->meet != NULL) {
            look->meet(look->to, kind);
        }
    }
}

static void look_up_kind(walking_t *walking, pfa_slab_kind_t *kind)
{
    if (kind->raw) {
        kind->kind.stack = find_stack(walking, kind->kind.stack);
        kind->kind.free_stack = kind->kind.live ? PFA_NODE_UNKNOWN : find_stack(walking, kind->kind.free_stack);
    }
    kind->kind.group = PFA_SKIP;
    if (ask_kind(walking, kind) == PFA_NO) {
        return;
    }
    uint32_t group = pfa_groups_find(walking->query, &kind->kind, false);
    if (pfa_groups_is_asked(walking->query, group)) {
        kind->kind.group = group;
        meet(walking, &kind->kind);
    }
}

/* Rows of kinds that have to be asked one by one. */
static void ask_rows(walking_t *walking, pfa_slab_t *slab)
{
    for (uint32_t i = 0; i < slab->kind_count; i++) {
        slab->kinds[i].rows = slab->kinds[i].open != 0 ? 0 : slab->kinds[i].rows;
    }
    for (uint32_t i = 0; i < slab->row_count; i++) {
        pfa_slab_kind_t *kind = slab->rows[i].kind != PFA_SKIP ? &slab->kinds[slab->rows[i].kind] : NULL;
        pfa_chunk_t chunk;
        if (kind == NULL || kind->open == 0 || kind->kind.group == PFA_SKIP) {
            continue;
        }
        pfa_slab_chunk(&kind->kind, &slab->rows[i], walking->from.accesses ? &slab->accesses[i] : NULL, &chunk);
        if (ask_chunk(walking, kind, &chunk)) {
            kind->rows++;
        } else {
            slab->rows[i].kind = PFA_SKIP;
        }
    }
}

/* Rows that are asked for. */
static double count_held(const walking_t *walking, const pfa_slab_t *slab)
{
    double held = 0;
    if (!walking->from.all_late) {
        return (double)(slab->tally.deaths + slab->tally.lives);
    }
    for (uint32_t i = 0; i < slab->kind_count; i++) {
        held += slab->kinds[i].kind.group != PFA_SKIP ? slab->kinds[i].rows : 0;
    }
    return held;
}

/* In order, one slab after the other. */
static void look_up(walking_t *walking, pfa_slab_t *slab)
{
    pfa_query_t *query = walking->query;
    walking->open_count = 0;
    if (query->where != NULL) {
        pfa_where_batch(query->where);
    }
    for (uint32_t i = 0; i < slab->late_count; i++) {
        look_up_kind(walking, &slab->kinds[slab->late[i]]);
    }
    if (walking->open_count != 0) {
        ask_rows(walking, slab);
    }
    if (is_first(query)) {
        pfa_tally_join(&walking->source->tally, &slab->tally);
        query->held += count_held(walking, slab);
    }
}

static void tell_kinds(const pfa_look_t *look, const pfa_slab_t *slab)
{
    for (uint32_t i = 0; i < slab->kind_count; i++) {
        const pfa_slab_kind_t *kind = &slab->kinds[i];
        if (kind->kind.group != PFA_SKIP && kind->rows != 0) {
            look->kind(look->to, &kind->kind, kind->rows);
        }
    }
}

static bool has_lanes(const pfa_look_t *look)
{
    return look->lane_kind != NULL || look->lane_chunk != NULL;
}

static void sort_slab(const walking_t *walking, pfa_slab_t *slab)
{
    pfa_slab_sort(slab, walking->all.accesses && walking->from.accesses);
}

static void sort_if_known(const walking_t *walking, pfa_slab_t *slab)
{
    if (slab->late_count == 0 && has_lanes(&walking->all)) {
        sort_slab(walking, slab); /* at once, while it is in the cache */
    }
}

/* In order, to `chunk` or to `beside`. */
static void tell_rows(const walking_t *walking, const pfa_look_t *look, const pfa_slab_t *slab, bool beside)
{
    bool accesses = look->accesses && !look->plain && walking->from.accesses;
    for (uint32_t i = 0; i < slab->row_count; i++) {
        uint32_t number = slab->rows[i].kind;
        const pfa_kind_t *kind = number != PFA_SKIP ? &slab->kinds[number].kind : NULL;
        pfa_chunk_t chunk;
        if (kind != NULL && kind->group != PFA_SKIP && (!beside || look->is_beside(look->to, kind))) {
            if (look->brief && !beside) {
                chunk.row = &slab->rows[i];
                look->chunk(look->to, kind, &chunk);
                continue;
            }
            pfa_slab_chunk(kind, &slab->rows[i], accesses ? &slab->accesses[i] : NULL, &chunk);
            chunk.whole = walking->from.whole ? &slab->whole[i] : NULL;
            (beside ? look->beside : look->chunk)(look->to, kind, &chunk);
        }
    }
}

/* Kinds of a lane lie far from each other: those that come next are fetched meanwhile. */
enum { AHEAD = 8 };

static void tell_lane_kinds(const pfa_look_t *look, const pfa_slab_t *slab, size_t lane)
{
    uint32_t end = slab->kind_starts[lane + 1];
    for (uint32_t i = slab->kind_starts[lane]; i < end; i++) {
        pfa_slab_kind_t *kind = &slab->kinds[slab->kind_order[i]];
        __builtin_prefetch(&slab->kinds[slab->kind_order[i + AHEAD < end ? i + AHEAD : i]]);
        if (kind->rows != 0) {
            kind->kind.note = look->lane_kind(look->to, &kind->kind, kind->rows);
        }
    }
}

static void tell_lane_rows(const walking_t *walking, const pfa_look_t *look, const pfa_slab_t *slab, size_t lane)
{
    bool accesses = look->accesses && walking->from.accesses;
    uint32_t end = slab->row_starts[lane + 1];
    for (uint32_t i = slab->row_starts[lane]; i < end; i++) {
        const pfa_chunk_row_t *row = &slab->lane_rows[i];
        const pfa_kind_t *kind = &slab->kinds[row->kind].kind;
        __builtin_prefetch(&slab->kinds[slab->lane_rows[i + AHEAD < end ? i + AHEAD : i].kind]);
        pfa_chunk_t chunk;
        pfa_slab_chunk(kind, row, accesses ? &slab->lane_accesses[i] : NULL, &chunk);
        look->lane_chunk(look->to, kind, &chunk);
    }
}

/* Tasks: the two that take all in order begin first, since nobody can help them. */
enum { IN_ORDER, BESIDE, FIRST_LANE };

static void tell_look(const walking_t *walking, const pfa_look_t *look, const pfa_slab_t *slab, size_t number)
{
    if (number == IN_ORDER && look->kind != NULL) {
        tell_kinds(look, slab);
    }
    if (number == IN_ORDER && look->chunk != NULL) {
        tell_rows(walking, look, slab, false);
    } else if (number == BESIDE && look->beside != NULL) {
        tell_rows(walking, look, slab, true);
    }
    if (number >= FIRST_LANE && look->lane_kind != NULL) {
        tell_lane_kinds(look, slab, number - FIRST_LANE);
    }
    if (number >= FIRST_LANE && look->lane_chunk != NULL) {
        tell_lane_rows(walking, look, slab, number - FIRST_LANE);
    }
}

static void tell(void *to, size_t number, unsigned worker)
{
    const walking_t *walking = to;
    (void)worker;
    for (size_t i = 0; i < walking->count; i++) {
        for (const pfa_look_t *look = walking->looks; look != NULL; look = look->next) {
            tell_look(walking, look, &walking->slabs[i], number);
        }
    }
}

/* A task: a slab is put in order, and its kinds are marked. */
static void arrange(void *to, size_t number, unsigned worker)
{
    walking_t *walking = to;
    pfa_slab_t *slab = &walking->slabs[number];
    (void)worker;
    for (const pfa_look_t *look = walking->looks; look != NULL; look = look->next) {
        for (uint32_t i = 0; look->mark != NULL && i < slab->kind_count; i++) {
            if (slab->kinds[i].kind.group != PFA_SKIP) {
                look->mark(look->to, &slab->kinds[i].kind);
            }
        }
    }
    if (!slab->sorted) {
        sort_slab(walking, slab);
    }
}

/* Few rows are told sooner than threads begin. */
static void run(walking_t *walking, size_t count, pfa_task_t *task)
{
    if (walking->count > 1) {
        pfa_workers_run(walking->workers, count, task, walking);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        task(walking, i, 0);
    }
}

/* What is in the slabs, which are empty then. */
static void tell_slabs(walking_t *walking)
{
    for (size_t i = 0; i < walking->count; i++) {
        look_up(walking, &walking->slabs[i]);
    }
    for (const pfa_look_t *look = walking->looks; look != NULL; look = look->next) {
        if (look->ready != NULL) {
            look->ready(look->to);
        }
    }
    bool lanes = has_lanes(&walking->all);
    if (lanes) {
        run(walking, walking->count, arrange);
    }
    run(walking, lanes ? FIRST_LANE + PFA_LANES : FIRST_LANE, tell);
    for (const pfa_look_t *look = walking->looks; look != NULL; look = look->next) {
        if (look->settle != NULL) {
            look->settle(look->to);
        }
    }
    for (size_t i = 0; i < walking->count; i++) {
        pfa_slab_clear(&walking->slabs[i]);
    }
    walking->count = 0;
}

static uint32_t read_kind(void *to, const pfa_batch_kind_t *kind, double weight, bool live)
{
    const reader_t *reader = to;
    return pfa_slab_add_kind(reader->slab, &reader->walking->from, kind, weight, live);
}

static void read_row(void *to, uint32_t kind, const pfa_row_t *row, double weight, bool live)
{
    const reader_t *reader = to;
    (void)weight;
    (void)live;
    pfa_slab_add_row(reader->slab, &reader->walking->from, kind, row);
}

static pfa_chunk_row_t *make_room(void *to, uint32_t count)
{
    const reader_t *reader = to;
    return pfa_slab_room(reader->slab, count);
}

static void take_rows(void *to, uint32_t count)
{
    const reader_t *reader = to;
    pfa_slab_add_rows(reader->slab, count);
}

/* Where pictures have chunks that died since, which are told apart one after the other (analyze/trace/rows.h). */
static bool is_in_order(const walking_t *walking, const pfa_block_t *block)
{
    return walking->from.whole || (walking->trace->died_count != 0 && block->kind == PFA_BLOCK_LIVE);
}

static void read_block(walking_t *walking, size_t number, unsigned worker)
{
    reader_t *reader = &walking->readers[worker];
    pfa_slab_t *slab = &walking->slabs[number];
    if (reader->rows == NULL) {
        reader->rows = pfa_rows_begin(walking->trace, &walking->visitors[worker], false);
    }
    reader->slab = slab;
    slab->bad = !pfa_rows_block(reader->rows, walking->blocks[number]);
    sort_if_known(walking, slab);
}

/* A task. */
static void read_any(void *to, size_t number, unsigned worker)
{
    walking_t *walking = to;
    if (!is_in_order(walking, walking->blocks[number])) {
        read_block(walking, number, worker);
    }
}

static void set_met(walking_t *walking)
{
    walking->from.met = walking->all.meet != NULL ? walking->met : NULL;
    walking->from.met_count = walking->met_room;
    if (walking->all.meet != NULL && walking->met == NULL) {
        walking->met = pfa_memory_grow(NULL, &walking->met_room, 1, sizeof *walking->met);
        set_met(walking);
    }
}

/* Reads the blocks that slabs were given, and tells them. */
static void walk_slabs(walking_t *walking, pfa_progress_t *progress)
{
    set_met(walking);
    run(walking, walking->count, read_any);
    for (size_t i = 0; i < walking->count; i++) {
        if (is_in_order(walking, walking->blocks[i])) {
            read_block(walking, i, 0);
        }
        walking->bad_blocks += walking->slabs[i].bad;
        pfa_progress_step(progress, sizeof(pfa_block_header_t) + walking->blocks[i]->stored_size);
    }
    tell_slabs(walking);
}

static void walk_blocks(walking_t *walking, const char *what)
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
    pfa_progress_end(&progress);
}

/* Kinds of the live table come with one row each. */
static uint32_t take_kind(void *to, const pfa_batch_kind_t *kind, double weight, bool live)
{
    reader_t *reader = to;
    walking_t *walking = reader->walking;
    if (walking->slabs[walking->count].kind_count == PFA_BATCH_ROWS) {
        walking->count++;
        if (walking->count == PFA_SLABS) {
            tell_slabs(walking);
            set_met(walking);
        }
    }
    reader->slab = &walking->slabs[walking->count];
    return pfa_slab_add_kind(reader->slab, &walking->from, kind, weight, live);
}

/* What the table has that is told one after the other. */
static int walk_table_in_order(walking_t *walking, bool all)
{
    reader_t *reader = &walking->readers[0];
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
        tell_slabs(walking);
    }
    return error;
}

static pfa_part_reader_t *part_reader(walking_t *walking, unsigned worker)
{
    reader_t *reader = &walking->readers[worker];
    if (reader->part == NULL) {
        reader->part = pfa_part_reader_new(walking->parts, &walking->visitors[worker]);
    }
    return reader->part;
}

/* A task. */
static void read_part(void *to, size_t number, unsigned worker)
{
    walking_t *walking = to;
    pfa_part_reader_t *part = part_reader(walking, worker);
    walking->readers[worker].slab = &walking->slabs[number];
    walking->errors[number] = pfa_part_read(part, walking->first_part + number);
    sort_if_known(walking, &walking->slabs[number]);
}

/* The few records that parts left out, since they could be of chunks that died. */
static void walk_doubts(walking_t *walking)
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
        tell_slabs(walking);
    }
}

static int walk_parts(walking_t *walking)
{
    size_t count = pfa_parts_count(walking->parts);
    int error = 0;
    for (size_t i = 0; i < count && error == 0; i += walking->count) {
        size_t slabs = count - i < PFA_SLABS ? count - i : PFA_SLABS;
        walking->first_part = i;
        walking->count = slabs;
        set_met(walking);
        run(walking, slabs, read_part);
        for (size_t number = 0; number < slabs; number++) {
            error = error == 0 ? walking->errors[number] : error;
        }
        tell_slabs(walking);
        walking->count = slabs;
    }
    walking->count = 0;
    if (error == 0) {
        walk_doubts(walking);
    }
    return error;
}

/* Deaths first; then live chunks, by all threads unless it is asked where they lie. */
static int walk_table(walking_t *walking)
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

/* Of deaths that are known in sums only there is the stack, and that they died. */
static bool ask_fold(walking_t *walking, const pfa_kind_t *kind)
{
    pfa_where_t *where = walking->query->where;
    uint32_t slot;
    if (where == NULL) {
        return true;
    }
    if (!pfa_where_is_of_stacks(where)) {
        return false;
    }
    walking->asked.kind = kind;
    fill_ids(&walking->subject, kind);
    fill_numbers(walking->query, walking->subject.numbers, kind);
    pfa_where_batch(where);
    return pfa_where_kind(where, &walking->subject, &slot) == PFA_YES;
}

static void tell_fold(const walking_t *walking, uint32_t stack, uint32_t group, double chunks, double bytes)
{
    for (const pfa_look_t *look = walking->looks; look != NULL; look = look->next) {
        if (look->fold != NULL) {
            look->fold(look->to, walking->source, stack, group, chunks, bytes);
        }
    }
}

static void meet_folds(walking_t *walking)
{
    const pfa_trace_t *trace = walking->trace;
    for (size_t i = 0; i < trace->fold_count; i++) {
        double chunks = (double)trace->folds[i].chunks / 1024;
        pfa_kind_t kind = {.source = walking->source,
                           .stack = find_stack(walking, trace->folds[i].stack),
                           .free_stack = PFA_NODE_UNKNOWN};
        if (!ask_fold(walking, &kind)) {
            walking->query->unasked +=
                is_first(walking->query) && !pfa_where_is_of_stacks(walking->query->where) ? chunks : 0;
        } else if (walking->all.fold != NULL) {
            uint32_t group = pfa_groups_find(walking->query, &kind, true);
            if (pfa_groups_is_asked(walking->query, group)) {
                tell_fold(walking, kind.stack, group, chunks, (double)trace->folds[i].bytes);
            }
        }
    }
    if (is_first(walking->query)) {
        pfa_tally_folds(&walking->source->tally, trace);
    }
}

static void tell_source(const walking_t *walking, bool begins)
{
    for (const pfa_look_t *look = walking->looks; look != NULL; look = look->next) {
        if (look->source != NULL) {
            look->source(look->to, walking->source, walking->trace, begins);
        }
    }
}

/* What a trace says of itself is complete once its rows were walked through. */
static void take_notes(const pfa_query_t *query, pfa_source_t *source, const pfa_trace_t *trace, uint64_t bad_blocks)
{
    pfa_account_t account = {.bad_blocks = bad_blocks + source->bad_names};
    pfa_tally_tell_missing(&source->tally, trace, &account);
    if (query->where != NULL && !source->has_accesses && pfa_where_asks_accesses(query->where)) {
        pfa_notes_add(&account.missing, "what --where asks of accesses is not known: it has no access data");
    }
    pfa_notes_free(&source->missing);
    source->missing = account.missing;
    pfa_notes_join(&source->remarks, &account.remarks);
    pfa_notes_free(&account.remarks);
}

/* What nobody asks of single chunks needs no look at them. */
static bool needs_rows(const pfa_query_t *query, const pfa_look_t *look)
{
    return look->chunk != NULL || look->beside != NULL || look->lane_chunk != NULL ||
           (query->where != NULL && pfa_where_needs_chunks(query->where));
}

/* A running process has more of them each time. */
static void grow_nodes(pfa_source_t *source, const pfa_trace_t *trace)
{
    size_t room = source->node_count;
    source->stack_of = pfa_memory_grow(source->stack_of, &room, trace->node_count, sizeof *source->stack_of);
    source->node_count = (uint32_t)(room < UINT32_MAX ? room : UINT32_MAX);
}

/* What slabs of this source are filled with, and how. */
static void begin_reading(walking_t *walking)
{
    const pfa_query_t *query = walking->query;
    const pfa_look_t *look = &walking->all;
    bool rows = needs_rows(query, look);
    bool accesses = look->accesses || (query->where != NULL && pfa_where_needs_accesses(query->where));
    walking->from = (pfa_slab_source_t){.query = query,
                                        .source = walking->source,
                                        .trace = walking->trace,
                                        .rows = rows,
                                        .accesses = accesses && pfa_trace_has_accesses(walking->trace),
                                        .whole = look->whole,
                                        .all_late = query->where != NULL || !pfa_groups_are_of_stacks(query)};
    for (unsigned i = 0; i < pfa_workers_count(walking->workers); i++) {
        walking->readers[i] = (reader_t){.walking = walking};
        walking->visitors[i] = (pfa_visitor_t){.to = &walking->readers[i],
                                               .accesses = walking->from.accesses,
                                               .places = look->whole,
                                               .kind = read_kind,
                                               .row = rows ? read_row : NULL,
                                               .room = walking->from.accesses || look->whole ? NULL : make_room,
                                               .rows = take_rows};
    }
}

static void end_reading(walking_t *walking)
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

static int walk_source(walking_t *walking, const char *progress)
{
    pfa_query_t *query = walking->query;
    bool first = is_first(query);
    if (first) {
        walking->source->tally = (pfa_tally_t){.frees = 0};
    }
    tell_source(walking, true);
    meet_folds(walking);
    walking->bad_blocks = 0;
    begin_reading(walking);
    walk_blocks(walking, progress);
    int error = walk_table(walking);
    end_reading(walking);
    tell_source(walking, false);
    if (error == 0 && first) {
        take_notes(query, walking->source, walking->trace, walking->bad_blocks);
    }
    return error;
}

static int walk_file(walking_t *walking, size_t number, const char *progress)
{
    pfa_query_t *query = walking->query;
    char *why = NULL;
    walking->source = &query->sources[number];
    pfa_taken_t *taken = pfa_session_take(query->session, walking->source->id, &why);
    if (taken == NULL) {
        pfa_query_drop(query, number, why, PFA_TROUBLE_NO_TRACE);
        pfa_memory_free(why);
        return 1;
    }
    walking->trace = taken->trace;
    grow_nodes(walking->source, walking->trace);
    int error = walk_source(walking, progress);
    pfa_session_give_back(taken);
    if (error != 0) {
        why = pfa_memory_format("cannot read all of %s: %s", walking->source->path, strerror(error));
        pfa_query_drop(query, number, why, PFA_TROUBLE_READING);
        pfa_memory_free(why);
    }
    return error;
}

static void walk_end(walking_t *walking)
{
    for (size_t i = 0; i < PFA_SLABS; i++) {
        pfa_slab_free(&walking->slabs[i]);
    }
    pfa_workers_free(walking->workers);
    pfa_memory_free(walking->met);
    pfa_memory_free(walking->numbers);
    pfa_memory_free(walking->slots);
    pfa_lines_free(&walking->asked.lines);
    pfa_memory_free(walking);
}

static void take_looks(walking_t *walking, const pfa_look_t *looks)
{
    pfa_look_t *all = &walking->all;
    walking->looks = looks;
    for (const pfa_look_t *look = looks; look != NULL; look = look->next) {
        all->accesses = all->accesses || look->accesses;
        all->whole = all->whole || look->whole;
        all->meet = look->meet != NULL ? look->meet : all->meet;
        all->chunk = look->chunk != NULL ? look->chunk : all->chunk;
        all->beside = look->beside != NULL ? look->beside : all->beside;
        all->lane_kind = look->lane_kind != NULL ? look->lane_kind : all->lane_kind;
        all->lane_chunk = look->lane_chunk != NULL ? look->lane_chunk : all->lane_chunk;
        all->fold = look->fold != NULL ? look->fold : all->fold;
    }
}

int pfa_query_walk(pfa_query_t *query, const pfa_look_t *look, const char *progress)
{
    int error = 0;
    size_t sources = query->source_count;
    if (!pfa_query_find_sets(query) || query->source_count != sources) {
        return 1; /* who walks has begun with another number of them */
    }
    walking_t *walking = pfa_memory_get(1, sizeof *walking);
    walking->query = query;
    take_looks(walking, look);
    walking->asked.query = query;
    walking->subject = (pfa_subject_t){.to = &walking->asked, .any_text = pfa_query_any_text};
    walking->workers = pfa_workers_new(pfa_session_options(query->session)->threads);
    for (size_t i = 0; i < query->source_count && error == 0; i++) {
        error = walk_file(walking, i, progress);
    }
    query->walked = query->walked || (error == 0 && !query->uncounted);
    walk_end(walking);
    return error;
}
