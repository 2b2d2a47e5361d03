/* Owns the collecting of a timeline: births and deaths by bucket, first of all groups to find the largest (ranks.c), then of
 * these. Memory is bounded, whatever the numbers of groups and buckets are, but for a few words for each of either. */
#include "analyze/timeline/buckets.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/base/text.h"
#include "analyze/timeline/ranks.h"

#include <stdlib.h>

/* What strands may take; one for the rest comes on top. */
enum { STRANDS_MOST_BYTES = 64 << 20, STRAND_BYTES = 5 * sizeof(double) };

typedef struct collecting {
    pfa_timeline_t *timeline;
    pfa_summit_t *summit; /* NULL: it is known */
    bool filling;         /* strands; before that, changes */
    pfa_ranks_t ranks;
    uint32_t *strand_of; /* by group */
    size_t strand_room;
} collecting_t;

static void make_strand(pfa_strand_t *strand, size_t buckets)
{
    strand->bytes = pfa_memory_get(buckets, sizeof *strand->bytes);
    strand->chunks = pfa_memory_get(buckets, sizeof *strand->chunks);
    strand->born = pfa_memory_get(buckets, sizeof *strand->born);
    strand->died = pfa_memory_get(buckets, sizeof *strand->died);
    strand->variance = pfa_memory_get(buckets, sizeof *strand->variance);
}

static void free_strand(pfa_strand_t *strand)
{
    pfa_memory_free(strand->bytes);
    pfa_memory_free(strand->chunks);
    pfa_memory_free(strand->born);
    pfa_memory_free(strand->died);
    pfa_memory_free(strand->variance);
}

static void add_to_strand(const collecting_t *collecting, pfa_strand_t *strand, const pfa_kind_t *kind,
                          const pfa_chunk_t *chunk)
{
    const pfa_timeline_t *timeline = collecting->timeline;
    double size = (double)kind->size;
    double weight = kind->weight;
    double variance = weight * (weight - 1) * size * size;
    size_t born = pfa_bucket_at(chunk->born, timeline->whole_ns, timeline->buckets);
    size_t died = pfa_bucket_of_death(kind, chunk, timeline->whole_ns, timeline->buckets);
    strand->bytes[born] += weight * size;
    strand->chunks[born] += weight;
    strand->born[born] += weight * size;
    strand->variance[born] += variance;
    if (died < timeline->buckets) {
        strand->bytes[died] -= weight * size;
        strand->chunks[died] -= weight;
        strand->died[died] += weight * size;
        strand->variance[died] -= variance;
    }
}

static void add_chunk(void *to, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    collecting_t *collecting = to;
    pfa_timeline_t *timeline = collecting->timeline;
    if (collecting->summit != NULL) {
        pfa_summit_add(collecting->summit, kind, chunk);
    }
    if (!collecting->filling) {
        add_to_strand(collecting, &timeline->all, kind, chunk);
        if (timeline->query->key != NULL) {
            pfa_ranks_add(&collecting->ranks, kind, chunk);
        }
    } else if (timeline->strand_count != 0) {
        size_t rest = timeline->strand_count - 1; /* a group of a running process that was not there before */
        size_t number = kind->group < collecting->strand_room ? collecting->strand_of[kind->group] : rest;
        add_to_strand(collecting, &timeline->strands[number], kind, chunk);
    }
}

static void see_source(void *to, const pfa_source_t *source, const pfa_trace_t *trace, bool begins)
{
    collecting_t *collecting = to;
    if (collecting->summit != NULL) {
        pfa_summit_source(collecting->summit, source, trace, begins);
    }
}

static void add_fold(void *to, const pfa_source_t *source, uint32_t stack, uint32_t group, double chunks, double bytes)
{
    collecting_t *collecting = to;
    (void)source;
    (void)stack;
    (void)group;
    collecting->timeline->folded_chunks += chunks;
    collecting->timeline->folded_bytes += bytes;
}

/* What fits into memory; the rest is told together. */
static size_t bound(const pfa_timeline_t *timeline, size_t top)
{
    size_t most = STRANDS_MOST_BYTES / (STRAND_BYTES * timeline->buckets);
    most = most != 0 ? most : 1;
    return top < most ? top : most;
}

/* A strand for each of the first ones, and one for the rest. */
static void choose_groups(collecting_t *collecting, const pfa_timeline_wishes_t *wishes)
{
    pfa_timeline_t *timeline = collecting->timeline;
    size_t top = bound(timeline, wishes->top);
    uint32_t *groups = pfa_ranks_order(&collecting->ranks, timeline->query, wishes->sort, top, &timeline->group_count);
    size_t chosen = top < timeline->group_count ? top : timeline->group_count;
    timeline->folded_groups = chosen < wishes->top && chosen < timeline->group_count;
    timeline->strand_count = chosen + 1;
    timeline->strands = pfa_memory_get(timeline->strand_count, sizeof *timeline->strands);
    collecting->strand_room = pfa_query_groups(timeline->query);
    collecting->strand_of = pfa_memory_get(collecting->strand_room, sizeof *collecting->strand_of);
    for (size_t i = 0; i < collecting->strand_room; i++) {
        collecting->strand_of[i] = (uint32_t)chosen;
    }
    for (size_t i = 0; i <= chosen; i++) {
        make_strand(&timeline->strands[i], timeline->buckets);
        timeline->strands[i].rest = i == chosen;
        timeline->strands[i].name = i < chosen ? pfa_query_group_name(timeline->query, groups[i]) : "other";
        if (i < chosen) {
            collecting->strand_of[groups[i]] = (uint32_t)i;
        }
    }
    pfa_memory_free(groups);
}

