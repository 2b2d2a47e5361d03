/* Owns the amounts of a flame graph: sums by call stack. See analyze/flame/flame.h. */
#include "analyze/flame/flame.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/base/slots.h"
#include "analyze/base/text.h"

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

static void see_source(void *to, const pfa_source_t *source, const pfa_trace_t *trace, bool begins)
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
    pfa_look_t look = {.to = collecting, .brief = true, .chunk = add_to_summit, .source = see_source, .fold = add_fold};
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
        collecting.summit = pfa_summit_new(amounts->query, false);
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

static void forget(pfa_amounts_t *amounts)
{
    pfa_memory_free(amounts->list);
    pfa_slots_free(&amounts->slots);
    pfa_sights_free(&amounts->sights);
    amounts->list = NULL;
    amounts->count = amounts->room = 0;
}

const char *const pfa_metric_names[PFA_METRICS] = {
#define PFA_METRIC(id, name, meaning) name,
#include "analyze/flame/metrics.def"
#undef PFA_METRIC
};

static void remark(const pfa_amounts_t *amounts)
{
    char text[PFA_NUMBER_TEXT];
    pfa_query_t *query = amounts->query;
    pfa_query_remark(query, amounts->folded_chunks, amounts->folded_bytes, amounts->metric == PFA_METRIC_AT);
    if (amounts->without > 0 && amounts->has_accesses) {
        pfa_notes_add(&query->remarks, "of %s chunks it is not known what was done with them; they are not in this",
                      pfa_text_count(text, amounts->without));
    }
    if (amounts->blind > 0) {
        pfa_notes_add(&query->remarks, "code that is not instrumented allocated %s chunk%s, which %s not in this",
                      pfa_text_count(text, amounts->blind), pfa_text_plural(amounts->blind),
                      amounts->blind < 1.5 ? "is" : "are");
    }
}

/* What was not recorded is no answer of nothing. */
static int refuse(const pfa_amounts_t *amounts)
{
    if (amounts->metric != PFA_METRIC_WASTED || amounts->has_accesses || amounts->query->has_accesses) {
        return 0;
    }
    pfa_session_say(
        amounts->query->session,
        "what was done with the chunks was not recorded, so that nobody knows which were wasted; build the\n"
        "program with profalloc-cc or profalloc-c++ in place of the compiler (profalloc-cc(1)) and run it "
        "again");
    return ENOTSUP;
}

static int refuse_moment(const pfa_query_t *query)
{
    char *text = pfa_memory_format("--metric at=: the recording ends at %.6f s", query->end_ns * 1e-9);
    pfa_session_say(query->session, text);
    pfa_memory_free(text);
    return ERANGE;
}

static int fill(void *answer, const void *given)
{
    pfa_amounts_t *amounts = answer;
    const pfa_amounts_options_t *options = given;
    pfa_query_t *query = &amounts->answer.query;
    int error = 0;
    if (options->metric == PFA_METRIC_AT && options->at_ns > query->end_ns) {
        return refuse_moment(query);
    }
    for (size_t sources = query->source_count; error == 0; sources = query->source_count) {
        *amounts = (pfa_amounts_t){.answer = amounts->answer,
                                   .query = query,
                                   .sights = {.stacks = &query->stacks},
                                   .metric = options->metric,
                                   .at_ns = options->at_ns,
                                   .seconds = options->at_ns * 1e-9,
                                   .has_moment = options->metric == PFA_METRIC_AT};
        if (collect(amounts)) {
            error = refuse(amounts);
            if (error == 0) {
                remark(amounts);
            }
            return error;
        }
        forget(amounts);
        error = pfa_answer_again(query, sources);
    }
    return error;
}

int pfa_amounts_collect(pfa_session_t *session, const pfa_question_t *question, const pfa_amounts_options_t *options,
                        pfa_amounts_t **amounts)
{
    void *answer;
    int error = pfa_answer_make(&answer, sizeof **amounts, session, question, fill, options);
    *amounts = answer;
    return error;
}
