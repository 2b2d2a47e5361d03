/* Owns the verdicts on what was not freed, for advice. See analyze/advise/kept.h. */
#include "analyze/advise/kept.h"
#include "analyze/points/report.h"
#include "analyze/base/memory.h"

#include <math.h>
#include <stdlib.h>

/* Of a peak, or of a mebibyte if that is more: a point that keeps less is not worth a change, and so no walk. */
static const double worth_a_walk = 1e-4;

/* Which points are; NULL: none is. The caller frees it. */
static bool *find_wanted(const pfa_report_t *report)
{
    double least = worth_a_walk * fmax(report->peak.bytes, 1 << 20);
    bool *wanted = pfa_memory_get(report->point_count, sizeof *wanted);
    bool any = false;
    for (size_t i = 0; i < report->point_count; i++) {
        wanted[i] = report->points[i].kept.value >= least;
        any = any || wanted[i];
    }
    if (!any) {
        pfa_memory_free(wanted);
        wanted = NULL;
    }
    return wanted;
}

static void keep(pfa_report_t *report, const pfa_leaks_t *leaks, const pfa_leak_finding_t *finding)
{
    const pfa_survivors_t *survivors = leaks->families[finding->group].survivors;
    bool overdue = finding->siblings && finding->verdict == PFA_LEAK_VERDICT_LEAK;
    report->kept = pfa_memory_grow(report->kept, &report->kept_room, (size_t)finding->group + 1, sizeof *report->kept);
    report->kept[finding->group] = (pfa_kept_t){.verdict = finding->verdict,
                                                .reason = finding->reason,
                                                .sure = finding->sure,
                                                .chunks = overdue ? finding->overdue : survivors->chunks,
                                                .bytes = overdue ? finding->overdue_bytes : survivors->bytes,
                                                .rate = survivors->rate};
}

int pfa_kept_judge(pfa_report_t *report)
{
    bool *wanted = find_wanted(report);
    if (wanted == NULL) {
        return 0;
    }
    size_t sources = report->query->source_count;
    pfa_leaks_t leaks = {.wanted = wanted, .wanted_count = report->point_count};
    pfa_leaks_options_t options = {.limits = pfa_leak_limits_standard()};
    int error = pfa_leaks_fill(&leaks, report->query, &options);
    error = error == 0 && report->query->source_count != sources ? EAGAIN : error;
    if (error == 0) {
        pfa_leaks_conclude(&leaks, "leak");
        for (size_t i = 0; i < leaks.finding_count; i++) {
            keep(report, &leaks, &leaks.findings[i]);
        }
    }
    pfa_leaks_forget(&leaks);
    pfa_memory_free(wanted);
    return error;
}
