/* Owns the collecting of a report: two or three walks through the chunks of a query. */
#include "analyze/points/report.h"
#include "analyze/base/memory.h"
#include "analyze/query/keys.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* While a report is collected. */
typedef struct adding {
    pfa_report_t *report;
    pfa_thread_total_t *threads; /* by number */
    size_t thread_room;
    uint32_t full;
    _Atomic bool touched; /* one of the source's chunks was */
} adding_t;

pfa_point_t *pfa_report_point(pfa_report_t *report, uint32_t group)
{
    report->points = pfa_memory_grow(report->points, &report->point_room, (size_t)group + 1, sizeof *report->points);
    report->point_count = group >= report->point_count ? (size_t)group + 1 : report->point_count;
    return &report->points[group];
}

static pfa_thread_total_t *find_thread(adding_t *adding, uint32_t number)
{
    adding->threads =
        pfa_memory_grow(adding->threads, &adding->thread_room, (size_t)number + 1, sizeof *adding->threads);
    return &adding->threads[number];
}

static void add_size(pfa_size_class_t sizes[PFA_SIZES], uint64_t size, double chunks)
{
    unsigned class = size == 0 ? 0 : 64 - (unsigned)__builtin_clzll(size);
    pfa_size_class_t *to = &sizes[class < PFA_SIZES ? class : PFA_SIZES - 1];
    to->chunks += chunks;
    to->bytes += chunks * (double)size;
}

void pfa_report_add_size(pfa_report_t *report, const pfa_kind_t *kind, pfa_sized_t which, double chunks)
{
    if (report->wants_point_sizes) {
        add_size(report->point_sizes[kind->group].of[which], kind->size, chunks);
    }
}

static void add_tally(pfa_tally_t *tally, double rows, double chunks, double bytes, bool live)
{
    *(live ? &tally->live_chunks : &tally->frees) += chunks;
    *(live ? &tally->live_bytes : &tally->bytes_freed) += bytes;
    *(live ? &tally->lives : &tally->deaths) += (uint64_t)rows;
}

/* What all groups have in common, in order. */
static void add_kind(void *to, const pfa_kind_t *kind, double rows)
{
    adding_t *adding = to;
    pfa_report_t *report = adding->report;
    double chunks = kind->weight * rows;
    double bytes = chunks * (double)kind->size;
    pfa_thread_total_t *thread = find_thread(adding, kind->thread);
    thread->allocations += chunks;
    thread->bytes += bytes;
    if (!kind->live) {
        find_thread(adding, kind->free_thread)->frees += chunks;
    }
    add_size(report->sizes, kind->size, chunks);
    add_tally(&report->tally, rows, chunks, bytes, kind->live);
    add_tally(&report->files[kind->source->number].tally, rows, chunks, bytes, kind->live);
}

static uint32_t add_kind_to_point(void *to, const pfa_kind_t *kind, double rows)
{
    const adding_t *adding = to;
    pfa_report_t *report = adding->report;
    pfa_point_t *point = &report->points[kind->group];
    double chunks = kind->weight * rows;
    double bytes = chunks * (double)kind->size;
    double variance = rows * kind->weight * (kind->weight - 1);
    double bytes_variance = variance * (double)kind->size * (double)kind->size;
    point->chunks_variance += variance;
    point->bytes_variance += bytes_variance;
    point->live_variance += kind->live ? bytes_variance : 0;
    point->live_chunks_variance += kind->live ? variance : 0;
    point->largest = kind->size > point->largest ? kind->size : point->largest;
    *(kind->live ? &point->live_chunks : &point->frees) += chunks;
    *(kind->live ? &point->live_bytes : &point->bytes_freed) += bytes;
    pfa_report_add_size(report, kind, PFA_SIZED_ALL, chunks);
    if (kind->live) {
        pfa_report_add_size(report, kind, PFA_SIZED_LIVE, chunks);
    }
    return 0;
}

