/* Owns the making of a summary of traces: a report, whose points are called by their identities. */
#include "analyze/diff/summary.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/base/progress.h"
#include "analyze/leaks/leaks.h"
#include "analyze/names/identity.h"
#include "analyze/points/report.h"
#include "analyze/query/keys.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct collecting {
    pfa_report_t report;
    pfa_summary_t *summary;
    pfa_symbols_t *texts;
    double *leaked; /* bytes, by group, as far as there is room */
    size_t leaked_room;
} collecting_t;

static void fill_metrics(pfa_sums_t *sums, const pfa_point_t *point)
{
    sums->values[PFA_DIFF_METRIC_bytes] = point->bytes_freed + point->live_bytes;
    sums->values[PFA_DIFF_METRIC_count] = point->frees + point->live_chunks;
    sums->values[PFA_DIFF_METRIC_peak] = point->peak_bytes;
    sums->values[PFA_DIFF_METRIC_peak_count] = point->peak_chunks;
    sums->values[PFA_DIFF_METRIC_live] = point->live_bytes;
    sums->values[PFA_DIFF_METRIC_live_count] = point->live_chunks;
    sums->variances[PFA_DIFF_METRIC_bytes] = point->bytes_variance;
    sums->variances[PFA_DIFF_METRIC_count] = point->chunks_variance;
    sums->variances[PFA_DIFF_METRIC_peak] = point->peak_variance;
    sums->variances[PFA_DIFF_METRIC_peak_count] = point->peak_chunks_variance;
    sums->variances[PFA_DIFF_METRIC_live] = point->live_variance;
    sums->variances[PFA_DIFF_METRIC_live_count] = point->live_chunks_variance;
}

static void fill_scores(pfa_sums_t *sums, const pfa_memoro_t *memoro, uint32_t number)
{
    for (size_t i = 0; i < PFA_SCORES && number < memoro->point_count; i++) {
        const pfa_memoro_point_t *point = &memoro->points[number];
        if (point->rows > 0 && !isnan(point->scores[i])) {
            sums->scored[i] = point->scores[i] * sums->values[PFA_DIFF_METRIC_count];
            sums->scored_chunks[i] = sums->values[PFA_DIFF_METRIC_count];
        }
    }
}

/* Means of points are not those of the whole. */
static void fill_total_scores(pfa_sums_t *totals, const pfa_memoro_t *memoro)
{
    for (size_t i = 0; i < PFA_SCORES; i++) {
        bool known = memoro->totals[i].points != 0 && !isnan(memoro->totals[i].geometric);
        totals->scored[i] = known ? memoro->totals[i].geometric : 0;
        totals->scored_chunks[i] = known;
    }
}

/* Threads have other numbers in each run: "worker (1234) of a.pa" is "worker". */
static void cut_thread(char *name)
{
    char *at = strrchr(name, '(');
    if (at != NULL && at > name + 1 && at[-1] == ' ' && isdigit((unsigned char)at[1])) {
        at[-1] = '\0';
    }
}

/* "libfoo.so.1.2" and a file that was built in another folder are the same by their last names. */
static char *name_group(pfa_query_t *query, uint32_t group)
{
    const char *name = pfa_query_group_name(query, group);
    const char *key = query->key != NULL ? query->key->name : pfa_keys[0].name;
    const char *slash = strcmp(key, "file") == 0 || strcmp(key, "module") == 0 ? strrchr(name, '/') : NULL;
    name = slash != NULL ? slash + 1 : name;
    const char *version = strcmp(key, "module") == 0 ? strstr(name, ".so.") : NULL;
    char *text = pfa_memory_text(name, version != NULL ? (size_t)(version + 3 - name) : strlen(name));
    if (strcmp(key, "thread") == 0) {
        cut_thread(text);
    }
    return text;
}

static pfa_summary_point_t *put_group(collecting_t *collecting, uint32_t group, pfa_lines_t *lines)
{
    pfa_report_t *report = &collecting->report;
    bool by_stack = report->query->key == NULL || report->query->key == &pfa_keys[0];
    bool is_new;
    char *name = name_group(report->query, group);
    lines->count = 0;
    if (by_stack) {
        pfa_stacks_lines(&report->query->stacks, pfa_query_group_stack(report->query, group), lines);
    }
    uint64_t identity = by_stack ? pfa_identity_of_lines(lines) : pfa_identity_of_name(name);
    pfa_summary_point_t *point = pfa_summary_put(collecting->summary, identity, &is_new);
    if (is_new) {
        point->name = pfa_symbols_text(collecting->texts, name);
        point->kin = by_stack ? pfa_identity_kin(lines) : 0;
        pfa_summary_set_lines(point, lines, collecting->texts);
    }
    pfa_summary_add_places(point, by_stack ? pfa_identity_of_places(lines) : 0);
    pfa_memory_free(name);
    return point;
}

static void add_sizes(pfa_summary_point_t *point, const pfa_report_t *report, uint32_t number)
{
    static const uint32_t metrics[PFA_SIZED] = {[PFA_SIZED_ALL] = PFA_DIFF_METRIC_bytes,
                                                [PFA_SIZED_PEAK] = PFA_DIFF_METRIC_peak,
                                                [PFA_SIZED_LIVE] = PFA_DIFF_METRIC_live};
    for (unsigned i = 0; i < PFA_SIZED && number < report->point_sizes_room; i++) {
        for (uint32_t class = 0; class < PFA_SIZES; class ++) {
            const pfa_size_class_t *from = &report->point_sizes[number].of[i][class];
            if (from->chunks > 0) {
                (void)pfa_summary_add_sizes(
                    point, &(pfa_size_sum_t){
                               .metric = metrics[i], .class = class, .chunks = from->chunks, .bytes = from->bytes});
            }
        }
    }
}

