/* Owns the finding of excessive allocation: the walk through the chunks, and what is remarked on it. */
#include "analyze/excess/excess.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/base/text.h"
#include "analyze/points/memoro.h"
#include "analyze/points/spent.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { USUAL_LINES = 12, USUAL_OBJECTS = 1 << 20, COUNTED_CALLS = 32, MOMENT_NS = 2000 };

/* Of a pair in a usual allocator, where none was measured. Recording costs more; that is not the program's fault. */
#define USUAL_PAIR_NS 50.0

/* Of a silhouette below this, Kaufman and Rousseeuw (1990) say that no structure was found. */
#define APART 0.25

static void begin_source(void *to, const pfa_source_t *source, const pfa_trace_t *trace, bool begins)
{
    pfa_excess_t *excess = to;
    if (begins) {
        excess->cut = ((uint64_t)1 << trace->shift) - 1;
        excess->step = trace->shift != 0 ? ldexp(source->ns_per_tick, (int)trace->shift) : 0;
        excess->longest_step = fmax(excess->longest_step, excess->step);
    }
}

/* What a chunk's life can be off by. Traces of version 1 cut lives with their ends, but for the first; and where calls come thick
 * and fast the library counts most of them instead of reading the clock, which tells no less than a moment (meta/clock.h). */
static double step_of(const pfa_excess_t *excess, const pfa_chunk_row_t *row)
{
    if (((row->alloc_time | row->free_time) & excess->cut) == 0 && excess->step > MOMENT_NS) {
        return excess->step;
    }
    return row->life < COUNTED_CALLS ? MOMENT_NS : 0;
}

/* Routines are found by names, one at a time. */
static void meet(void *to, const pfa_kind_t *kind)
{
    pfa_excess_t *excess = to;
    if (!kind->live) {
        (void)pfa_routines_of_stack(&excess->callers.routines, kind->free_stack);
    }
}

static uint32_t take_kind(void *to, const pfa_kind_t *kind, double rows)
{
    pfa_excess_t *excess = to;
    uint32_t destroyer =
        kind->live ? PFA_ROUTINE_NEVER : pfa_routines_of_stack(&excess->callers.routines, kind->free_stack);
    pfa_cell_key_t key = {.size = kind->size,
                          .from = kind->stack,
                          .group = pfa_callers_are_routines(&excess->callers) ? 0 : kind->group,
                          .to = destroyer,
                          .source = kind->source->number};
    return pfa_objects_kind(&excess->objects, kind, &key, rows);
}

static void take_chunk(void *to, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    const pfa_excess_t *excess = to;
    pfa_objects_chunk(&excess->objects, kind, chunk, kind->live ? 0 : step_of(excess, chunk->row));
}

static void settle(void *to)
{
    pfa_excess_t *excess = to;
    pfa_objects_settle(&excess->objects);
}

static void take_fold(void *to, const pfa_source_t *source, uint32_t stack, uint32_t group, double chunks, double bytes)
{
    pfa_excess_t *excess = to;
    (void)source;
    (void)stack;
    (void)group;
    (void)bytes;
    excess->folded += chunks;
}

/* What was taken of a file that can no longer be read cannot be taken away again: all is collected anew. */
static int collect(pfa_excess_t *excess)
{
    pfa_look_t look = {.to = excess,
                       .meet = meet,
                       .lane_kind = take_kind,
                       .lane_chunk = take_chunk,
                       .settle = settle,
                       .source = begin_source,
                       .fold = take_fold};
    int error = 0;
    for (size_t sources = excess->query->source_count; error == 0; sources = excess->query->source_count) {
        pfa_objects_free(&excess->objects);
        pfa_objects_begin(&excess->objects, excess->query, excess->options->most_objects);
        excess->folded = excess->longest_step = 0;
        if (pfa_query_walk(excess->query, &look, "excess") == 0) {
            return 0;
        }
        error = pfa_answer_again(excess->query, sources);
    }
    return error;
}

static double least_lifetime(const pfa_query_t *query)
{
    double least = 1;
    for (size_t i = 0; i < query->source_count; i++) {
        least = fmax(least, query->sources[i].ns_per_tick);
    }
    return least;
}

/* Of objects whose destroyer is an allocation wrapper. */
static double hidden_chunks(const pfa_excess_t *excess)
{
    double hidden = 0;
    for (size_t i = 0; i < excess->objects.count; i++) {
        const pfa_object_t *object = &excess->objects.list[i];
        hidden += excess->callers.routines.list[object->destroyer].wrapper ? object->sum.chunks : 0;
    }
    return hidden;
}

