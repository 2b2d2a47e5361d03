/* Owns the collecting of a timeline: births and deaths by bucket, first of all groups to find the largest, then of these.
 * Memory grows with groups and buckets, not with chunks. */
#include "analyze/timeline/timeline.h"

#include <math.h>
#include <stdlib.h>

/* The largest groups are found with no more buckets than this: 20 000 groups then take 40 MiB. */
enum { COARSE_MOST = 256 };

typedef struct total {
    double bytes;
    double chunks;
} total_t;

typedef struct collecting {
    pfa_timeline_t *timeline;
    pfa_summit_t *summit; /* NULL: it is known */
    bool filling;         /* strands; before that, changes */
    double *changes;      /* of bytes alive, by group and coarse bucket */
    size_t room;
    size_t coarse;
    total_t *totals; /* by group: all chunks, also those that are never alive at an end */
    size_t total_room;
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
    free(strand->bytes);
    free(strand->chunks);
    free(strand->born);
    free(strand->died);
    free(strand->variance);
}

/* When one of so many buckets of a whole ends. */
static double end_of(double whole, size_t count, size_t bucket)
{
    return bucket + 1 == count ? whole : whole * (double)(bucket + 1) / (double)count;
}

/* The first at whose end a time has come, the last if there is none. The division may be off by a rounding at the very end of
 * a bucket, so that this is looked at. */
static size_t bucket_at(double time, double whole, size_t count)
{
    double guess = time / whole * (double)count;
    size_t bucket = !(guess > 0) ? 0 : guess < (double)count ? (size_t)guess : count - 1;
    while (bucket > 0 && end_of(whole, count, bucket - 1) >= time) {
        bucket--;
    }
    while (bucket + 1 < count && end_of(whole, count, bucket) < time) {
        bucket++;
    }
    return bucket;
}

/* The first at whose end a chunk is gone: count if it never is. What lives to the end of its recording is there then. */
static size_t bucket_of_death(const pfa_kind_t *kind, const pfa_chunk_t *chunk, double whole, size_t count)
{
    size_t bucket = bucket_at(chunk->died, whole, count);
    return bucket + (kind->live && end_of(whole, count, bucket) <= chunk->died);
}

static void add_to_strand(const collecting_t *collecting, pfa_strand_t *strand, const pfa_kind_t *kind,
                          const pfa_chunk_t *chunk)
{
    const pfa_timeline_t *timeline = collecting->timeline;
    double size = (double)kind->size;
    double weight = kind->weight;
    double variance = weight * (weight - 1) * size * size;
    size_t born = bucket_at(chunk->born, timeline->whole_ns, timeline->buckets);
    size_t died = bucket_of_death(kind, chunk, timeline->whole_ns, timeline->buckets);
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

static void add_changes(collecting_t *collecting, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    size_t count = collecting->coarse;
    double whole = collecting->timeline->whole_ns;
    double bytes = kind->weight * (double)kind->size;
    size_t row = (size_t)kind->group * count;
    collecting->changes =
        pfa_memory_grow(collecting->changes, &collecting->room, row + count, sizeof *collecting->changes);
    collecting->totals = pfa_memory_grow(collecting->totals, &collecting->total_room, (size_t)kind->group + 1,
                                         sizeof *collecting->totals);
    size_t died = bucket_of_death(kind, chunk, whole, count);
    collecting->totals[kind->group].bytes += bytes;
    collecting->totals[kind->group].chunks += kind->weight;
    collecting->changes[row + bucket_at(chunk->born, whole, count)] += bytes;
    if (died < count) {
        collecting->changes[row + died] -= bytes;
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
            add_changes(collecting, kind, chunk);
        }
    } else if (timeline->strand_count != 0) {
        size_t rest = timeline->strand_count - 1; /* a group of a running process that was not there before */
        size_t number = kind->group < collecting->strand_room ? collecting->strand_of[kind->group] : rest;
        add_to_strand(collecting, &timeline->strands[number], kind, chunk);
    }
}

static void see_source(void *to, const pfa_source_t *source, pfa_trace_t *trace, bool begins)
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

typedef struct rank {
    double peak;
    double bytes;
    uint32_t group;
} rank_t;

