/* Owns the forms of the analyses that tell all points, times and chunks. See tests/fuzz/forms.h. */
#include "tests/fuzz/forms.h"
#include "analyze/advise/findings.h"
#include "analyze/draw/flame_graph.h"
#include "analyze/draw/timeline_chart.h"
#include "analyze/mprof/mprof.h"
#include "analyze/report/report.h"
#include "tests/fuzz/walk.h"

#include <stdint.h>

enum { TOP = 5, BUCKETS = 60 };

/* Frees an answer of whatever kind, and hands on what came of it. */
static int finish(void *answer, int error)
{
    pfa_answer_free(answer);
    return error;
}

static int ask_advice(const pfa_fuzz_asked_t *asked, pfa_report_t **report)
{
    pfa_points_options_t options = {.thresholds = pfa_thresholds_standard()};
    return pfa_advice_collect(asked->session, asked->question, &options, report);
}

int pfa_fuzz_report_text(const pfa_fuzz_asked_t *asked)
{
    static const pfa_order_t orders[] = {PFA_BY_BYTES, PFA_BY_LIVE};
    pfa_report_t *report;
    int error = ask_advice(asked, &report);
    return finish(report, error != 0 ? error : pfa_report_text(report, TOP, orders, 2, asked->to));
}

/* Points alone, without what advice takes, with their sizes. */
int pfa_fuzz_report_json(const pfa_fuzz_asked_t *asked)
{
    pfa_points_options_t options = {.thresholds = pfa_thresholds_standard(), .sizes = true};
    pfa_report_t *report;
    int error = pfa_points_collect(asked->session, asked->question, &options, &report);
    return finish(report, error != 0 ? error : pfa_report_json(report, SIZE_MAX, PFA_BY_COUNT, asked->to));
}

int pfa_fuzz_advise_text(const pfa_fuzz_asked_t *asked)
{
    pfa_report_t *report;
    int error = ask_advice(asked, &report);
    return finish(report, error != 0 ? error : pfa_advice_text(report, 0, "calls", asked->to));
}

int pfa_fuzz_advise_json(const pfa_fuzz_asked_t *asked)
{
    pfa_report_t *report;
    int error = ask_advice(asked, &report);
    return finish(report, error != 0 ? error : pfa_advice_json(report, SIZE_MAX, NULL, asked->to));
}

static int ask_timeline(const pfa_fuzz_asked_t *asked, pfa_strand_sort_t sort, pfa_timeline_t **timeline)
{
    pfa_timeline_wishes_t wishes = {.buckets = BUCKETS, .top = TOP, .sort = sort};
    return pfa_timeline_collect(asked->session, asked->question, &wishes, timeline);
}

int pfa_fuzz_timeline_term(const pfa_fuzz_asked_t *asked)
{
    pfa_timeline_t *timeline;
    int error = ask_timeline(asked, PFA_STRANDS_BY_PEAK, &timeline);
    pfa_term_t term = {.width = PFA_TERM_WIDTH, .height = PFA_TERM_HEIGHT, .utf8 = true, .colour = true};
    return finish(timeline, error != 0 ? error : pfa_timeline_term(timeline, asked->to, &term, false, NULL));
}

int pfa_fuzz_timeline_svg(const pfa_fuzz_asked_t *asked)
{
    pfa_timeline_t *timeline;
    int error = ask_timeline(asked, PFA_STRANDS_BY_END, &timeline);
    return finish(timeline, error != 0 ? error : pfa_timeline_svg(timeline, asked->to, true, NULL));
}

int pfa_fuzz_timeline_csv(const pfa_fuzz_asked_t *asked)
{
    pfa_timeline_t *timeline;
    int error = ask_timeline(asked, PFA_STRANDS_BY_TOTAL, &timeline);
    return finish(timeline, error != 0 ? error : pfa_timeline_csv(timeline, asked->to, NULL));
}

