/* Owns the amounts of a flame graph: sums by call stack. See analyze/flame/flame.h. */
#include "analyze/flame/flame.h"
#include "analyze/base/memory.h"
#include "analyze/base/slots.h"

#include <math.h>
#include <stdlib.h>

typedef struct collecting {
    pfa_amounts_t *amounts;
    pfa_summit_t *summit; /* of the peak alone */
} collecting_t;

/* Chunks of a stack often come one after the other. */
static pfa_amount_t *find_amount(pfa_amounts_t *amounts, uint32_t stack, uint32_t group)
{
    group = amounts->query->key != NULL ? group : 0;
    if (amounts->last < amounts->count && amounts->list[amounts->last].stack == stack &&
        amounts->list[amounts->last].group == group) {
        return &amounts->list[amounts->last];
    }
    uint64_t hash = pfa_hash_mix(stack, group);
    pfa_probe_t probe = pfa_slots_probe(&amounts->slots, hash);
    while (pfa_slots_next(&amounts->slots, &probe)) {
        amounts->last = probe.number;
        if (amounts->list[probe.number].stack == stack && amounts->list[probe.number].group == group) {
            return &amounts->list[probe.number];
        }
    }
    amounts->list = pfa_memory_grow(amounts->list, &amounts->room, amounts->count + 1, sizeof *amounts->list);
    amounts->list[amounts->count] = (pfa_amount_t){.stack = stack, .group = group};
    pfa_slots_put(&amounts->slots, hash, (uint32_t)amounts->count);
    amounts->last = amounts->count++;
    return &amounts->list[amounts->last];
}

/* Of so many rows: `each` of every chunk that they stand for. Poisson sampling: each row is there with probability 1/weight,
 * independent of the others. */
static void add(pfa_amounts_t *amounts, const pfa_kind_t *kind, double rows, double each)
{
    double value = rows * kind->weight * each;
    double variance = rows * kind->weight * (kind->weight - 1) * each * each;
    pfa_amount_t *amount = find_amount(amounts, kind->stack, kind->group);
    amount->value += value;
    amount->variance += variance;
    amounts->total += value;
    amounts->variance += variance;
}

static void add_kind(void *to, const pfa_kind_t *kind, double rows)
{
    pfa_amounts_t *amounts = ((collecting_t *)to)->amounts;
    if (amounts->metric != PFA_METRIC_LIVE || kind->live) {
        add(amounts, kind, rows, amounts->metric == PFA_METRIC_COUNT ? 1 : (double)kind->size);
    }
}

static void add_fold(void *to, const pfa_source_t *source, uint32_t stack, uint32_t group, double chunks, double bytes)
{
    pfa_amounts_t *amounts = ((collecting_t *)to)->amounts;
    double value = amounts->metric == PFA_METRIC_COUNT ? chunks : bytes;
    (void)source;
    if (amounts->metric == PFA_METRIC_BYTES || amounts->metric == PFA_METRIC_COUNT) {
        find_amount(amounts, stack, group)->value += value;
        amounts->total += value;
    } else if (amounts->metric != PFA_METRIC_LIVE) { /* they died: of what is alive at the end nothing is lacking */
        amounts->folded_chunks += chunks;
        amounts->folded_bytes += bytes;
    }
}

static void add_wasted(void *to, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    pfa_amounts_t *amounts = ((collecting_t *)to)->amounts;
    if (chunk->accesses == NULL) {
        amounts->without += kind->weight;
        return;
    }
    amounts->has_accesses = true;
    if (pfa_sight_of(&amounts->sights, kind->stack) == PFA_SIGHT_BLIND) {
        amounts->blind += kind->weight;
        return;
    }
    double used = chunk->is_touched && chunk->accesses->reads != 0 ? chunk->touched : 0;
    add(amounts, kind, 1, fmax((double)kind->size - used, 0));
}

static void add_alive(void *to, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    pfa_amounts_t *amounts = ((collecting_t *)to)->amounts;
    bool gone = kind->live ? chunk->died < amounts->at_ns : chunk->died <= amounts->at_ns;
    if (chunk->born <= amounts->at_ns && !gone) {
        add(amounts, kind, 1, (double)kind->size);
    }
}

static void see_source(void *to, const pfa_source_t *source, pfa_trace_t *trace, bool begins)
{
    collecting_t *collecting = to;
    pfa_summit_source(collecting->summit, source, trace, begins);
}

static void add_to_summit(void *to, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    pfa_summit_add(((collecting_t *)to)->summit, kind, chunk);
}

static void add_at_summit(void *to, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    collecting_t *collecting = to;
    if (pfa_summit_alive(collecting->summit, kind, chunk)) {
        add(collecting->amounts, kind, 1, (double)kind->size);
    }
}

static bool find_summit(collecting_t *collecting)
{
    pfa_amounts_t *amounts = collecting->amounts;
    pfa_look_t look = {.to = collecting, .chunk = add_to_summit, .source = see_source, .fold = add_fold};
    if (pfa_query_walk(amounts->query, &look, "finding the peak") != 0) {
        return false;
    }
    look.fold = NULL;
    if (pfa_summit_again(collecting->summit) && pfa_query_walk(amounts->query, &look, "finding the peak") != 0) {
        return false;
    }
    pfa_summit_result_t peak = pfa_summit_finish(collecting->summit);
    amounts->seconds = peak.seconds;
    amounts->has_moment = peak.one && peak.bytes > 0;
    return true;
}

static bool collect(pfa_amounts_t *amounts)
{
    collecting_t collecting = {.amounts = amounts};
    pfa_look_t look = {.to = &collecting, .fold = add_fold};
    if (amounts->metric == PFA_METRIC_PEAK) {
        collecting.summit = pfa_summit_new(amounts->query);
        look = (pfa_look_t){.to = &collecting, .chunk = add_at_summit};
        bool done = find_summit(&collecting) && pfa_query_walk(amounts->query, &look, "looking at the peak") == 0;
        pfa_summit_free(collecting.summit);
        return done;
    }
    look.accesses = amounts->metric == PFA_METRIC_WASTED;
    look.chunk = amounts->metric == PFA_METRIC_WASTED ? add_wasted
                 : amounts->metric == PFA_METRIC_AT   ? add_alive
                                                      : NULL;
    look.kind = look.chunk == NULL ? add_kind : NULL;
    return pfa_query_walk(amounts->query, &look, "reading") == 0;
}

bool pfa_amounts_collect(pfa_amounts_t *amounts, pfa_query_t *query, pfa_metric_t metric, double at_ns)
{
    const pfa_amounts_t none = {.query = query,
                                .sights = {.stacks = &query->stacks},
                                .metric = metric,
                                .at_ns = at_ns,
                                .seconds = at_ns * 1e-9,
                                .has_moment = metric == PFA_METRIC_AT};
    size_t before = query->source_count;
    for (*amounts = none; !collect(amounts); before = query->source_count) {
        pfa_amounts_free(amounts);
        *amounts = none;
        if (query->source_count == before || query->source_count == 0) {
            return false; /* without a source less it would fail again */
        }
    }
    return true;
}

void pfa_amounts_free(pfa_amounts_t *amounts)
{
    free(amounts->list);
    pfa_slots_free(&amounts->slots);
    pfa_sights_free(&amounts->sights);
    amounts->list = NULL;
    amounts->count = amounts->room = 0;
}