static int compare_ranks(const void *a, const void *b)
{
    const rank_t *left = a;
    const rank_t *right = b;
    if (left->peak != right->peak) {
        return left->peak > right->peak ? -1 : 1;
    }
    if (left->bytes != right->bytes) {
        return left->bytes > right->bytes ? -1 : 1;
    }
    return left->group < right->group ? -1 : left->group > right->group;
}

static double peak_of(const collecting_t *collecting, size_t group)
{
    double live = 0;
    double peak = 0;
    for (size_t i = 0; i < collecting->coarse; i++) {
        live += collecting->changes[group * collecting->coarse + i];
        peak = live > peak ? live : peak;
    }
    return peak;
}

static rank_t *rank_groups(const collecting_t *collecting, size_t *count)
{
    rank_t *ranks = pfa_memory_get(collecting->total_room, sizeof *ranks);
    *count = 0;
    for (size_t i = 0; i < collecting->total_room; i++) {
        if (collecting->totals[i].chunks > 0) {
            ranks[(*count)++] =
                (rank_t){.peak = peak_of(collecting, i), .bytes = collecting->totals[i].bytes, .group = (uint32_t)i};
        }
    }
    qsort(ranks, *count, sizeof *ranks, compare_ranks);
    return ranks;
}

/* A strand for each of the largest, and one for the rest. */
static void choose_groups(collecting_t *collecting, size_t top)
{
    pfa_timeline_t *timeline = collecting->timeline;
    size_t count;
    rank_t *ranks = rank_groups(collecting, &count);
    size_t chosen = top < count ? top : count;
    timeline->group_count = count;
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
        timeline->strands[i].name = i < chosen ? pfa_query_group_name(timeline->query, ranks[i].group) : "other";
        if (i < chosen) {
            collecting->strand_of[ranks[i].group] = (uint32_t)i;
        }
    }
    free(ranks);
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

static bool walk(collecting_t *collecting, size_t top)
{
    pfa_timeline_t *timeline = collecting->timeline;
    pfa_look_t look = {.to = collecting, .chunk = add_chunk, .source = see_source, .fold = add_fold};
    pfa_summit_t *summit = collecting->summit;
    if (pfa_query_walk(timeline->query, &look, "reading") != 0) {
        return false;
    }
    if (timeline->query->key != NULL) {
        choose_groups(collecting, top);
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

static bool collect(pfa_timeline_t *timeline, pfa_query_t *query, size_t buckets, size_t top)
{
    *timeline = (pfa_timeline_t){.query = query, .buckets = buckets};
    timeline->whole_ns = query->end_ns > 0 ? query->end_ns : 1;
    make_strand(&timeline->all, buckets);
    timeline->all.name = "all";
    pfa_summit_t *summit = pfa_summit_new(query);
    collecting_t collecting = {
        .timeline = timeline, .summit = summit, .coarse = buckets < COARSE_MOST ? buckets : COARSE_MOST};
    bool done = walk(&collecting, top);
    pfa_summit_free(summit);
    free(collecting.changes);
    free(collecting.totals);
    free(collecting.strand_of);
    return done;
}

bool pfa_timeline_collect(pfa_timeline_t *timeline, pfa_query_t *query, size_t buckets, size_t top)
{
    for (size_t before = query->source_count; !collect(timeline, query, buckets, top); before = query->source_count) {
        pfa_timeline_free(timeline);
        *timeline = (pfa_timeline_t){.query = query};
        if (query->source_count == before || query->source_count == 0) {
            return false; /* without a source less it would fail again */
        }
    }
    return true;
}

void pfa_timeline_free(pfa_timeline_t *timeline)
{
    free_strand(&timeline->all);
    for (size_t i = 0; i < timeline->strand_count; i++) {
        free_strand(&timeline->strands[i]);
    }
    free(timeline->strands);
}

double pfa_timeline_end(const pfa_timeline_t *timeline, size_t bucket)
{
    return end_of(timeline->whole_ns, timeline->buckets, bucket) * 1e-9;
}

double pfa_timeline_most(const pfa_strand_t *strand, size_t bucket)
{
    return (bucket != 0 ? strand->bytes[bucket - 1] : 0) + strand->born[bucket];
}

double pfa_timeline_error(const pfa_strand_t *strand, size_t bucket)
{
    return 1.96 * sqrt(strand->variance[bucket]);
}
