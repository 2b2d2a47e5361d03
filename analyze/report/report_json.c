/* Owns the report as JSON, for programs. docs/report-json.md describes it; a change of meaning is a new version. */
#include "analyze/base/json.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/base/progress.h"
#include "analyze/base/text.h"
#include "analyze/names/place.h"
#include "analyze/report/report.h"
#include "analyze/query/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 3 };

static void put_totals(pfa_json_t *json, const pfa_tally_t *tally)
{
    pfa_json_begin(json, "totals", '{');
    pfa_json_number(json, "allocations", tally->frees + tally->live_chunks);
    pfa_json_number(json, "frees", tally->frees);
    pfa_json_number(json, "bytes_allocated", tally->bytes_freed + tally->live_bytes);
    pfa_json_number(json, "bytes_freed", tally->bytes_freed);
    pfa_json_end(json, '}');
    pfa_json_begin(json, "live", '{');
    pfa_json_number(json, "chunks", tally->live_chunks);
    pfa_json_number(json, "bytes", tally->live_bytes);
    pfa_json_end(json, '}');
}

/* Of a file, or of all. */
typedef struct peak {
    pfa_peak_result_t result;
    bool one; /* at one time */
    bool exact;
    double seconds;
    uint64_t counted;
} peak_t;

static void put_peak(pfa_json_t *json, const peak_t *peak)
{
    pfa_json_begin(json, "peak", '{');
    pfa_json_number(json, "bytes", peak->result.bytes);
    if (peak->one) {
        pfa_json_number(json, "time", peak->seconds);
    } else {
        pfa_json_text(json, "time", NULL);
    }
    pfa_json_bool(json, "exact", peak->exact && peak->one && peak->result.at_most <= peak->result.bytes);
    pfa_json_number(json, "at_most", peak->result.at_most);
    if (peak->counted > 0) {
        pfa_json_number(json, "counted", (double)peak->counted);
    } else {
        pfa_json_text(json, "counted", NULL);
    }
    pfa_json_end(json, '}');
}

static bool is_exact(const pfa_source_t *source)
{
    return source->folded == 0 && !source->running;
}

static void put_file_peak(pfa_json_t *json, const pfa_report_t *report, size_t number)
{
    const pfa_file_total_t *file = &report->files[number];
    const pfa_source_t *source = &report->query->sources[number];
    put_peak(json, &(peak_t){.result = file->peak,
                             .one = true,
                             .exact = is_exact(source),
                             .seconds = file->peak_seconds,
                             .counted = !pfa_query_is_filtered(report->query) ? source->counters.peak_bytes : 0});
}

static void put_all_peak(pfa_json_t *json, const pfa_report_t *report)
{
    if (report->query->source_count == 1) {
        put_file_peak(json, report, 0);
        return;
    }
    peak_t peak = {.result = {.bytes = report->peak.bytes, .at_most = report->peak.at_most},
                   .one = report->peak.one,
                   .exact = true};
    peak.seconds = peak.one ? report->peak.seconds : 0;
    for (size_t i = 0; i < report->query->source_count; i++) {
        peak.exact = peak.exact && is_exact(&report->query->sources[i]);
    }
    put_peak(json, &peak);
}

static void put_spent(pfa_json_t *json, const pfa_spent_t *spent)
{
    if (spent->files == 0) {
        pfa_json_text(json, "allocation_time", NULL);
        return;
    }
    pfa_json_begin(json, "allocation_time", '{');
    pfa_json_number(json, "seconds", spent->seconds);
    pfa_json_number(json, "error", pfa_spent_error(spent));
    pfa_json_number(json, "allocations", spent->allocations);
    pfa_json_number(json, "frees", spent->frees);
    pfa_json_number(json, "waited", spent->waited);
    pfa_json_begin(json, "own", '{');
    pfa_json_number(json, "seconds", spent->own);
    pfa_json_number(json, "error", pfa_spent_own_error(spent));
    pfa_json_end(json, '}');
    pfa_json_number(json, "of", spent->recorded);
    pfa_json_whole(json, "calls", spent->calls);
    pfa_json_whole(json, "measured", spent->measured);
    pfa_json_whole(json, "capped", spent->capped);
    pfa_json_whole(json, "files", spent->files);
    pfa_json_end(json, '}');
}

static void put_file_spent(pfa_json_t *json, const pfa_report_t *report, size_t number)
{
    pfa_spent_t spent = {.files = 0};
    (void)pfa_report_file_spent(report, number, &spent);
    put_spent(json, &spent);
}

static void put_all_spent(pfa_json_t *json, const pfa_report_t *report)
{
    pfa_spent_t spent = {.files = 0};
    (void)pfa_report_spent(report, &spent);
    put_spent(json, &spent);
}

