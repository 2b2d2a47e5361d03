/* Owns the walk through the chunks of a query. See analyze/query/query.h. */
#include "analyze/query/walk.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/query/keys.h"
#include "analyze/query/waiting.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIP = UINT32_MAX };

/* A kind of the batch that is walked through, and what is still to be asked of its chunks. */
typedef struct met {
    pfa_kind_t kind;
    uint32_t slot;
    bool open;
    double numbers[PFA_FIELDS]; /* only where open */
} met_t;

typedef struct walking {
    pfa_query_t *query;
    const pfa_look_t *look;
    const pfa_trace_t *trace;
    pfa_source_t *source;
    met_t *list;
    size_t count;
    size_t room;
    pfa_asked_t asked;
    pfa_subject_t subject;
    pfa_waiting_t waiting;
} walking_t;

static void tell_waiting(walking_t *walking);

/* Whether what there is to say of sources is found out by this walk. */
static bool is_first(const pfa_query_t *query)
{
    return !query->walked && !query->uncounted;
}

static double ns_of(const pfa_source_t *source, uint64_t time)
{
    return source->start_ns + (double)(int64_t)(time - source->start.counter) * source->ns_per_tick;
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

static void fill_kind(walking_t *walking, pfa_kind_t *kind, const pfa_batch_kind_t *from, double weight, bool live)
{
    *kind = (pfa_kind_t){.source = walking->source,
                         .size = from->size_flags >> PFA_RECORD_SIZE_SHIFT,
                         .weight = weight,
                         .stack = find_stack(walking, from->stack),
                         .free_stack = live ? PFA_NODE_UNKNOWN : find_stack(walking, from->free_stack),
                         .flags = (uint32_t)(from->size_flags & PFA_EVENT_FLAGS),
                         .thread = from->thread,
                         .free_thread = from->free_thread,
                         .last_thread = from->last_thread,
                         .tag = from->tag,
                         .live = live};
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

static pfa_truth_t ask_kind(walking_t *walking, met_t *met)
{
    pfa_where_t *where = walking->query->where;
    if (where == NULL) {
        return PFA_YES;
    }
    walking->asked.kind = &met->kind;
    fill_ids(&walking->subject, &met->kind);
    fill_numbers(walking->query, walking->subject.numbers, &met->kind);
    pfa_truth_t truth = pfa_where_kind(where, &walking->subject, &met->slot);
    met->open = truth == PFA_OPEN;
    if (met->open) {
        memcpy(met->numbers, walking->subject.numbers, sizeof met->numbers);
    }
    return truth;
}

static void begin_batch(void *to)
{
    walking_t *walking = to;
    tell_waiting(walking);
    walking->count = 0;
    if (walking->query->where != NULL) {
        pfa_where_batch(walking->query->where);
    }
}

/* So many chunks of a kind for which `where` holds. */
static void tell_kind(walking_t *walking, const met_t *met, double rows)
{
    const pfa_look_t *look = walking->look;
    walking->query->held += is_first(walking->query) ? rows : 0;
    if (look->kind != NULL) {
        look->kind(look->to, &met->kind, rows);
    }
}

static uint32_t meet_kind(void *to, const pfa_batch_kind_t *from, double weight, bool live)
{
    walking_t *walking = to;
    if (is_first(walking->query)) {
        pfa_tally_kind(&walking->source->tally, walking->trace, from, weight, live);
    }
    walking->list = pfa_memory_grow(walking->list, &walking->room, walking->count + 1, sizeof *walking->list);
    met_t *met = &walking->list[walking->count];
    met->open = false;
    fill_kind(walking, &met->kind, from, weight, live);
    if (ask_kind(walking, met) == PFA_NO) {
        return SKIP;
    }
    met->kind.group = pfa_groups_find(walking->query, &met->kind, false);
    if (!pfa_groups_is_asked(walking->query, met->kind.group)) {
        return SKIP;
    }
    if (!met->open) {
        tell_kind(walking, met, from->rows);
    }
    return (uint32_t)walking->count++;
}

static void fill_accesses(const pfa_source_t *source, pfa_chunk_t *chunk, uint64_t size)
{
    const pfa_event_accesses_t *accesses = chunk->accesses;
    uint64_t low;
    uint64_t behind;
    pfa_access_bytes(accesses, size, &low, &behind);
    chunk->touched = (double)(behind - low);
    chunk->is_touched = accesses->length != 0 || accesses->reads != 0 || accesses->writes != 0;
    chunk->first = chunk->last = chunk->born;
    if (accesses->length != 0) {
        double end = chunk->born + chunk->life;
        chunk->first = fmax(ns_of(source, accesses->first), chunk->born);
        chunk->last = fmin(fmax(ns_of(source, accesses->last), chunk->first), end);
        chunk->first = fmin(chunk->first, chunk->last);
    }
    chunk->wait = chunk->is_touched ? chunk->first - chunk->born : chunk->life;
    chunk->idle = fmax(chunk->life - (chunk->last - chunk->born), 0);
}

static bool ask_chunk(walking_t *walking, met_t *met, const pfa_chunk_t *chunk)
{
    double *numbers = met->numbers;
    numbers[PFA_FIELD_lifetime] = chunk->life;
    numbers[PFA_FIELD_born] = chunk->born;
    numbers[PFA_FIELD_died] = chunk->died;
    if (chunk->accesses != NULL) {
        numbers[PFA_FIELD_reads] = chunk->accesses->reads;
        numbers[PFA_FIELD_writes] = chunk->accesses->writes;
        numbers[PFA_FIELD_coverage] = met->kind.size != 0 ? chunk->touched / (double)met->kind.size : (double)NAN;
        numbers[PFA_FIELD_idle] = chunk->idle;
        numbers[PFA_FIELD_wait] = chunk->wait;
    }
    return pfa_where_chunk(walking->query->where, met->slot, numbers);
}

static void tell_row(walking_t *walking, uint32_t number, const pfa_row_t *row, bool live)
{
    const pfa_look_t *look = walking->look;
    met_t *met = &walking->list[number];
    const pfa_source_t *source = walking->source;
    const pfa_event_t *event = &row->event;
    pfa_chunk_t chunk = {.born = ns_of(source, event->alloc_time),
                         .row = row,
                         .event = event,
                         .accesses = row->told ? &row->accesses : NULL};
    chunk.died = fmax(live ? source->end_ns : ns_of(source, event->free_time), chunk.born);
    chunk.life = live ? chunk.died - chunk.born : (double)row->life * source->ns_per_tick;
    if (row->told) {
        fill_accesses(source, &chunk, met->kind.size);
    }
    if (met->open) {
        if (!ask_chunk(walking, met, &chunk)) {
            return;
        }
        tell_kind(walking, met, 1);
    }
    if (look->chunk != NULL) {
        look->chunk(look->to, &met->kind, &chunk);
    }
}

static void tell_waiting(walking_t *walking)
{
    pfa_waiting_t *waiting = &walking->waiting;
    pfa_waiting_sort(waiting);
    for (uint32_t i = 0; i < waiting->count; i++) {
        const pfa_waiting_row_t *row = &waiting->rows[waiting->order[i]];
        tell_row(walking, row->kind, &row->row, row->live);
    }
    waiting->count = 0;
}

static void meet_row(void *to, uint32_t number, const pfa_row_t *row, double weight, bool live)
{
    walking_t *walking = to;
    (void)weight;
    if (number == SKIP) {
        return;
    }
    if (walking->waiting.rows == NULL) {
        tell_row(walking, number, row, live);
        return;
    }
    pfa_waiting_row_t waiting = {.row = *row, .kind = number, .group = walking->list[number].kind.group, .live = live};
    pfa_waiting_add(&walking->waiting, &waiting);
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

static void meet_folds(walking_t *walking)
{
    const pfa_look_t *look = walking->look;
    const pfa_trace_t *trace = walking->trace;
    for (size_t i = 0; i < trace->fold_count; i++) {
        double chunks = (double)trace->folds[i].chunks / 1024;
        pfa_kind_t kind = {.source = walking->source,
                           .stack = find_stack(walking, trace->folds[i].stack),
                           .free_stack = PFA_NODE_UNKNOWN};
        if (!ask_fold(walking, &kind)) {
            walking->query->unasked +=
                is_first(walking->query) && !pfa_where_is_of_stacks(walking->query->where) ? chunks : 0;
        } else if (look->fold != NULL) {
            uint32_t group = pfa_groups_find(walking->query, &kind, true);
            if (pfa_groups_is_asked(walking->query, group)) {
                look->fold(look->to, walking->source, kind.stack, group, chunks, (double)trace->folds[i].bytes);
            }
        }
    }
    if (is_first(walking->query)) {
        pfa_tally_folds(&walking->source->tally, trace);
    }
}

static void tell_source(const walking_t *walking, bool begins)
{
    if (walking->look->source != NULL) {
        walking->look->source(walking->look->to, walking->source, walking->trace, begins);
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
    return look->chunk != NULL || (query->where != NULL && pfa_where_needs_chunks(query->where));
}

/* A running process has more of them each time. */
static void grow_nodes(pfa_source_t *source, const pfa_trace_t *trace)
{
    size_t room = source->node_count;
    source->stack_of = pfa_memory_grow(source->stack_of, &room, trace->node_count, sizeof *source->stack_of);
    source->node_count = (uint32_t)(room < UINT32_MAX ? room : UINT32_MAX);
}

static int walk_source(walking_t *walking, const char *progress)
{
    pfa_query_t *query = walking->query;
    const pfa_look_t *look = walking->look;
    bool first = is_first(query);
    pfa_visitor_t visitor = {.to = walking,
                             .accesses =
                                 look->accesses || (query->where != NULL && pfa_where_needs_accesses(query->where)),
                             .places = look->places,
                             .batch = begin_batch,
                             .kind = meet_kind,
                             .row = needs_rows(query, look) ? meet_row : NULL};
    if (first) {
        walking->source->tally = (pfa_tally_t){.frees = 0};
    }
    tell_source(walking, true);
    meet_folds(walking);
    uint64_t bad_blocks = 0;
    int error = pfa_rows_walk(walking->trace, &visitor, &bad_blocks, progress);
    tell_waiting(walking);
    tell_source(walking, false);
    if (error == 0 && first) {
        take_notes(query, walking->source, walking->trace, bad_blocks);
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

int pfa_query_walk(pfa_query_t *query, const pfa_look_t *look, const char *progress)
{
    walking_t walking = {.query = query, .look = look, .asked = {.query = query}};
    int error = 0;
    walking.subject = (pfa_subject_t){.to = &walking.asked, .any_text = pfa_query_any_text};
    size_t sources = query->source_count;
    if (!pfa_query_find_sets(query) || query->source_count != sources) {
        return 1; /* who walks has begun with another number of them */
    }
    if (look->grouped && needs_rows(query, look)) {
        pfa_waiting_begin(&walking.waiting);
    }
    for (size_t i = 0; i < query->source_count && error == 0; i++) {
        error = walk_file(&walking, i, progress);
    }
    query->walked = query->walked || (error == 0 && !query->uncounted);
    pfa_waiting_end(&walking.waiting);
    pfa_memory_free(walking.list);
    pfa_lines_free(&walking.asked.lines);
    return error;
}
