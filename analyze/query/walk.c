/* Owns the walk through the chunks of a query, source by source. See analyze/query/query.h. Of each source some blocks at a time are read by all
 * threads into slabs (analyze/query/slab.h); what is new in them is looked up in order; then they are told (analyze/query/walking.h). */
#include "analyze/query/walk.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/query/keys.h"
#include "analyze/query/walking.h"

#include <string.h>

static void tell_fold(const pfa_walking_t *walking, uint32_t stack, uint32_t group, double chunks, double bytes)
{
    for (const pfa_look_t *look = walking->looks; look != NULL; look = look->next) {
        if (look->fold != NULL) {
            look->fold(look->to, walking->source, stack, group, chunks, bytes);
        }
    }
}

static void meet_folds(pfa_walking_t *walking)
{
    const pfa_trace_t *trace = walking->trace;
    for (size_t i = 0; i < trace->fold_count; i++) {
        double chunks = (double)trace->folds[i].chunks / 1024;
        pfa_kind_t kind = {.source = walking->source,
                           .stack = pfa_walk_find_stack(walking, trace->folds[i].stack),
                           .free_stack = PFA_NODE_UNKNOWN};
        if (!pfa_walk_ask_fold(walking, &kind)) {
            walking->query->unasked +=
                pfa_walk_is_first(walking->query) && !pfa_where_is_of_stacks(walking->query->where) ? chunks : 0;
        } else if (walking->all.fold != NULL) {
            uint32_t group = pfa_groups_find(walking->query, &kind, true);
            if (pfa_groups_is_asked(walking->query, group)) {
                tell_fold(walking, kind.stack, group, chunks, (double)trace->folds[i].bytes);
            }
        }
    }
    if (pfa_walk_is_first(walking->query)) {
        pfa_tally_folds(&walking->source->tally, trace);
    }
}

static void tell_source(const pfa_walking_t *walking, bool begins)
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

/* A running process has more of them each time. */
static void grow_nodes(pfa_source_t *source, const pfa_trace_t *trace)
{
    size_t room = source->node_count;
    source->stack_of = pfa_memory_grow(source->stack_of, &room, trace->node_count, sizeof *source->stack_of);
    source->node_count = (uint32_t)(room < UINT32_MAX ? room : UINT32_MAX);
}

static int walk_source(pfa_walking_t *walking, const char *progress)
{
    pfa_query_t *query = walking->query;
    bool first = pfa_walk_is_first(query);
    if (first) {
        walking->source->tally = (pfa_tally_t){.frees = 0};
    }
    tell_source(walking, true);
    meet_folds(walking);
    walking->bad_blocks = 0;
    pfa_walk_begin_reading(walking);
    pfa_walk_blocks(walking, progress);
    int error = pfa_walk_table(walking);
    pfa_walk_end_reading(walking);
    tell_source(walking, false);
    if (error == 0 && first) {
        take_notes(query, walking->source, walking->trace, walking->bad_blocks);
    }
    return error;
}

static int walk_file(pfa_walking_t *walking, size_t number, const char *progress)
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

static void walk_end(pfa_walking_t *walking)
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

static void take_looks(pfa_walking_t *walking, const pfa_look_t *looks)
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
    pfa_walking_t *walking = pfa_memory_get(1, sizeof *walking);
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
