/* Owns the head of the report as text: the scores of the whole run, and the points that are worth a change most. */
#include "analyze/report/report.h"
#include "analyze/base/text.h"
#include "analyze/query/keys.h"

#include <math.h>
#include <stdio.h>

static const char *score(char text[PFA_NUMBER_TEXT], double value)
{
    snprintf(text, PFA_NUMBER_TEXT, isnan(value) ? "-" : "%.2f", value);
    return text;
}

static void print_scores(FILE *to, const pfa_report_t *report)
{
    static const char *const titles[PFA_SCORES] = {
        [PFA_SCORE_LIFETIME] = "lifetime", [PFA_SCORE_USAGE] = "usage", [PFA_SCORE_USEFUL] = "useful lifetime"};
    static const char *const meanings[PFA_SCORES] = {
        [PFA_SCORE_LIFETIME] = "how long chunks live, of the bursts they are allocated in",
        [PFA_SCORE_USAGE] = "how much of their bytes is both written and read",
        [PFA_SCORE_USEFUL] = "for how much of their lives they are in use"};
    fprintf(to, "\nScores, from 0 (bad) to 1 (good): geometric means over allocation points\n");
    for (int i = 0; i < PFA_SCORES; i++) {
        const pfa_score_total_t *total = &report->memoro.totals[i];
        char text[PFA_NUMBER_TEXT];
        if (total->points == 0) {
            fprintf(to, "  %-16s    -  not known: %s\n", titles[i],
                    i == PFA_SCORE_LIFETIME            ? "there is no chunk"
                    : report->memoro.blind_points != 0 ? "no code that allocates is instrumented"
                                                       : "what was done with the chunks is not recorded");
            continue;
        }
        fprintf(to, "  %-16s %4s  variance %.3f, %zu point%s: %s\n", titles[i], score(text, total->geometric),
                total->variance, total->points, pfa_text_plural((double)total->points), meanings[i]);
    }
    for (int i = 0; i < PFA_SCORES; i++) {
        const pfa_score_total_t *total = &report->memoro.totals[i];
        if (total->least != 0) {
            fprintf(to, "  note: %zu point%s with less than %.2f in %s count%s as %.2f\n", total->least,
                    pfa_text_plural((double)total->least), PFA_SCORE_LEAST, titles[i], total->least == 1 ? "s" : "",
                    PFA_SCORE_LEAST);
        }
    }
    if (report->memoro.blind_points != 0) {
        size_t blind = report->memoro.blind_points;
        fprintf(to,
                "  note: %zu point%s of code that is not instrumented %s in lifetime alone: what it does is not seen\n",
                blind, pfa_text_plural((double)blind), blind == 1 ? "counts" : "count");
    }
    if (report->memoro.sampled) {
        fprintf(to, "  note: of sampled chunks: bursts have wider gaps, so the lifetime score leans towards 1\n");
    }
}

static void print_findings(FILE *to, pfa_report_t *report, const pfa_findings_t *findings, size_t top)
{
    size_t most = top < PFA_FINDINGS_SHOWN ? top : PFA_FINDINGS_SHOWN;
    for (size_t i = 0, rank = 0; i < findings->worth && rank < most; i++) {
        if (!findings->list[i].other) {
            pfa_finding_print(to, report, findings, i, ++rank, findings->worth);
        }
    }
}

void pfa_score_text(FILE *to, pfa_report_t *report, size_t top)
{
    pfa_findings_t findings;
    if (report->tally.frees + report->tally.live_chunks <= 0) {
        return;
    }
    print_scores(to, report);
    if (report->query->key != NULL && report->query->key != &pfa_keys[0]) {
        return; /* what is to be changed is told by stack */
    }
    pfa_findings_make(&findings, report);
    if (findings.worth != 0) {
        fprintf(to, "\nWorth a change, by what it would save (profalloc advise has all of %zu)\n",
                pfa_findings_points(&findings, findings.worth));
    } else {
        fprintf(to, "\nNothing worth a change was found%s\n",
                report->has_accesses ? "" : "; what chunks were used for is not known");
    }
    print_findings(to, report, &findings, top);
    pfa_held_print(to, report);
    pfa_findings_free(&findings);
}
