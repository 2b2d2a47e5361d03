/* Owns what options mean to each analysis, and has it asked. */
#include "analyze/api/api.h"
#include "analyze/advise/findings.h"
#include "analyze/query/keys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { BUCKETS = 200, BUCKETS_MOST = 100000, STRANDS = 10 };

/* The number of a word, of those that the analysis knows, or without one 0, the first. -1: it is none of them, which is said. */
static int find_word(const profalloc_session_t *session, const profalloc_answer_t *answer, profalloc_list_t list,
                     const char *word)
{
    int found = word != NULL ? pfa_api_find_word(list, answer->analysis, word) : 0;
    if (found < 0) {
        (void)pfa_api_refuse(session, "%s: '%.60s' is none that this analysis knows",
                             list == PROFALLOC_SORTS ? "sort" : "metric", word);
    }
    return found;
}

static int ask_timeline(profalloc_session_t *session, const pfa_question_t *question,
                        const profalloc_ask_options_t *options, profalloc_answer_t *answer)
{
    int sort = find_word(session, answer, PROFALLOC_SORTS, options->sort);
    pfa_timeline_wishes_t wishes = {.buckets = options->buckets != 0 ? options->buckets : BUCKETS,
                                    .top = options->top != 0 ? options->top : STRANDS,
                                    .sort = (pfa_strand_sort_t)sort};
    if (options->buckets > BUCKETS_MOST) {
        return pfa_api_refuse(session, "buckets: there may be %d at most, not %zu", BUCKETS_MOST, options->buckets);
    }
    return sort < 0 ? EINVAL : pfa_timeline_collect(session->session, question, &wishes, &answer->of.timeline);
}

static int ask_flame(profalloc_session_t *session, const pfa_question_t *question,
                     const profalloc_ask_options_t *options, profalloc_answer_t *answer)
{
    int sort = find_word(session, answer, PROFALLOC_SORTS, options->sort);
    int metric = find_word(session, answer, PROFALLOC_METRICS, options->metric);
    pfa_amounts_options_t wishes = {.metric = (pfa_metric_t)metric, .at_ns = options->at_ns};
    if (metric == PFA_METRIC_AT && !(options->at_ns >= 0)) {
        return pfa_api_refuse(session, "at_ns: the moment is not at or after the start, 0");
    }
    answer->settings.graph.order = (pfa_frame_order_t)sort;
    return sort < 0 || metric < 0 ? EINVAL
                                  : pfa_amounts_collect(session->session, question, &wishes, &answer->of.amounts);
}

static int ask_mprof(profalloc_session_t *session, const pfa_question_t *question,
                     const profalloc_ask_options_t *options, profalloc_answer_t *answer)
{
    pfa_mprof_options_t *wishes = &answer->settings.mprof;
    int sort = find_word(session, answer, PROFALLOC_SORTS, options->sort);
    wishes->top = options->top != 0 ? options->top : SIZE_MAX;
    wishes->sort = options->sort != NULL ? (pfa_sort_t)sort : PFA_SORT_PAPER;
    if (wishes->offsets && question != NULL && question->key != NULL) {
        return pfa_api_refuse(session, "setting 'offsets' tells call sites of paths apart: of a question that is "
                                       "grouped by something there are none");
    }
    return sort < 0 ? EINVAL : pfa_mprof_collect(session->session, question, wishes, &answer->of.mprof);
}

static int ask_leaks(profalloc_session_t *session, const pfa_question_t *question,
                     const profalloc_ask_options_t *options, profalloc_answer_t *answer)
{
    answer->settings.leaks.order = options->sort;
    return find_word(session, answer, PROFALLOC_SORTS, options->sort) < 0
               ? EINVAL
               : pfa_leaks_collect(session->session, question, &answer->settings.leaks, &answer->of.leaks);
}

static int ask_excess(profalloc_session_t *session, const pfa_question_t *question,
                      const profalloc_ask_options_t *options, profalloc_answer_t *answer)
{
    pfa_excess_options_t *wishes = &answer->settings.excess;
    int sort = find_word(session, answer, PROFALLOC_SORTS, options->sort);
    wishes->top = options->top;
    wishes->order = options->sort != NULL              ? (pfa_excess_order_t)sort
                    : wishes->method == PFA_EXCESS_IQR ? PFA_EXCESS_BY_ratio
                                                       : PFA_EXCESS_BY_frequency;
    return sort < 0 ? EINVAL : pfa_excess_collect(session->session, question, wishes, &answer->of.excess);
}

/* The names of scores of one's own are known once they are read. */
static int ask_report(profalloc_session_t *session, const pfa_question_t *question,
                      const profalloc_ask_options_t *options, profalloc_answer_t *answer)
{
    const pfa_points_options_t *wishes = &answer->settings.points;
    bool later = options->sort != NULL && wishes->score_count != 0;
    if (!later && find_word(session, answer, PROFALLOC_SORTS, options->sort) < 0) {
        return EINVAL;
    }
    int error = pfa_advice_collect(session->session, question, wishes, &answer->of.report);
    const pfa_report_t *report = answer->of.report;
    if (error == 0 && later && pfa_report_order_find(report, options->sort) >= PFA_ORDERS + report->formula_count) {
        (void)find_word(session, answer, PROFALLOC_SORTS, options->sort);
        pfa_answer_free(answer->of.base);
        answer->of.base = NULL;
        return EINVAL;
    }
    return error;
}

static int ask_advice(profalloc_session_t *session, const pfa_question_t *question,
                      const profalloc_ask_options_t *options, profalloc_answer_t *answer)
{
    if (question != NULL && question->key != NULL && question->key != &pfa_keys[0]) {
        return pfa_api_refuse(session, "by: what to change is told of call stacks alone, not of a question by %s",
                              question->key->name);
    }
    return find_word(session, answer, PROFALLOC_SORTS, options->sort) < 0
               ? EINVAL
               : pfa_advice_collect(session->session, question, &answer->settings.points, &answer->of.report);
}

int pfa_api_ask(profalloc_session_t *session, const pfa_question_t *question, const profalloc_ask_options_t *options,
                profalloc_answer_t *answer)
{
    static int (*const asks[])(profalloc_session_t *, const pfa_question_t *, const profalloc_ask_options_t *,
                               profalloc_answer_t *) = {
        [PROFALLOC_REPORT] = ask_report, [PROFALLOC_ADVISE] = ask_advice, [PROFALLOC_LEAKS] = ask_leaks,
        [PROFALLOC_EXCESS] = ask_excess, [PROFALLOC_MPROF] = ask_mprof,   [PROFALLOC_TIMELINE] = ask_timeline,
        [PROFALLOC_FLAME] = ask_flame};
    return asks[answer->analysis](session, question, options, answer);
}
