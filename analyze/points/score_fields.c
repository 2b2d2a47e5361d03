/* Owns the scores that expressions ask for. See analyze/points/score_fields.h. */
#include "analyze/points/score_fields.h"
#include "analyze/base/memory.h"
#include "analyze/points/report.h"

#include <math.h>

static void fill_unknown(pfa_scored_t *scored)
{
    for (size_t i = 0; i < scored->room; i++) {
        for (size_t j = 0; j < PFA_ASKED_SCORES; j++) {
            scored->of[i][j] = NAN;
        }
    }
}

int pfa_points_score(pfa_query_t *query, pfa_scored_t *scored)
{
    static const pfa_order_t orders[PFA_ASKED_SCORES] = {[PFA_ASKED_LIFETIME] = PFA_BY_LIFETIME,
                                                         [PFA_ASKED_USAGE] = PFA_BY_USAGE,
                                                         [PFA_ASKED_USEFUL] = PFA_BY_USEFUL,
                                                         [PFA_ASKED_MEAN] = PFA_BY_SCORE,
                                                         [PFA_ASKED_SEVERITY] = PFA_BY_SEVERITY};
    pfa_report_t report = {.file_count = 0};
    pfa_points_options_t options = {.thresholds = pfa_thresholds_standard()};
    int error = pfa_points_fill(&report, query, &options, NULL);
    pfa_memory_free(scored->of);
    scored->room = query->stacks.count;
    scored->of = pfa_memory_get(scored->room, sizeof *scored->of);
    fill_unknown(scored);
    for (uint32_t i = 0; error == 0 && i < report.point_count; i++) {
        double *of = scored->of[pfa_query_group_stack(query, i)];
        for (size_t j = 0; j < PFA_ASKED_SCORES; j++) {
            of[j] = pfa_report_value(&report, i, orders[j]);
        }
    }
    pfa_points_forget(&report);
    return error;
}
