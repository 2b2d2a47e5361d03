/* Owns comparisons for programs: of sessions that are open, and of files. */
#include "analyze/api/api.h"
#include "analyze/base/text.h"
#include "analyze/diff/diff.h"

#include <errno.h>

enum { POINTS = 10, POINTS_OF_LIMIT = 5, STATUS_OF_LIMIT = 3 };

typedef struct comparing {
    const profalloc_side_t *sides[PFA_SIDES];
    const profalloc_session_t *first; /* who is told, and whose options files are opened with */
    const pfa_question_t *question;
    profalloc_answer_t *answer;
    int error;
} comparing_t;

static const profalloc_session_t *first_of(const profalloc_side_t *side)
{
    return side->session_count != 0 ? side->sessions[0] : NULL;
}

/* In the arena of the answer, as all here. */
static pfa_side_files_t list(const profalloc_side_t *side)
{
    pfa_session_t **sessions = pfa_memory_get(side->session_count, sizeof *sessions);
    char **files = pfa_memory_get(side->file_count, sizeof *files);
    for (size_t i = 0; i < side->session_count; i++) {
        sessions[i] = side->sessions[i]->session;
    }
    for (size_t i = 0; i < side->file_count; i++) {
        files[i] = (char *)(uintptr_t)side->files[i];
    }
    return (pfa_side_files_t){
        .files = files, .count = side->file_count, .sessions = sessions, .session_count = side->session_count};
}

/* A run that is not complete, and why it is not; NULL: all are. */
static const char *find_incomplete(const pfa_comparison_t *comparison, const char **why)
{
    for (unsigned side = 0; side < PFA_SIDES; side++) {
        for (size_t i = 0; i < comparison->sides[side].count; i++) {
            const pfa_summary_t *run = &comparison->sides[side].runs[i];
            if (!run->complete) {
                *why = run->missing.count != 0 ? run->missing.list[0] : "its traces are not complete";
                return side == PFA_BASE ? "base" : "new side";
            }
        }
    }
    return NULL;
}

/* Whether there are expressions that no chunk is asked for by. */
static bool is_of_nothing(const pfa_comparison_t *comparison)
{
    bool wheres = false;
    double chunks = 0;
    for (unsigned side = 0; side < PFA_SIDES; side++) {
        for (size_t i = 0; i < comparison->sides[side].count; i++) {
            const pfa_summary_t *run = &comparison->sides[side].runs[i];
            wheres = wheres || run->asked != 0;
            chunks += run->totals.values[PFA_DIFF_METRIC_count];
        }
    }
    return wheres && chunks <= 0;
}

/* What is missing could be what exceeds a limit; and limits on nothing hold whatever happens. */
static int check(const comparing_t *comparing, const pfa_comparison_t *comparison)
{
    const char *why = NULL;
    const char *incomplete = find_incomplete(comparison, &why);
    if (incomplete != NULL) {
        (void)pfa_api_refuse(
            comparing->first,
            "limits mean nothing, since the %s is not complete; the setting 'allow-incomplete' compares "
            "all the same. What is missing: %s",
            incomplete, why);
        return ENOTSUP;
    }
    if (is_of_nothing(comparison)) {
        (void)pfa_api_refuse(comparing->first, "limits mean nothing, since no chunk is asked for; the setting "
                                               "'allow-incomplete' compares all the same");
        return ENOTSUP;
    }
    return 0;
}

static int judge(const comparing_t *comparing)
{
    pfa_settings_t *settings = &comparing->answer->settings;
    int error = settings->allow_incomplete ? 0 : check(comparing, settings->gate.comparison);
    return error != 0 ? error : pfa_gate_judge(&settings->gate);
}

static void compare(void *to)
{
    comparing_t *comparing = to;
    profalloc_answer_t *answer = comparing->answer;
    pfa_settings_t *settings = &answer->settings;
    pfa_side_files_t sides[PFA_SIDES] = {list(comparing->sides[PFA_BASE]), list(comparing->sides[PFA_NEW])};
    pfa_comparison_options_t options = {.session = *pfa_session_options(comparing->first->session),
                                        .question = comparing->question,
                                        .with_leaks = settings->gate.limits[PFA_LIMIT_leak].text != NULL,
                                        .per_second = settings->per_second};
    if (answer->sort != NULL) {
        settings->metric = pfa_diff_metric_find(answer->sort);
        settings->gate.sort = &settings->metric;
    }
    settings->gate.top = answer->top != 0 ? answer->top : POINTS_OF_LIMIT;
    comparing->error = pfa_comparison_collect(&options, sides, &settings->gate.comparison);
    if (comparing->error == 0 && settings->has_limit) {
        comparing->error = judge(comparing);
    }
}

