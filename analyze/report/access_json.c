/* Owns what the report says of accesses as JSON. docs/report-json.md describes it. */
#include "analyze/report/report.h"
#include "analyze/base/json.h"
#include "analyze/base/notes.h"

void pfa_access_json(pfa_json_t *json, const pfa_report_t *report)
{
    if (!report->has_accesses) {
        pfa_json_text(json, "accesses", NULL);
        return;
    }
    pfa_access_total_t all = pfa_report_all_accesses(report);
    pfa_access_total_json(json, &all, report->tally.frees + report->tally.live_chunks);
}

void pfa_access_json_remarks(pfa_report_t *report)
{
    if (report->maps_are_merged) {
        pfa_notes_add(&report->query->remarks, PFA_MERGED_WHAT ", so that " PFA_MERGED_WORDS "; " PFA_MERGED_HELP);
    }
}