static void add_fold(void *to, const pfa_source_t *source, uint32_t stack, uint32_t group, double chunks, double bytes)
{
    adding_t *adding = to;
    pfa_point_t *point = pfa_report_point(adding->report, group);
    (void)stack;
    point->frees += chunks;
    point->bytes_freed += bytes;
    add_tally(&adding->report->tally, 0, chunks, bytes, false);
    add_tally(&adding->report->files[source->number].tally, 0, chunks, bytes, false);
}

static void add_accesses(adding_t *adding, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    pfa_report_t *report = adding->report;
    if (pfa_sight_of(&report->memoro.sights, kind->stack) == PFA_SIGHT_BLIND) {
        report->accesses[kind->group].blind += kind->weight;
    } else {
        pfa_access_add(&report->accesses[kind->group], kind, chunk, adding->full);
    }
    if ((chunk->accesses->reads != 0 || chunk->accesses->writes != 0) &&
        !atomic_load_explicit(&adding->touched, memory_order_relaxed)) {
        atomic_store_explicit(&adding->touched, true, memory_order_relaxed);
    }
}

static void add_to_peak(void *to, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    const adding_t *adding = to;
    pfa_summit_add(adding->report->summit, kind, chunk);
}

static void add_chunk(void *to, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    adding_t *adding = to;
    if (chunk->accesses != NULL) {
        add_accesses(adding, kind, chunk);
    }
    pfa_memoro_add(&adding->report->memoro, kind, chunk);
}

static bool is_linked(void *to, const pfa_kind_t *kind)
{
    const adding_t *adding = to;
    return pfa_memoro_is_linked(&adding->report->memoro, kind);
}

static void add_linked(void *to, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    const adding_t *adding = to;
    pfa_memoro_add_linked(&adding->report->memoro, kind, chunk);
}

static void mark(void *to, const pfa_kind_t *kind)
{
    const adding_t *adding = to;
    pfa_memoro_mark(&adding->report->memoro, kind);
}

/* Whether what was done with chunks of a stack is seen is found out by names, one at a time. */
static void meet(void *to, const pfa_kind_t *kind)
{
    const adding_t *adding = to;
    if (kind->source->has_accesses) {
        (void)pfa_sight_of(&adding->report->memoro.sights, kind->stack);
    }
}

/* So that nothing moves while it is added to. */
static void make_room(void *to)
{
    const adding_t *adding = to;
    pfa_report_t *report = adding->report;
    size_t groups = pfa_query_groups(report->query);
    if (groups != 0) {
        (void)pfa_report_point(report, (uint32_t)(groups - 1));
    }
    if (report->wants_point_sizes) {
        report->point_sizes =
            pfa_memory_grow(report->point_sizes, &report->point_sizes_room, groups, sizeof *report->point_sizes);
    }
    if (report->query->has_accesses) {
        report->accesses = pfa_memory_grow(report->accesses, &report->access_room, groups, sizeof *report->accesses);
    }
    pfa_memoro_ready(&report->memoro, groups);
}

static void settle(void *to)
{
    const adding_t *adding = to;
    pfa_memoro_next(&adding->report->memoro);
}

static void settle_again(void *to)
{
    const adding_t *adding = to;
    pfa_memoro_next_again(&adding->report->memoro);
}

static bool may_be_copied(void *to, const pfa_kind_t *kind)
{
    const adding_t *adding = to;
    return pfa_copying_may(adding->report, kind);
}

static void add_copied(void *to, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    const adding_t *adding = to;
    if (pfa_summit_alive(adding->report->summit, kind, chunk)) {
        pfa_copying_add(adding->report, kind, chunk);
    }
}

static void add_at_peak(void *to, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    const adding_t *adding = to;
    if (adding->report->peak.bytes > 0) {
        pfa_at_peak_add(adding->report, kind, chunk);
    }
    pfa_memoro_add_again(&adding->report->memoro, kind, chunk);
}

