/* Owns an allocation point as JSON: totals, scores, accesses and its stack. docs/report-json.md describes it. */
#include "analyze/points/report.h"
#include "analyze/base/json.h"
#include "analyze/base/text.h"
#include "analyze/names/place.h"
#include "analyze/query/keys.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Bytes at the peak that need not have been there. */
static void put_spare(pfa_json_t *json, const pfa_report_t *report, uint32_t number)
{
    if (report->memoro.points[number].told_chunks <= 0) {
        pfa_json_text(json, "spare_at_peak", NULL);
        return;
    }
    pfa_json_begin(json, "spare_at_peak", '{');
    for (int i = 0; i < PFA_SPARES; i++) {
        pfa_json_number(json, pfa_spare_names[i], report->points[number].spare[i].value);
    }
    pfa_json_end(json, '}');
}

static void put_runs(pfa_json_t *json, const pfa_growth_t *growth)
{
    const pfa_run_t *longest = &growth->longest;
    if (growth->runs <= 0) {
        pfa_json_text(json, "runs", NULL);
        return;
    }
    pfa_json_begin(json, "runs", '{');
    pfa_json_number(json, "runs", growth->runs);
    pfa_json_number(json, "chunks", growth->chunks);
    pfa_json_number(json, "bytes", growth->bytes);
    pfa_json_number(json, "bytes_copied", growth->copied);
    pfa_json_number(json, "final_bytes", growth->final_most);
    pfa_json_number(json, "final_bytes_90", pfa_growth_final(growth, 0.9));
    pfa_json_whole(json, "longest", longest->length);
    pfa_json_bool(json, "by_realloc", longest->by_realloc);
    pfa_json_begin(json, "sizes", '[');
    for (uint32_t i = 0; i < longest->length && i < PFA_RUN_SIZES; i++) {
        pfa_json_whole(json, NULL, longest->sizes[i]);
    }
    pfa_json_end(json, ']');
    pfa_json_end(json, '}');
}

static void put_inferences(pfa_json_t *json, const pfa_report_t *report, const pfa_memoro_point_t *point)
{
    pfa_json_begin(json, "inferences", '{');
    for (int i = 0; i < PFA_INFERENCES; i++) {
        pfa_share_t share = pfa_memoro_share(point, (pfa_inference_t)i);
        if (isnan(share.chunks)) {
            continue;
        }
        pfa_json_begin(json, pfa_inference_texts[i].name, '{');
        pfa_json_number(json, "chunks", share.chunks);
        pfa_json_number(json, "bytes", share.bytes);
        pfa_json_bool(json, "flagged", pfa_memoro_is_flagged(&report->memoro, point, (pfa_inference_t)i));
        pfa_json_end(json, '}');
    }
    pfa_json_bool(json, "top_bytes", point->top_bytes);
    pfa_json_bool(json, "top_chunks", point->top_chunks);
    pfa_json_end(json, '}');
}

static void put_scores(pfa_json_t *json, const pfa_report_t *report, uint32_t number)
{
    if (number >= report->memoro.point_count || report->memoro.points[number].rows <= 0) {
        pfa_json_text(json, "scores", NULL);
        return;
    }
    const pfa_memoro_point_t *point = &report->memoro.points[number];
    pfa_json_begin(json, "scores", '{');
    for (int i = 0; i < PFA_SCORES; i++) {
        pfa_json_number(json, pfa_score_names[i], point->scores[i]);
    }
    pfa_json_end(json, '}');
    double severity = pfa_memoro_severity(point);
    pfa_json_number(json, "score", pfa_memoro_mean(point));
    pfa_json_number(json, "severity", severity);
    pfa_json_text(json, "severity_colour", isnan(severity) ? NULL : pfa_severity_colour((unsigned)severity));
    pfa_json_number(json, "blind", point->blind);
    pfa_json_number(json, "lifetime_ns", point->lives);
    pfa_json_whole(json, "groups", point->bursts.closed.groups);
    pfa_json_whole(json, "smallest", point->smallest);
    pfa_json_whole(json, "largest", point->largest);
    pfa_json_number(json, "own_peak_least", point->own_peak.least);
    pfa_json_number(json, "own_peak_most", point->own_peak.most);
    put_spare(json, report, number);
    put_inferences(json, report, point);
    put_runs(json, &point->growth);
}