static int compare_in(comparing_t *comparing, const profalloc_ask_options_t *options)
{
    const profalloc_side_t *base = comparing->sides[PFA_BASE];
    const profalloc_side_t *now = comparing->sides[PFA_NEW];
    int error = pfa_api_answer(&comparing->answer, comparing->first, PROFALLOC_COMPARISON, options);
    if (error == 0 && (base->session_count + base->file_count == 0 || now->session_count + now->file_count == 0)) {
        error = pfa_api_refuse(comparing->first, "there is nothing to compare on one side");
    }
    if (error == 0 && options->sort != NULL &&
        pfa_api_find_word(PROFALLOC_SORTS, PROFALLOC_COMPARISON, options->sort) < 0) {
        error = pfa_api_refuse(comparing->first, "sort: '%.60s' is none that this analysis knows", options->sort);
    }
    if (error == 0) {
        error = pfa_memory_work(comparing->answer->memory, compare, comparing);
    }
    return error != 0 ? error : comparing->error;
}

int profalloc_compare(const profalloc_side_t *base, const profalloc_side_t *now, const profalloc_question_t *question,
                      const profalloc_ask_options_t *options, profalloc_answer_t **answer)
{
    static const profalloc_ask_options_t usual;
    const profalloc_session_t *first = first_of(now) != NULL ? first_of(now) : first_of(base);
    comparing_t comparing = {.sides = {[PFA_BASE] = base, [PFA_NEW] = now},
                             .first = first,
                             .question = question != NULL ? question->question : NULL};
    *answer = NULL;
    if (first == NULL) {
        return EINVAL;
    }
    pfa_api_call_t call;
    int error = pfa_api_begin(&call, NULL) ? compare_in(&comparing, options != NULL ? options : &usual) : ENOMEM;
    pfa_api_end(&call);
    if (error != 0) {
        profalloc_answer_free(comparing.answer);
        return error;
    }
    *answer = comparing.answer;
    return 0;
}

int pfa_api_compared_complete(const profalloc_answer_t *answer)
{
    const char *why;
    return find_incomplete(answer->settings.gate.comparison, &why) == NULL;
}

int profalloc_answer_exceeded(const profalloc_answer_t *answer)
{
    return answer->settings.gate.exceeded;
}

int pfa_api_compared_text(profalloc_answer_t *answer, FILE *to)
{
    pfa_diff_metric_t metrics[] = {PFA_DIFF_METRIC_bytes, PFA_DIFF_METRIC_count, PFA_DIFF_METRIC_peak,
                                   PFA_DIFF_METRIC_live};
    const pfa_settings_t *settings = &answer->settings;
    size_t count = sizeof metrics / sizeof metrics[0];
    if (settings->gate.sort != NULL) {
        metrics[0] = settings->metric;
        count = 1;
    }
    return settings->has_limit
               ? pfa_gate_text(&settings->gate, to)
               : pfa_diff_text(settings->gate.comparison, answer->top != 0 ? answer->top : POINTS, metrics, count, to);
}

int pfa_api_compared_json(profalloc_answer_t *answer, FILE *to)
{
    const pfa_settings_t *settings = &answer->settings;
    return settings->has_limit
               ? pfa_gate_json(&settings->gate, to)
               : pfa_diff_json(settings->gate.comparison, answer->top != 0 ? answer->top : SIZE_MAX,
                               settings->gate.sort != NULL ? settings->metric : PFA_DIFF_METRIC_bytes, to);
}

static int write_sarif(profalloc_answer_t *answer, FILE *to)
{
    return answer->settings.has_limit ? pfa_gate_sarif(&answer->settings.gate, STATUS_OF_LIMIT, to) : ENOTSUP;
}

int profalloc_answer_sarif(profalloc_answer_t *answer, FILE *to)
{
    return pfa_api_write(answer, write_sarif, to);
}
