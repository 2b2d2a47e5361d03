/* Owns the verdicts on what was not freed, for advice. See analyze/advise/kept.h. */
#include "analyze/advise/kept.h"
#include "analyze/points/report.h"
#include "analyze/base/memory.h"

#include <math.h>
#include <stdlib.h>

/* Of a peak, or of a mebibyte if that is more: a point that keeps less is not worth a change. */
static double worth_a_change(const pfa_report_t *report)
{
    return 1e-4 * fmax(report->peak.bytes, 1 << 20);
}

/* Which points may have kept that much, if any: a point is judged by its own chunks. What was kept at the peak is alive at the end. */
static void find_wanted(pfa_kept_judge_t *judge, const pfa_report_t *report)
{
    double least = worth_a_change(report);
    judge->wanted = pfa_memory_get(report->point_count, sizeof *judge->wanted);
    for (size_t i = 0; i < report->point_count; i++) {
        judge->wanted[i] = report->points[i].live_bytes >= least;
        judge->judges = judge->judges || judge->wanted[i];
    }
    judge->leaks.wanted = judge->wanted;
    judge->leaks.wanted_count = report->point_count;
}

static void forget(pfa_kept_judge_t *judge)
{
    pfa_leaks_forget(&judge->leaks);
    pfa_memory_free(judge->wanted);
    *judge = (pfa_kept_judge_t){.judges = false};
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

const pfa_look_t *pfa_kept_begin(void *to, pfa_report_t *report)
{
    pfa_kept_judge_t *judge = to;
    pfa_leaks_options_t options = {.limits = pfa_leak_limits_standard()};
    const pfa_look_t *look = NULL;
    forget(judge);
    find_wanted(judge, report);
    if (judge->judges) {
        (void)pfa_leaks_begin(&judge->leaks, report->query, &options,
                              &look); /* without suppressions nothing can be wrong */
    }
    return look;
}

void pfa_kept_end(pfa_kept_judge_t *judge, pfa_report_t *report)
{
    pfa_leaks_t *leaks = &judge->leaks;
    if (!judge->judges) {
        forget(judge);
        return;
    }
    pfa_leaks_end(leaks);
    pfa_leaks_conclude(leaks, "leak");
    for (size_t i = 0; i < leaks->finding_count; i++) {
        if (report->points[leaks->findings[i].group].kept.value >= worth_a_change(report)) {
            keep(report, leaks, &leaks->findings[i]);
        }
    }
    forget(judge);
}