static void put_files(pfa_json_t *json, const pfa_report_t *report)
{
    pfa_json_begin(json, "files", '[');
    for (size_t i = 0; i < report->query->source_count; i++) {
        const pfa_source_t *file = &report->query->sources[i];
        pfa_json_begin(json, NULL, '{');
        pfa_json_text(json, "path", file->path);
        pfa_json_text(json, "program", file->program);
        pfa_json_text(json, "command", file->command);
        pfa_json_whole(json, "pid", file->start.pid);
        pfa_json_whole(json, "parent_pid", file->start.parent_pid);
        pfa_json_bool(json, "forked", file->start.origin == PFA_ORIGIN_FORK);
        pfa_json_number(json, "started", (double)file->start.unix_ns * 1e-9);
        pfa_json_number(json, "seconds", (file->end_ns - file->start_ns) * 1e-9);
        pfa_json_whole(json, "sample", file->start.sample);
        pfa_json_text(json, "end", file->ending);
        put_totals(json, &report->files[i].tally);
        put_file_peak(json, report, i);
        put_file_spent(json, report, i);
        pfa_json_whole(json, "folded", file->folded);
        pfa_json_whole(json, "instrumented", file->counters.instrumented);
        pfa_json_whole(json, "merged", file->counters.merged);
        pfa_json_notes(json, "missing", &file->missing);
        pfa_json_notes(json, "remarks", &file->remarks);
        pfa_json_end(json, '}');
    }
    pfa_json_end(json, ']');
}

static void put_points(pfa_json_t *json, pfa_report_t *report, size_t top, pfa_order_t order)
{
    uint32_t *numbers = pfa_report_order(report, order);
    pfa_progress_t progress;
    pfa_progress_begin(&progress, pfa_session_watch(report->query->session), "finding names", report->point_count);
    pfa_json_begin(json, "points", '[');
    for (size_t i = 0; i < report->point_count && i < top; i++) {
        const pfa_point_t *point = &report->points[numbers[i]];
        if (point->frees + point->live_chunks > 0 || pfa_report_map(report, numbers[i]) != NULL) {
            pfa_json_begin(json, NULL, '{');
            pfa_point_json(json, report, numbers[i]);
            pfa_json_end(json, '}');
        }
        pfa_progress_step(&progress, 1);
    }
    pfa_json_end(json, ']');
    pfa_progress_end(&progress);
    pfa_memory_free(numbers);
}

static void put_threads(pfa_json_t *json, const pfa_report_t *report)
{
    pfa_json_begin(json, "threads", '[');
    for (size_t i = 0; i < report->thread_count; i++) {
        const pfa_thread_total_t *thread = &report->threads[i];
        pfa_json_begin(json, NULL, '{');
        pfa_json_whole(json, "file", thread->file);
        pfa_json_whole(json, "number", thread->number);
        pfa_json_whole(json, "tid", thread->tid);
        pfa_json_text(json, "name", thread->name);
        pfa_json_number(json, "allocations", thread->allocations);
        pfa_json_number(json, "bytes", thread->bytes);
        pfa_json_number(json, "frees", thread->frees);
        pfa_json_end(json, '}');
    }
    pfa_json_end(json, ']');
}

static void put_sizes(pfa_json_t *json, const pfa_report_t *report)
{
    pfa_json_begin(json, "sizes", '[');
    for (unsigned i = 0; i < PFA_SIZES; i++) {
        if (report->sizes[i].chunks > 0) {
            pfa_json_begin(json, NULL, '{');
            pfa_json_whole(json, "from", i == 0 ? 0 : (uint64_t)1 << (i - 1));
            pfa_json_whole(json, "to", i == 0 ? 0 : ((uint64_t)1 << i) - 1);
            pfa_json_number(json, "chunks", report->sizes[i].chunks);
            pfa_json_number(json, "bytes", report->sizes[i].bytes);
            pfa_json_end(json, '}');
        }
    }
    pfa_json_end(json, ']');
}

static void put_all(FILE *to, pfa_report_t *report, size_t top, pfa_order_t order)
{
    pfa_json_t json = {.to = to};
    pfa_json_begin(&json, NULL, '{');
    pfa_json_text(&json, "schema", "profalloc-report");
    pfa_json_whole(&json, "version", VERSION);
    put_files(&json, report);
    pfa_query_complete_json(report->query, &json);
    put_totals(&json, &report->tally);
    put_all_peak(&json, report);
    put_all_spent(&json, report);
    if (report->query->sampled) {
        pfa_point_t sum = pfa_report_sum(report);
        pfa_point_within_json(&json, &sum);
    }
    pfa_score_json(&json, report);
    pfa_score_json_findings(&json, report, top);
    pfa_access_json(&json, report);
    put_points(&json, report, top, order);
    put_threads(&json, report);
    put_sizes(&json, report);
    pfa_query_gather(report->query);
    pfa_access_json_remarks(report);
    pfa_json_notes(&json, "remarks", &report->query->remarks);
    pfa_json_end(&json, '}');
}

typedef struct writing {
    FILE *to;
    size_t top;
    pfa_order_t order;
} writing_t;

static void write_json(void *answer, void *to)
{
    const writing_t *writing = to;
    put_all(writing->to, answer, writing->top, writing->order);
}

int pfa_report_json(pfa_report_t *report, size_t top, pfa_order_t order, FILE *to)
{
    writing_t writing = {.to = to, .top = top, .order = order};
    return pfa_answer_write(report, write_json, &writing);
}
