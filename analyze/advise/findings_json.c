/* Owns findings as JSON. docs/report-json.md describes them. */
#include "analyze/advise/findings.h"

#include <stdlib.h>

static void put_sentence(pfa_json_t *json, pfa_report_t *report, const pfa_finding_t *finding)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (to != NULL) {
        pfa_finding_sentence(to, finding, report);
        fclose(to);
        pfa_json_text(json, "sentence", text);
        free(text);
    }
}

static void put_gain(pfa_json_t *json, const pfa_finding_t *finding, bool sampled)
{
    pfa_json_number(json, "saves_bytes", finding->bytes);
    pfa_json_number(json, "saves_calls", finding->calls);
    pfa_json_number(json, "saves_ns", finding->ns);
    if (sampled) {
        pfa_json_begin(json, "within", '{');
        pfa_json_number(json, "saves_bytes", pfa_half_width(finding->bytes_variance));
        pfa_json_number(json, "saves_calls", pfa_half_width(finding->calls_variance));
        pfa_json_number(json, "saves_ns", pfa_half_width(finding->ns_variance));
        pfa_json_end(json, '}');
    }
}

void pfa_finding_json(pfa_json_t *json, pfa_report_t *report, const pfa_finding_t *finding)
{
    pfa_json_begin(json, NULL, '{');
    pfa_json_text(json, "advice", pfa_advice_names[finding->advice]);
    put_sentence(json, report, finding);
    put_gain(json, finding, report->query.sampled);
    pfa_json_number(json, "rank", finding->rank);
    pfa_json_text(json, "sure", pfa_sure_names[finding->sure]);
    pfa_json_text(json, "unsure", finding->unsure);
    pfa_json_number(json, "chunks", finding->chunks);
    pfa_json_number(json, "share", finding->share);
    pfa_json_begin(json, "points", '[');
    for (size_t i = 0; i < (finding->points != NULL ? finding->point_count : 1); i++) {
        uint32_t number = finding->points != NULL ? finding->points[i] : finding->point;
        pfa_json_begin(json, NULL, '{');
        pfa_report_json_point(json, report, number);
        pfa_json_end(json, '}');
    }
    pfa_json_end(json, ']');
    pfa_json_end(json, '}');
}
