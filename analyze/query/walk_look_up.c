/* Owns what is looked up of a slab, in order: stacks, groups, and what an expression says of kinds and rows. See analyze/query/walking.h. */
#include "analyze/query/walking.h"
#include "analyze/base/memory.h"
#include "analyze/query/keys.h"
#include "analyze/query/remembered.h"

#include <math.h>
#include <string.h>

bool pfa_walk_is_first(const pfa_query_t *query)
{
    return !query->walked && !query->uncounted;
}

uint32_t pfa_walk_find_stack(pfa_walking_t *walking, uint32_t node)
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
static pfa_truth_t ask_kind(pfa_walking_t *walking, pfa_slab_kind_t *kind)
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

static bool ask_chunk(pfa_walking_t *walking, const pfa_slab_kind_t *kind, const pfa_chunk_t *chunk)
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

static void meet_stack(pfa_walking_t *walking, uint32_t stack, uint8_t role, bool *new)
{
    walking->met = pfa_memory_grow(walking->met, &walking->met_room, (size_t)stack + 1, sizeof *walking->met);
    *new = *new || (walking->met[stack] & role) == 0;
    walking->met[stack] |= role;
}

static void meet(pfa_walking_t *walking, const pfa_kind_t *kind)
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

static void look_up_kind(pfa_walking_t *walking, pfa_slab_kind_t *kind)
{
    if (kind->raw) {
        kind->kind.stack = pfa_walk_find_stack(walking, kind->kind.stack);
        kind->kind.free_stack =
            kind->kind.live ? PFA_NODE_UNKNOWN : pfa_walk_find_stack(walking, kind->kind.free_stack);
    }
    kind->kind.group = PFA_SKIP;
    if (ask_kind(walking, kind) == PFA_NO) {
        return;
    }
    uint32_t group = pfa_groups_find(walking->query, &kind->kind, false);
    if (pfa_groups_is_asked(walking->query, group)) {
        kind->kind.group = group;
    }
}

/* Rows of kinds that have to be asked one by one. */
static void ask_rows(pfa_walking_t *walking, pfa_slab_t *slab)
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
static double count_held(const pfa_walking_t *walking, const pfa_slab_t *slab)
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

void pfa_walk_look_up(pfa_walking_t *walking, pfa_slab_t *slab)
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
    for (uint32_t i = 0; i < slab->late_count; i++) {
        const pfa_slab_kind_t *kind = &slab->kinds[slab->late[i]];
        if (kind->kind.group != PFA_SKIP && kind->rows != 0) {
            meet(walking, &kind->kind);
        }
    }
    const pfa_block_t *block = walking->blocks[slab - walking->slabs];
    if (walking->remembers && block != NULL && walking->open_count == 0 && slab->asked == NULL) {
        size_t number = (size_t)(block - walking->trace->blocks.list);
        pfa_remembered_put(&walking->source->remembered, number, block, slab);
    }
    if (pfa_walk_is_first(query)) {
        pfa_tally_join(&walking->source->tally, &slab->tally);
        query->held += count_held(walking, slab);
    }
}

bool pfa_walk_ask_fold(pfa_walking_t *walking, const pfa_kind_t *kind)
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