/* Maps are by stack: there is no telling which of its words are of the chunks that were asked for. */
static void add_maps(pfa_report_t *report, const pfa_source_t *source, const pfa_trace_t *trace)
{
    for (size_t i = 0; i < trace->maps.count; i++) {
        pfa_kind_t kind = {
            .source = source,
            .stack = pfa_stacks_add(&report->query->stacks, trace, trace->maps.list[i].stack, source->stack_of)};
        uint32_t number = pfa_query_is_filtered(report->query) ? pfa_query_stack_group(report->query, kind.stack)
                                                               : pfa_groups_find(report->query, &kind, true);
        if (number == UINT32_MAX || pfa_sight_of(&report->memoro.sights, kind.stack) == PFA_SIGHT_BLIND) {
            continue;
        }
        (void)pfa_report_point(report, number);
        report->maps = pfa_memory_grow(report->maps, &report->map_room, (size_t)number + 1, sizeof *report->maps);
        pfa_map_add(&report->maps[number], &trace->maps.list[i]);
    }
}

static void add_threads(adding_t *adding, const pfa_source_t *source)
{
    pfa_report_t *report = adding->report;
    bool all = !pfa_query_is_filtered(report->query);
    for (uint32_t i = 0; all && i < source->thread_count; i++) {
        (void)find_thread(adding, i);
    }
    for (uint32_t i = 0; i < adding->thread_room; i++) {
        pfa_thread_total_t *thread = &adding->threads[i];
        if (i < source->thread_count) {
            thread->tid = source->threads[i].tid;
            memcpy(thread->name, source->threads[i].name, sizeof thread->name);
        }
        thread->number = i;
        thread->file = source->number;
        if ((all && thread->tid != 0) || thread->allocations > 0 || thread->frees > 0) {
            report->threads =
                pfa_memory_grow(report->threads, &report->thread_room, report->thread_count + 1, sizeof *thread);
            report->threads[report->thread_count++] = *thread;
        }
    }
    pfa_memory_free(adding->threads);
    adding->threads = NULL;
    adding->thread_room = 0;
}

static void see_first(void *to, const pfa_source_t *source, const pfa_trace_t *trace, bool begins)
{
    adding_t *adding = to;
    pfa_report_t *report = adding->report;
    pfa_summit_source(report->summit, source, trace, begins);
    if (begins) {
        adding->full = pfa_access_full(trace);
        adding->touched = false;
        return;
    }
    if (pfa_trace_has_accesses(trace) && (trace->counters.instrumented != 0 || adding->touched)) {
        report->has_accesses = true;
        report->unseen_code = report->unseen_code || !pfa_sight_is_whole(trace);
        report->maps_are_merged |= trace->maps.count != 0 && trace->counters.merged != 0;
        add_maps(report, source, trace);
    }
    add_threads(adding, source);
}

static void see_again(void *to, const pfa_source_t *source, const pfa_trace_t *trace, bool begins)
{
    const adding_t *adding = to;
    pfa_summit_source(adding->report->summit, source, trace, begins);
}

static bool find_peak(adding_t *adding)
{
    pfa_report_t *report = adding->report;
    pfa_look_t look = {.to = adding, .brief = true, .chunk = add_to_peak, .source = see_again};
    if (pfa_summit_again(report->summit) && pfa_query_walk(report->query, &look, "finding the peak") != 0) {
        return false;
    }
    report->peak = pfa_summit_finish(report->summit);
    for (size_t i = 0; i < report->file_count; i++) {
        report->files[i].peak = pfa_summit_of(report->summit, i, &report->files[i].peak_seconds);
    }
    return true;
}