/* What is good to know about the figures: about chunks, */
static void remark_chunks(pfa_excess_t *excess)
{
    pfa_notes_t *remarks = &excess->query->remarks;
    char text[PFA_NUMBER_TEXT];
    double hidden = hidden_chunks(excess);
    if (excess->longest_step > 1000) {
        pfa_notes_add(
            remarks,
            "times were written in steps of %s: mean lifetimes are right within what ± says of them, those of "
            "few chunks are rough; record with --conf time_step:1 for exact ones",
            pfa_text_duration(text, excess->longest_step));
    }
    if (excess->folded > 0) {
        pfa_notes_add(remarks, "%s death%s left out: known in sums only, without size and lifetime",
                      pfa_text_count(text, round(excess->folded)), excess->folded > 1 ? "s are" : " is");
    }
    if (hidden > 0) {
        pfa_notes_add(remarks,
                      "of %s chunk%s no more is known of who freed them than an allocation wrapper; record with a "
                      "larger --conf free_depth:N to see its callers",
                      pfa_text_count(text, round(hidden)), pfa_text_plural(round(hidden)));
    }
}

/* and about objects. */
static void remark_objects(pfa_excess_t *excess)
{
    pfa_notes_t *remarks = &excess->query->remarks;
    char text[PFA_NUMBER_TEXT];
    if (excess->objects.classes != PFA_SIZE_EXACT) {
        pfa_notes_add(remarks,
                      "stacks, sizes and destroyers come in more than %s ways (--max-objects): sizes are told %s",
                      pfa_text_count(text, (double)excess->options->most_objects),
                      excess->objects.classes == PFA_SIZE_POWERS ? "by powers of two"
                                                                 : "above 1,024 bytes by eighths of a power of two");
    }
    if (excess->k > 1 && excess->silhouettes[excess->k] < APART) {
        pfa_notes_add(
            remarks,
            "the clusters are hardly apart (silhouette %.2f, and 1 is best): which objects are in which says little",
            excess->silhouettes[excess->k]);
    }
}

/* A method tells objects from each other, and may miss what takes much of the run time all the same. */
static void remark_busiest(pfa_excess_t *excess)
{
    const pfa_excess_options_t *options = excess->options;
    char sizes[PFA_SIZES_TEXT];
    char text[PFA_NUMBER_TEXT];
    pfa_hit_t hit;
    bool judged = excess->k != 0 || excess->unit != NULL;
    if (!judged || excess->hit_count != 0 || !pfa_excess_busiest(excess, &hit)) {
        return;
    }
    double share = excess->run_ns > 0 ? pfa_excess_cost(excess, hit.sum.chunks) / excess->run_ns : 0;
    if (share > 0 && share >= options->min_share) {
        pfa_notes_add(
            &excess->query->remarks,
            "the most frequent chunks that live short (--max-life) are made by %s and freed by %s, %s times "
            "%s; calls for them take about %.3g %% of the run time, not less than %.3g %% (--min-share): look "
            "at them, even if this method does not tell them from the rest",
            pfa_callers_name(&excess->callers, hit.caller), excess->callers.routines.list[hit.destroyer].name,
            pfa_text_count(text, round(hit.sum.chunks)), pfa_text_sizes(sizes, hit.low, hit.high), 100 * share,
            100 * options->min_share);
    }
}

static void choose_pair(pfa_excess_t *excess)
{
    double all_ns;
    double measured = pfa_spent_pair_ns(excess->query, &all_ns);
    if (excess->options->pair_ns > 0) {
        excess->pair_ns = excess->options->pair_ns;
        excess->pair_from = PFA_PAIR_GIVEN;
    } else {
        excess->pair_ns = measured > 0 ? measured : USUAL_PAIR_NS;
        excess->pair_from = measured > 0 ? PFA_PAIR_MEASURED : PFA_PAIR_ASSUMED;
    }
}

static int fill(void *answer, const void *options)
{
    pfa_excess_t *excess = answer;
    pfa_query_t *query = &excess->answer.query;
    excess->options = options;
    excess->query = query;
    excess->callers.query = query;
    pfa_routines_begin(&excess->callers.routines, &query->stacks, &excess->options->wrappers);
    int error = collect(excess);
    if (error != 0) {
        return error;
    }
    excess->run_ns = query->run_ns - pfa_spent_recording_ns(query);
    choose_pair(excess);
    pfa_objects_finish(&excess->objects, &excess->callers, least_lifetime(query));
    pfa_excess_detect(excess);
    remark_chunks(excess);
    remark_objects(excess);
    remark_busiest(excess);
    return 0;
}

int pfa_excess_collect(pfa_session_t *session, const pfa_question_t *question, const pfa_excess_options_t *options,
                       pfa_excess_t **excess)
{
    void *answer;
    int error = pfa_answer_make(&answer, sizeof **excess, session, question, fill, options);
    *excess = answer;
    return error;
}

pfa_excess_options_t pfa_excess_options_standard(void)
{
    return (pfa_excess_options_t){.order = PFA_EXCESS_BY_frequency,
                                  .seed = 1,
                                  .mu = -1,
                                  .min_share = 0.03,
                                  .max_life = 0.1,
                                  .lines = USUAL_LINES,
                                  .most_objects = USUAL_OBJECTS};
}