int pfa_fuzz_timeline_json(const pfa_fuzz_asked_t *asked)
{
    pfa_timeline_t *timeline;
    int error = ask_timeline(asked, PFA_STRANDS_BY_NAME, &timeline);
    return finish(timeline, error != 0 ? error : pfa_timeline_json(timeline, asked->to));
}

static int ask_amounts(const pfa_fuzz_asked_t *asked, pfa_metric_t metric, pfa_amounts_t **amounts)
{
    pfa_amounts_options_t options = {.metric = metric, .at_ns = 1000};
    return pfa_amounts_collect(asked->session, asked->question, &options, amounts);
}

int pfa_fuzz_flame_folded(const pfa_fuzz_asked_t *asked)
{
    static const pfa_graph_look_t look = {.order = PFA_FRAMES_BY_NAME};
    pfa_amounts_t *amounts;
    int error = ask_amounts(asked, PFA_METRIC_BYTES, &amounts);
    return finish(amounts, error != 0 ? error : pfa_amounts_folded(amounts, &look, asked->to, NULL));
}

int pfa_fuzz_flame_peak(const pfa_fuzz_asked_t *asked)
{
    static const pfa_graph_look_t look = {.inverted = true};
    pfa_amounts_t *amounts;
    int error = ask_amounts(asked, PFA_METRIC_PEAK, &amounts);
    return finish(amounts, error != 0 ? error : pfa_amounts_folded(amounts, &look, asked->to, NULL));
}

int pfa_fuzz_flame_svg(const pfa_fuzz_asked_t *asked)
{
    static const pfa_graph_look_t look = {.inverted = false};
    pfa_amounts_t *amounts;
    int error = ask_amounts(asked, PFA_METRIC_COUNT, &amounts);
    return finish(amounts, error != 0 ? error : pfa_amounts_svg(amounts, &look, asked->to, NULL));
}

int pfa_fuzz_flame_wasted(const pfa_fuzz_asked_t *asked)
{
    pfa_amounts_t *amounts;
    int error = ask_amounts(asked, PFA_METRIC_WASTED, &amounts);
    return finish(amounts, error != 0 ? error : pfa_amounts_json(amounts, asked->to));
}

int pfa_fuzz_flame_at(const pfa_fuzz_asked_t *asked)
{
    pfa_amounts_t *amounts;
    int error = ask_amounts(asked, PFA_METRIC_AT, &amounts);
    return finish(amounts, error != 0 ? error : pfa_amounts_json(amounts, asked->to));
}

int pfa_fuzz_mprof_text(const pfa_fuzz_asked_t *asked)
{
    pfa_mprof_options_t options = {
        .verbosity = PFA_VERBOSE, .leak_table = true, .top = SIZE_MAX, .sort = PFA_SORT_NAME};
    pfa_mprof_t *mprof;
    int error = pfa_mprof_collect(asked->session, asked->question, &options, &mprof);
    return finish(mprof, error != 0 ? error : pfa_mprof_text(mprof, asked->to));
}

int pfa_fuzz_mprof_offsets(const pfa_fuzz_asked_t *asked)
{
    pfa_mprof_options_t options = {
        .verbosity = PFA_NORMAL, .leak_table = true, .offsets = true, .top = SIZE_MAX, .sort = PFA_SORT_PAPER};
    pfa_mprof_t *mprof;
    int error = pfa_mprof_collect(asked->session, asked->question, &options, &mprof);
    return finish(mprof, error != 0 ? error : pfa_mprof_text(mprof, asked->to));
}

int pfa_fuzz_mprof_json(const pfa_fuzz_asked_t *asked)
{
    pfa_mprof_options_t options = {.verbosity = PFA_NORMAL, .leak_table = true, .top = SIZE_MAX};
    pfa_mprof_t *mprof;
    int error = pfa_mprof_collect(asked->session, asked->question, &options, &mprof);
    return finish(mprof, error != 0 ? error : pfa_mprof_json(mprof, asked->to));
}

int pfa_fuzz_chunks(const pfa_fuzz_asked_t *asked)
{
    return pfa_fuzz_walk_asked(asked->session, asked->question, asked->to);
}