static bool collect(pfa_report_t *report, const pfa_thresholds_t *thresholds, const pfa_points_beside_t *beside)
{
    adding_t adding = {.report = report};
    pfa_look_t first = {.to = &adding,
                        .accesses = true,
                        .plain = true,
                        .brief = true,
                        .meet = meet,
                        .ready = make_room,
                        .mark = mark,
                        .kind = add_kind,
                        .chunk = add_to_peak,
                        .beside = add_linked,
                        .is_beside = is_linked,
                        .lane_kind = add_kind_to_point,
                        .lane_chunk = add_chunk,
                        .settle = settle,
                        .source = see_first,
                        .fold = add_fold};
    pfa_look_t at_peak = {.to = &adding,
                          .plain = true,
                          .meet = meet,
                          .ready = make_room,
                          .beside = add_copied,
                          .is_beside = may_be_copied,
                          .lane_chunk = add_at_peak,
                          .settle = settle_again};
    report->file_count = report->query->source_count;
    report->files = pfa_memory_get(report->file_count, sizeof *report->files);
    report->summit = pfa_summit_new(report->query, true);
    pfa_memoro_begin(&report->memoro, report->query, thresholds);
    if (pfa_query_walk(report->query, &first, "reading") != 0 || !find_peak(&adding)) {
        pfa_memory_free(adding.threads);
        return false;
    }
    pfa_memoro_end(&report->memoro);
    at_peak.accesses = report->memoro.has_accesses;
    at_peak.next = beside != NULL ? beside->begin(beside->to, report) : NULL;
    if (pfa_query_walk(report->query, &at_peak, "looking at the peak") != 0) {
        return false;
    }
    pfa_copying_end(report);
    pfa_memoro_settle(&report->memoro);
    return true;
}

void pfa_points_forget(pfa_report_t *report)
{
    pfa_summit_free(report->summit);
    pfa_memoro_free(&report->memoro);
    for (size_t i = 0; i < report->map_room; i++) {
        pfa_memory_free(report->maps[i].counters);
    }
    pfa_memory_free(report->maps);
    pfa_memory_free(report->accesses);
    pfa_memory_free(report->files);
    pfa_memory_free(report->threads);
    pfa_memory_free(report->points);
    pfa_memory_free(report->point_sizes);
    pfa_memory_free(report->kept);
    for (size_t i = 0; i < report->formula_count; i++) {
        pfa_formula_free(report->formulas[i]);
    }
    pfa_memory_free(report->formulas);
    pfa_memory_free(report->copying.list);
    *report = (pfa_report_t){.answer = report->answer, .query = report->query};
}

/* EINVAL: one is wrong, which is said. */
static int parse_formulas(pfa_report_t *report, const pfa_points_options_t *options)
{
    report->formulas = pfa_memory_get(options->score_count, sizeof *report->formulas);
    for (size_t i = 0; i < options->score_count; i++) {
        char *why = NULL;
        report->formulas[i] = pfa_formula_parse(options->scores[i], pfa_order_names, PFA_ORDERS, &why);
        if (report->formulas[i] == NULL) {
            char *text = pfa_memory_format("--score: %s", why);
            pfa_session_say(report->query->session, text);
            pfa_memory_free(text);
            pfa_memory_free(why);
            return EINVAL;
        }
        report->formula_count++;
        for (size_t j = 0; j < i; j++) {
            if (strcmp(pfa_formula_name(report->formulas[j]), pfa_formula_name(report->formulas[i])) == 0) {
                pfa_session_say(report->query->session, "--score: two scores have the same name");
                return EINVAL;
            }
        }
    }
    return 0;
}

int pfa_points_fill(pfa_report_t *report, pfa_query_t *query, const pfa_points_options_t *options,
                    const pfa_points_beside_t *beside)
{
    int error = 0;
    for (size_t sources = query->source_count; error == 0; sources = query->source_count) {
        report->query = query;
        report->wants_point_sizes = options->sizes;
        error = parse_formulas(report, options);
        if (error != 0) {
            return error;
        }
        if (collect(report, &options->thresholds, beside)) {
            return 0;
        }
        pfa_points_forget(report); /* what was added cannot be taken away again */
        error = pfa_answer_again(query, sources);
    }
    return error;
}

static int fill(void *answer, const void *options)
{
    pfa_report_t *report = answer;
    return pfa_points_fill(report, &report->answer.query, options, NULL);
}

int pfa_points_collect(pfa_session_t *session, const pfa_question_t *question, const pfa_points_options_t *options,
                       pfa_report_t **report)
{
    void *answer;
    int error = pfa_answer_make(&answer, sizeof **report, session, question, fill, options);
    *report = answer;
    return error;
}
