/* Owns what the report says of scores, inferences and advice as JSON. docs/report-json.md describes it. */
#include "analyze/report/report.h"
#include "analyze/base/json.h"
#include "analyze/base/notes.h"
#include "analyze/base/text.h"
#include "analyze/query/keys.h"

void pfa_score_json(pfa_json_t *json, pfa_report_t *report)
{
    pfa_json_number(json, "group_ns", report->memoro.group_ns);
    pfa_json_begin(json, "scores", '{');
    for (int i = 0; i < PFA_SCORES; i++) {
        const pfa_score_total_t *total = &report->memoro.totals[i];
        pfa_json_begin(json, pfa_score_names[i], '{');
        pfa_json_number(json, "geometric_mean", total->geometric);
        pfa_json_number(json, "mean", total->mean);
        pfa_json_number(json, "variance", total->variance);
        pfa_json_whole(json, "points", total->points);
        pfa_json_whole(json, "raised", total->least);
        pfa_json_whole(json, "blind", i == PFA_SCORE_LIFETIME ? 0 : report->memoro.blind_points);
        pfa_json_end(json, '}');
    }
    pfa_json_end(json, '}');
}

void pfa_score_json_findings(pfa_json_t *json, pfa_report_t *report, size_t top)
{
    pfa_findings_t findings;
    size_t picked[PFA_FINDINGS_PICKED];
    if (report->query->key != NULL && report->query->key != &pfa_keys[0]) {
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