void pfa_access_total_json(pfa_json_t *json, const pfa_access_total_t *total, double chunks)
{
    pfa_json_begin(json, "accesses", '{');
    pfa_json_number(json, "chunks", total->chunks);
    pfa_json_number(json, "blind", total->blind);
    pfa_json_number(json, "unknown", pfa_access_unknown(total, chunks));
    pfa_json_number(json, "bytes", total->bytes);
    pfa_json_number(json, "bytes_touched", total->bytes_touched);
    pfa_json_number(json, "reads", total->reads);
    pfa_json_number(json, "writes", total->writes);
    pfa_json_number(json, "saturated", total->saturated);
    pfa_json_number(json, "never_read", total->never_read);
    pfa_json_number(json, "never_written", total->never_written);
    pfa_json_number(json, "never_touched", total->never_touched);
    pfa_json_number(json, "never_touched_bytes", total->untouched_bytes);
    pfa_json_number(json, "written_never_read", total->unread_chunks);
    pfa_json_number(json, "written_never_read_bytes", total->unread_bytes);
    pfa_json_number(json, "shared", total->shared);
    pfa_json_number(json, "lifetime_ns", total->lifetime);
    pfa_json_number(json, "idle_before_first_ns", total->idle_before);
    pfa_json_number(json, "idle_after_last_ns", total->idle_after);
    pfa_json_end(json, '}');
}

static void put_map(pfa_json_t *json, const pfa_map_t *map, uint32_t words)
{
    pfa_json_begin(json, "map", '[');
    for (uint32_t i = 0; i < words; i++) {
        pfa_json_begin(json, NULL, '{');
        pfa_json_whole(json, "offset", 8 * (uint64_t)i);
        pfa_json_whole(json, "reads", map->counters[i]);
        pfa_json_whole(json, "writes", map->counters[map->words + i]);
        pfa_json_end(json, '}');
    }
    pfa_json_end(json, ']');
}

static void put_accesses(pfa_json_t *json, const pfa_report_t *report, uint32_t number)
{
    const pfa_point_t *point = &report->points[number];
    const pfa_map_t *map = pfa_report_map(report, number);
    if (!report->has_accesses) {
        pfa_json_text(json, "accesses", NULL);
        return;
    }
    pfa_access_total_json(json, pfa_report_access(report, number), point->frees + point->live_chunks);
    if (map != NULL) {
        put_map(json, map, pfa_report_map_words(report, number));
    }
}

static bool is_by_stack(const pfa_report_t *report)
{
    return report->query->key == NULL || report->query->key == &pfa_keys[0];
}

void pfa_point_within_json(pfa_json_t *json, const pfa_point_t *point)
{
    pfa_json_begin(json, "within", '{');
    pfa_json_number(json, "allocations", pfa_half_width(point->chunks_variance));
    pfa_json_number(json, "bytes", pfa_half_width(point->bytes_variance));
    pfa_json_number(json, "live_chunks", pfa_half_width(point->live_chunks_variance));
    pfa_json_number(json, "live_bytes", pfa_half_width(point->live_variance));
    pfa_json_number(json, "peak_chunks", pfa_half_width(point->peak_chunks_variance));
    pfa_json_number(json, "peak_bytes", pfa_half_width(point->peak_variance));
    pfa_json_end(json, '}');
}

static void put_custom(pfa_json_t *json, const pfa_report_t *report, uint32_t number)
{
    pfa_json_begin(json, "custom_scores", '{');
    for (size_t i = 0; i < report->formula_count; i++) {
        pfa_json_number(json, pfa_formula_name(report->formulas[i]),
                        pfa_report_value(report, number, (pfa_order_t)(PFA_ORDERS + i)));
    }
    pfa_json_end(json, '}');
}

void pfa_point_json(pfa_json_t *json, pfa_report_t *report, uint32_t number)
{
    const pfa_point_t *point = &report->points[number];
    char id[24];
    snprintf(id, sizeof id, "%016" PRIx64, pfa_report_point_hash(report, number));
    pfa_json_text(json, "id", is_by_stack(report) ? id : NULL);
    pfa_json_text(json, "name", pfa_query_group_name(report->query, number));
    pfa_json_number(json, "allocations", point->frees + point->live_chunks);
    pfa_json_number(json, "frees", point->frees);
    pfa_json_number(json, "bytes", point->bytes_freed + point->live_bytes);
    pfa_json_number(json, "bytes_freed", point->bytes_freed);
    pfa_json_number(json, "live_chunks", point->live_chunks);
    pfa_json_number(json, "live_bytes", point->live_bytes);
    pfa_json_number(json, "peak_chunks", point->peak_chunks);
    pfa_json_number(json, "peak_bytes", point->peak_bytes);
    if (report->query->sampled) {
        pfa_point_within_json(json, point);
    }
    put_scores(json, report, number);
    if (report->formula_count != 0) {
        put_custom(json, report, number);
    }
    put_accesses(json, report, number);
    if (is_by_stack(report)) {
        pfa_lines_t lines = {.list = NULL};
        pfa_stacks_lines(&report->query->stacks, pfa_query_group_stack(report->query, number), &lines);
        pfa_place_json(json, &lines);
        pfa_lines_free(&lines);
    }
}
