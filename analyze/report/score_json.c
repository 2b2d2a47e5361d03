/* Owns what the report says of scores, inferences and advice as JSON. docs/report-json.md describes it. */
#include "analyze/advise/findings.h"
#include "analyze/base/json.h"
#include "analyze/base/notes.h"
#include "analyze/base/text.h"
#include "analyze/query/keys.h"

#include <math.h>

/* A number, or null if it is not known. */
static void put_known(pfa_json_t *json, const char *key, double value)
{
    if (isnan(value)) {
        pfa_json_text(json, key, NULL);
    } else {
        pfa_json_number(json, key, value);
    }
}

void pfa_score_json(pfa_json_t *json, pfa_report_t *report)
{
    pfa_json_number(json, "group_ns", report->memoro.group_ns);
    pfa_json_begin(json, "scores", '{');
    for (int i = 0; i < PFA_SCORES; i++) {
        const pfa_score_total_t *total = &report->memoro.totals[i];
        pfa_json_begin(json, pfa_score_names[i], '{');
        put_known(json, "geometric_mean", total->geometric);
        put_known(json, "mean", total->mean);
        put_known(json, "variance", total->variance);
        pfa_json_whole(json, "points", total->points);
        pfa_json_whole(json, "raised", total->least);
        pfa_json_whole(json, "blind", i == PFA_SCORE_LIFETIME ? 0 : report->memoro.blind_points);
        pfa_json_end(json, '}');
    }
    pfa_json_end(json, '}');
}

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

void pfa_score_json_point(pfa_json_t *json, const pfa_report_t *report, uint32_t number)
{
    if (number >= report->memoro.point_count || report->memoro.points[number].rows <= 0) {
        pfa_json_text(json, "scores", NULL);
        return;
    }
    const pfa_memoro_point_t *point = &report->memoro.points[number];
    pfa_json_begin(json, "scores", '{');
    for (int i = 0; i < PFA_SCORES; i++) {
        put_known(json, pfa_score_names[i], point->scores[i]);
    }
    pfa_json_end(json, '}');
    pfa_json_number(json, "blind", point->blind);
    pfa_json_number(json, "lifetime_ns", point->lives);
    pfa_json_whole(json, "groups", point->bursts.count);
    pfa_json_whole(json, "smallest", point->smallest);
    pfa_json_whole(json, "largest", point->largest);
    pfa_json_number(json, "own_peak_least", point->own_peak.least);
    pfa_json_number(json, "own_peak_most", point->own_peak.most);
    put_spare(json, report, number);
    put_inferences(json, report, point);
    put_runs(json, &point->growth);
}

void pfa_score_json_findings(pfa_json_t *json, pfa_report_t *report, size_t top)
{
    pfa_findings_t findings;
    size_t picked[PFA_FINDINGS_PICKED];
    if (report->query.key != NULL && report->query.key != &pfa_keys[0]) {
        pfa_json_text(json, "findings", NULL); /* what is to be changed is told by stack */
        return;
    }
    pfa_findings_make(&findings, report);
    size_t count = pfa_findings_pick(&findings, top, picked);
    pfa_json_begin(json, "findings", '[');
    for (size_t i = 0; i < count; i++) {
        pfa_finding_json(json, report, &findings.list[picked[i]]);
    }
    pfa_json_end(json, ']');
    pfa_findings_free(&findings);
}

void pfa_score_remarks(pfa_report_t *report)
{
    if (report->query.sampled) {
        pfa_notes_add(&report->query.remarks,
                      "chunks were sampled: how buffers grow is not seen, and nothing is said of "
                      "room to reserve");
    }
    const pfa_memoro_t *memoro = &report->memoro;
    if (memoro->group_ns > memoro->group_ns_asked) {
        char texts[3][PFA_NUMBER_TEXT];
        pfa_notes_add(&report->query.remarks,
                      "there are more than %s groups of chunks: births up to %s apart are one, not %s (--groups-most)",
                      pfa_text_count(texts[0], memoro->thresholds.groups_most), pfa_text_ns(texts[1], memoro->group_ns),
                      pfa_text_ns(texts[2], memoro->group_ns_asked));
    }
}