/* What is left of estimates that should cancel each other is less than anything that is counted. */
static double settle(double value)
{
    return value > 1e-6 ? value : 0;
}

/* From changes to what there was. */
static void sum_up(pfa_strand_t *strand, size_t buckets)
{
    double sums[3] = {0, 0, 0};
    for (size_t i = 0; i < buckets; i++) {
        sums[0] += strand->bytes[i];
        sums[1] += strand->chunks[i];
        sums[2] += strand->variance[i];
        strand->bytes[i] = settle(sums[0]);
        strand->chunks[i] = settle(sums[1]);
        strand->variance[i] = settle(sums[2]);
    }
}

/* The rest is no strand if every group has one. */
static void drop_empty_rest(pfa_timeline_t *timeline)
{
    pfa_strand_t *rest = &timeline->strands[timeline->strand_count - 1];
    bool empty = timeline->group_count < timeline->strand_count;
    for (size_t i = 0; i < timeline->buckets && empty; i++) {
        empty = rest->born[i] <= 0;
    }
    if (empty) {
        free_strand(rest);
        timeline->strand_count--;
    }
}

static bool walk(collecting_t *collecting, const pfa_timeline_wishes_t *wishes)
{
    pfa_timeline_t *timeline = collecting->timeline;
    pfa_look_t look = {.to = collecting, .chunk = add_chunk, .source = see_source, .fold = add_fold};
    pfa_summit_t *summit = collecting->summit;
    if (pfa_query_walk(timeline->query, &look, "reading") != 0) {
        return false;
    }
    if (timeline->query->key != NULL) {
        choose_groups(collecting, wishes);
    }
    look.fold = NULL;
    collecting->filling = true;
    collecting->summit = pfa_summit_again(summit) ? summit : NULL;
    bool again = collecting->summit != NULL || timeline->strand_count != 0;
    if (again && pfa_query_walk(timeline->query, &look, "reading again") != 0) {
        return false;
    }
    timeline->peak = pfa_summit_finish(summit);
    sum_up(&timeline->all, timeline->buckets);
    for (size_t i = 0; i < timeline->strand_count; i++) {
        sum_up(&timeline->strands[i], timeline->buckets);
    }
    if (timeline->strand_count != 0) {
        drop_empty_rest(timeline);
    }
    return true;
}

static bool collect(pfa_timeline_t *timeline, const pfa_timeline_wishes_t *wishes)
{
    pfa_query_t *query = &timeline->answer.query;
    *timeline = (pfa_timeline_t){.answer = timeline->answer, .query = query, .buckets = wishes->buckets};
    timeline->whole_ns = query->end_ns > 0 ? query->end_ns : 1;
    make_strand(&timeline->all, wishes->buckets);
    timeline->all.name = "all";
    pfa_summit_t *summit = pfa_summit_new(query, false);
    collecting_t collecting = {
        .timeline = timeline, .summit = summit, .ranks = pfa_ranks_begin(timeline->whole_ns, wishes->buckets)};
    bool done = walk(&collecting, wishes);
    pfa_summit_free(summit);
    pfa_ranks_free(&collecting.ranks);
    pfa_memory_free(collecting.strand_of);
    return done;
}

static void forget(pfa_timeline_t *timeline)
{
    free_strand(&timeline->all);
    for (size_t i = 0; i < timeline->strand_count; i++) {
        free_strand(&timeline->strands[i]);
    }
    pfa_memory_free(timeline->strands);
}

static void remark(const pfa_timeline_t *timeline)
{
    pfa_query_remark(timeline->query, timeline->folded_chunks, timeline->folded_bytes, true);
    if (timeline->folded_groups) {
        pfa_notes_add(&timeline->query->remarks,
                      "with so many buckets no more than %zu groups fit into memory: the others are told together",
                      timeline->strand_count - 1);
    }
}

static int fill(void *answer, const void *wishes)
{
    pfa_timeline_t *timeline = answer;
    int error = 0;
    for (size_t sources = timeline->answer.query.source_count; error == 0;
         sources = timeline->answer.query.source_count) {
        if (collect(timeline, wishes)) {
            remark(timeline);
            return 0;
        }
        forget(timeline);
        error = pfa_answer_again(timeline->query, sources);
    }
    return error;
}

int pfa_timeline_collect(pfa_session_t *session, const pfa_question_t *question, const pfa_timeline_wishes_t *wishes,
                         pfa_timeline_t **timeline)
{
    void *answer;
    int error = pfa_answer_make(&answer, sizeof **timeline, session, question, fill, wishes);
    *timeline = answer;
    return error;
}

double pfa_timeline_end(const pfa_timeline_t *timeline, size_t bucket)
{
    return pfa_bucket_end(timeline->whole_ns, timeline->buckets, bucket) * 1e-9;
}

double pfa_timeline_most(const pfa_strand_t *strand, size_t bucket)
{
    return (bucket != 0 ? strand->bytes[bucket - 1] : 0) + strand->born[bucket];
}

double pfa_timeline_error(const pfa_strand_t *strand, size_t bucket)
{
    return pfa_half_width(strand->variance[bucket]);
}