static void add_points(collecting_t *collecting)
{
    pfa_report_t *report = &collecting->report;
    uint32_t *numbers = pfa_report_order(report, PFA_BY_BYTES); /* so that the largest stack of a point is the first */
    pfa_lines_t lines = {.list = NULL};
    pfa_progress_t progress;
    pfa_progress_begin(&progress, pfa_session_watch(report->query->session), "finding names", report->point_count);
    for (size_t i = 0; i < report->point_count; i++) {
        pfa_sums_t sums = {.values = {0}};
        fill_metrics(&sums, &report->points[numbers[i]]);
        fill_scores(&sums, &report->memoro, numbers[i]);
        sums.leaked = numbers[i] < collecting->leaked_room ? collecting->leaked[numbers[i]] : 0;
        if (sums.values[PFA_DIFF_METRIC_count] > 0) {
            pfa_summary_point_t *point = put_group(collecting, numbers[i], &lines);
            point->stacks++;
            pfa_sums_add(&point->sums, &sums);
            add_sizes(point, report, numbers[i]);
            pfa_sums_add(&collecting->summary->totals, &sums);
        }
        pfa_progress_step(&progress, 1);
    }
    fill_total_scores(&collecting->summary->totals, &report->memoro);
    collecting->summary->totals.values[PFA_DIFF_METRIC_peak] = report->peak.bytes;
    pfa_progress_end(&progress);
    pfa_lines_free(&lines);
    pfa_memory_free(numbers);
}

/* Its groups are those of the report, since the query is the same. */
static int judge_leaks(collecting_t *collecting)
{
    pfa_leaks_t leaks = {.wanted = NULL};
    pfa_leaks_options_t options = {.limits = pfa_leak_limits_standard()};
    int error = pfa_leaks_fill(&leaks, collecting->report.query, &options);
    if (error == 0) {
        pfa_leaks_conclude(&leaks, "leak");
        for (size_t i = 0; i < leaks.finding_count; i++) {
            const pfa_leak_finding_t *finding = &leaks.findings[i];
            collecting->leaked = pfa_memory_grow(collecting->leaked, &collecting->leaked_room,
                                                 (size_t)finding->group + 1, sizeof *collecting->leaked);
            collecting->leaked[finding->group] = finding->fails ? finding->leaked : 0;
        }
    }
    pfa_leaks_forget(&leaks);
    return error;
}

static void take_notes(pfa_summary_t *summary, pfa_query_t *query)
{
    FILE *to;
    pfa_memory_stream_t *stream = pfa_memory_stream_open(&to);
    pfa_query_tell(query, to);
    char *text = pfa_memory_stream_close(stream);
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (line[0] != '\0') {
            pfa_notes_add(&summary->notes, "%s", line);
        }
    }
    pfa_memory_free(text);
}

static void fill_facts(collecting_t *collecting)
{
    pfa_summary_t *summary = collecting->summary;
    pfa_query_t *query = collecting->report.query;
    summary->by = query->key != NULL ? query->key->name : pfa_keys[0].name;
    summary->where = pfa_symbols_text(collecting->texts, query->question != NULL ? query->question->text : "");
    summary->asked = pfa_where_identity(query->where);
    summary->complete = pfa_query_complete(query);
    pfa_query_missing(query, &summary->missing);
    summary->seconds = query->run_ns * 1e-9;
    summary->sample = 1;
    for (size_t i = 0; i < query->source_count; i++) {
        pfa_notes_add(&summary->files, "%s", query->sources[i].path);
        double sample = (double)query->sources[i].start.sample;
        summary->sample = sample > summary->sample ? sample : summary->sample;
    }
    take_notes(summary, query);
}

/* A file that could not be read, at first or later, would make what is compared mean nothing. */
static int error_of(pfa_trouble_t trouble)
{
    return trouble == PFA_TROUBLE_NO_TRACE  ? PFA_ANSWER_NO_TRACE
           : trouble == PFA_TROUBLE_READING ? PFA_ANSWER_READING
                                            : 0;
}

int pfa_summary_collect(pfa_summary_t *summary, pfa_session_t *session, const pfa_question_t *question, bool with_leaks,
                        pfa_symbols_t *texts)
{
    pfa_query_t query;
    collecting_t collecting = {.summary = summary, .texts = texts};
    pfa_points_options_t options = {.thresholds = pfa_thresholds_standard(), .sizes = true};
    *summary = (pfa_summary_t){.sample = 1};
    if (pfa_session_traces(session) == 0) {
        return PFA_ANSWER_NO_TRACE;
    }
    pfa_query_open(&query, session, question);
    int error = pfa_points_fill(&collecting.report, &query, &options, NULL);
    error = error != 0 ? error : error_of(query.trouble);
    error = error == 0 && with_leaks ? judge_leaks(&collecting) : error;
    error = error != 0 ? error : error_of(query.trouble);
    if (error == 0) {
        add_points(&collecting);
        fill_facts(&collecting);
    }
    pfa_memory_free(collecting.leaked);
    pfa_points_forget(&collecting.report);
    pfa_query_close(&query);
    return error;
}
