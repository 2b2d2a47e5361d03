/* Owns the collecting of points with what it takes for advice: what was not freed, and other moments than the peak. */
#include "analyze/advise/findings.h"
#include "analyze/advise/kept.h"
#include "analyze/base/notes.h"
#include "analyze/base/text.h"
#include "analyze/query/keys.h"

/* As advice is told. */
static bool is_by_stack(const pfa_report_t *report)
{
    return report->query->key == NULL || report->query->key == &pfa_keys[0];
}

/* Of a sum of peaks, there is no moment to compare others with. */
static bool has_savings(const pfa_report_t *report)
{
    return is_by_stack(report) && report->memoro.has_accesses && report->peak.one;
}

static const pfa_look_t *begin_kept(void *judge, pfa_report_t *report)
{
    return is_by_stack(report) ? pfa_kept_begin(judge, report) : NULL;
}

/* 0, or an error number; EAGAIN: a source is gone. */
static int look_further(pfa_report_t *report)
{
    size_t sources = report->query->source_count;
    int error = 0;
    if (has_savings(report) && !pfa_savings_weigh(report)) {
        error = pfa_answer_again(report->query, sources);
        error = error == 0 ? EAGAIN : error;
    }
    return error;
}

/* What scores and advice cannot tell, into the query's remarks. */
static void remark(pfa_report_t *report)
{
    if (report->query->sampled) {
        pfa_notes_add(&report->query->remarks,
                      "chunks were sampled: how buffers grow is not seen, and nothing is said of "
                      "room to reserve");
    }
    const pfa_memoro_t *memoro = &report->memoro;
    if (memoro->group_ns > memoro->group_ns_asked) {
        char texts[3][PFA_NUMBER_TEXT];
        pfa_notes_add(
            &report->query->remarks,
            "more than %s groups of chunks were open at a time: births up to %s apart are one, not %s (--groups-most)",
            pfa_text_count(texts[0], memoro->thresholds.groups_most), pfa_text_ns(texts[1], memoro->group_ns),
            pfa_text_ns(texts[2], memoro->group_ns_asked));
    }
}

static int fill(void *answer, const void *options)
{
    pfa_report_t *report = answer;
    pfa_kept_judge_t *judge = pfa_memory_get(1, sizeof *judge);
    pfa_points_beside_t beside = {.begin = begin_kept, .to = judge};
    int error;
    do {
        pfa_points_forget(report);
        error = pfa_points_fill(report, &report->answer.query, options, &beside);
        if (error == 0) {
            pfa_kept_end(judge, report);
        }
        error = error == 0 ? look_further(report) : error;
    } while (error == EAGAIN);
    if (error == 0) {
        remark(report);
    }
    pfa_memory_free(judge);
    return error;
}

int pfa_advice_collect(pfa_session_t *session, const pfa_question_t *question, const pfa_points_options_t *options,
                       pfa_report_t **report)
{
    void *answer;
    int error = pfa_answer_make(&answer, sizeof **report, session, question, fill, options);
    *report = answer;
    return error;
}
