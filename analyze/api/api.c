/* Owns the public interface of the analyses: include/profalloc-analyze.h. It has nothing of its own but the way from there to the
 * analyses. */
#include "include/profalloc-analyze.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/base/text.h"
#include "analyze/draw/excess_draw.h"
#include "analyze/draw/flame_graph.h"
#include "analyze/draw/timeline_chart.h"
#include "analyze/leaks/leaks.h"
#include "analyze/mprof/mprof.h"
#include "analyze/points/scored.h"
#include "analyze/report/report.h"

#include <stdio.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

struct profalloc_session {
    profalloc_session_options_t options;
    pfa_session_t *session;
};

struct profalloc_question {
    pfa_memory_t *memory;
    pfa_question_t *question;
};

enum { BUCKETS = 200, BUCKETS_MOST = 100000, STRANDS = 10 };

/* Numbers have a point, whatever the locale of the calling program says. */
typedef struct numbers {
    locale_t own; /* 0: the caller's does */
    locale_t before;
} numbers_t;

/* False: there is no memory. All of the C locale is asked for, not its numbers alone: that one glibc keeps, and allocates nothing. The
 * library reads nothing else of a locale. */
static bool begin_numbers(numbers_t *numbers)
{
    *numbers = (numbers_t){.own = (locale_t)0};
    if (strcmp(nl_langinfo(RADIXCHAR), ".") == 0) {
        return true;
    }
    numbers->own = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (numbers->own == (locale_t)0) {
        return false;
    }
    numbers->before = uselocale(numbers->own);
    return true;
}

static void end_numbers(const numbers_t *numbers)
{
    if (numbers->own != (locale_t)0) {
        (void)uselocale(numbers->before);
        freelocale(numbers->own);
    }
}

struct profalloc_answer {
    profalloc_analysis_t analysis;
    size_t top;
    char sort[24]; /* "": as usual */
    pfa_excess_options_t excess;
    union {
        pfa_answer_t *base;
        pfa_report_t *report;
        pfa_leaks_t *leaks;
        pfa_excess_t *excess;
        pfa_mprof_t *mprof;
        pfa_timeline_t *timeline;
        pfa_amounts_t *amounts;
    } of;
};

static bool tell_progress(void *to, const char *what, double part)
{
    const profalloc_session_t *session = to;
    return session->options.progress(session->options.to, what, part) != 0;
}

static void say(void *to, const char *text)
{
    const profalloc_session_t *session = to;
    session->options.say(session->options.to, text);
}

int profalloc_session_open(profalloc_session_t **made, const profalloc_session_options_t *options,
                           const char *const *paths, size_t count)
{
    static const profalloc_session_options_t usual;
    profalloc_session_t *session = calloc(1, sizeof *session);
    *made = NULL;
    if (session == NULL) {
        return ENOMEM;
    }
    session->options = options != NULL ? *options : usual;
    pfa_session_options_t inner = {
        .score = pfa_points_score,
        .watch = {.tell = session->options.progress != NULL ? tell_progress : NULL, .to = session},
        .say = session->options.say != NULL ? say : NULL,
        .say_to = session,
        .debuginfod = session->options.debuginfod,
        .debuginfod_wait = session->options.debuginfod_wait};
    numbers_t numbers;
    int error = begin_numbers(&numbers) ? pfa_session_open(&session->session, &inner, paths, count) : ENOMEM;
    end_numbers(&numbers);
    if (error != 0) {
        free(session);
        return error;
    }
    *made = session;
    return 0;
}

void profalloc_session_close(profalloc_session_t *session)
{
    if (session != NULL) {
        pfa_session_close(session->session);
        free(session);
    }
}

size_t profalloc_session_traces(const profalloc_session_t *session)
{
    return pfa_session_traces(session->session);
}

const char *profalloc_session_unread(const profalloc_session_t *session, size_t number)
{
    const pfa_notes_t *unread = pfa_session_unread(session->session);
    return number < unread->count ? unread->list[number] : NULL;
}

typedef struct making {
    const profalloc_asking_t *asking;
    pfa_question_t *question;
    char *why; /* of the arena */
} making_t;

static void make_question(void *to)
{
    making_t *making = to;
    const profalloc_asking_t *asking = making->asking;
    pfa_asking_t inner = {.wheres = asking->wheres,
                          .where_count = asking->where_count,
                          .by = asking->by,
                          .from_ns = asking->from_ns,
                          .to_ns = asking->to_ns,
                          .groups = asking->groups,
                          .group_count = asking->group_count};
    making->question = pfa_question_make(&inner, &making->why);
}

int profalloc_question_make(profalloc_question_t **made, const profalloc_asking_t *asking, char *why, size_t size)
{
    profalloc_question_t *question = calloc(1, sizeof *question);
    making_t making = {.asking = asking};
    *made = NULL;
    if (question == NULL || (question->memory = pfa_memory_new()) == NULL) {
        free(question);
        return ENOMEM;
    }
    numbers_t numbers;
    int error = begin_numbers(&numbers) ? pfa_memory_work(question->memory, make_question, &making) : ENOMEM;
    end_numbers(&numbers);
    question->question = making.question;
    if (error == 0 && making.question == NULL) {
        error = EINVAL;
        if (why != NULL && size != 0) {
            snprintf(why, size, "%s", making.why);
        }
    }
    if (error != 0) {
        profalloc_question_free(question);
        return error;
    }
    *made = question;
    return 0;
}

void profalloc_question_free(profalloc_question_t *question)
{
    if (question != NULL) {
        pfa_memory_delete(question->memory);
        free(question);
    }
}

/* Says that an option is wrong. */
static int refuse(const profalloc_session_t *session, const char *option, const char *value)
{
    char text[128];
    snprintf(text, sizeof text, "%s: '%.60s' is none that this analysis knows", option, value);
    pfa_text_clean(text, strlen(text));
    if (session->options.say != NULL) {
        session->options.say(session->options.to, text);
    }
    return EINVAL;
}

/* The place of a word among some; -1: it is none of them, which is said. Without a word, the first. */
static int find_word(const profalloc_session_t *session, const char *option, const char *word, const char *const *words,
                     size_t count)
{
    for (size_t i = 0; word != NULL && i < count; i++) {
        if (strcmp(words[i], word) == 0) {
            return (int)i;
        }
    }
    if (word != NULL) {
        (void)refuse(session, option, word);
    }
    return word == NULL ? 0 : -1;
}

static int ask_timeline(profalloc_session_t *session, const pfa_question_t *question,
                        const profalloc_ask_options_t *options, profalloc_answer_t *answer)
{
    static const char *const sorts[] = {[PFA_STRANDS_BY_PEAK] = "peak",
                                        [PFA_STRANDS_BY_END] = "end",
                                        [PFA_STRANDS_BY_TOTAL] = "total",
                                        [PFA_STRANDS_BY_NAME] = "name"};
    int sort = find_word(session, "sort", options->sort, sorts, sizeof sorts / sizeof sorts[0]);
    pfa_timeline_wishes_t wishes = {.buckets = options->buckets != 0 ? options->buckets : BUCKETS,
                                    .top = options->top != 0 ? options->top : STRANDS,
                                    .sort = (pfa_strand_sort_t)sort};
    if (options->buckets > BUCKETS_MOST) {
        return refuse(session, "buckets", "more than 100000");
    }
    return sort < 0 ? EINVAL : pfa_timeline_collect(session->session, question, &wishes, &answer->of.timeline);
}

static int ask_flame(profalloc_session_t *session, const pfa_question_t *question,
                     const profalloc_ask_options_t *options, profalloc_answer_t *answer)
{
    int metric = find_word(session, "metric", options->metric, pfa_metric_names, PFA_METRIC_AT + 1);
    pfa_amounts_options_t wishes = {.metric = (pfa_metric_t)metric, .at_ns = options->at_ns};
    if (metric == PFA_METRIC_AT && !(options->at_ns >= 0)) {
        return refuse(session, "at_ns", "less than 0");
    }
    return metric < 0 ? EINVAL : pfa_amounts_collect(session->session, question, &wishes, &answer->of.amounts);
}

static int ask_mprof(profalloc_session_t *session, const pfa_question_t *question,
                     const profalloc_ask_options_t *options, profalloc_answer_t *answer)
{
    static const char *const sorts[] = {
        [PFA_SORT_KEPT] = "kept", [PFA_SORT_BYTES] = "bytes", [PFA_SORT_COUNT] = "count", [PFA_SORT_NAME] = "name"};
    int sort = find_word(session, "sort", options->sort, sorts, sizeof sorts / sizeof sorts[0]);
    pfa_mprof_options_t wishes = {.verbosity = PFA_NORMAL,
                                  .leak_table = true,
                                  .top = options->top != 0 ? options->top : SIZE_MAX,
                                  .sort = options->sort != NULL ? (pfa_sort_t)sort : PFA_SORT_PAPER};
    return sort < 0 ? EINVAL : pfa_mprof_collect(session->session, question, &wishes, &answer->of.mprof);
}

static int ask_leaks(profalloc_session_t *session, const pfa_question_t *question,
                     const profalloc_ask_options_t *options, profalloc_answer_t *answer)
{
    pfa_leaks_options_t wishes = {.limits = pfa_leak_limits_standard(), .order = options->sort};
    bool known = options->sort == NULL || pfa_leaks_is_order(options->sort);
    return !known ? refuse(session, "sort", options->sort)
                  : pfa_leaks_collect(session->session, question, &wishes, &answer->of.leaks);
}

static int ask_excess(profalloc_session_t *session, const pfa_question_t *question,
                      const profalloc_ask_options_t *options, profalloc_answer_t *answer)
{
    answer->excess = pfa_excess_options_standard();
    answer->excess.top = options->top;
    if (options->sort != NULL) {
        answer->excess.order = pfa_excess_order_find(options->sort);
    }
    return answer->excess.order == PFA_EXCESS_ORDERS
               ? refuse(session, "sort", options->sort)
               : pfa_excess_collect(session->session, question, &answer->excess, &answer->of.excess);
}

static int ask_points(profalloc_session_t *session, const pfa_question_t *question,
                      const profalloc_ask_options_t *options, profalloc_answer_t *answer)
{
    pfa_points_options_t wishes = {.thresholds = pfa_thresholds_standard()};
    bool known =
        options->sort == NULL || (answer->analysis == PROFALLOC_ADVISE
                                      ? pfa_advice_is_order(options->sort)
                                      : find_word(session, "sort", options->sort, pfa_order_names, PFA_ORDERS) >= 0);
    snprintf(answer->sort, sizeof answer->sort, "%s", options->sort != NULL ? options->sort : "");
    return !known ? EINVAL : pfa_advice_collect(session->session, question, &wishes, &answer->of.report);
}

int profalloc_ask(profalloc_session_t *session, const profalloc_question_t *question, profalloc_analysis_t analysis,
                  const profalloc_ask_options_t *options, profalloc_answer_t **made)
{
    static int (*const asks[])(profalloc_session_t *, const pfa_question_t *, const profalloc_ask_options_t *,
                               profalloc_answer_t *) = {
        [PROFALLOC_REPORT] = ask_points, [PROFALLOC_ADVISE] = ask_points, [PROFALLOC_LEAKS] = ask_leaks,
        [PROFALLOC_EXCESS] = ask_excess, [PROFALLOC_MPROF] = ask_mprof,   [PROFALLOC_TIMELINE] = ask_timeline,
        [PROFALLOC_FLAME] = ask_flame};
    static const profalloc_ask_options_t usual;
    *made = NULL;
    if ((size_t)analysis >= sizeof asks / sizeof asks[0]) {
        return EINVAL;
    }
    profalloc_answer_t *answer = calloc(1, sizeof *answer);
    if (answer == NULL) {
        return ENOMEM;
    }
    options = options != NULL ? options : &usual;
    answer->analysis = analysis;
    answer->top = options->top;
    numbers_t numbers;
    int error = begin_numbers(&numbers)
                    ? asks[analysis](session, question != NULL ? question->question : NULL, options, answer)
                    : ENOMEM;
    end_numbers(&numbers);
    if (error != 0) {
        free(answer);
        return error;
    }
    *made = answer;
    return 0;
}

void profalloc_answer_free(profalloc_answer_t *answer)
{
    if (answer != NULL) {
        pfa_answer_free(answer->of.base);
        free(answer);
    }
}

static pfa_order_t order_of(const profalloc_answer_t *answer)
{
    return answer->sort[0] != '\0' ? pfa_report_order_find(answer->of.report, answer->sort) : PFA_BY_BYTES;
}

static int write_report(profalloc_answer_t *answer, FILE *to)
{
    pfa_order_t orders[] = {PFA_BY_BYTES, PFA_BY_COUNT, PFA_BY_PEAK};
    bool one = answer->sort[0] != '\0';
    orders[0] = order_of(answer);
    return pfa_report_text(answer->of.report, answer->top != 0 ? answer->top : 10, orders, one ? 1 : 3, to);
}

static int write_text(profalloc_answer_t *answer, FILE *to)
{
    static const pfa_graph_look_t look;
    switch (answer->analysis) {
    case PROFALLOC_REPORT:
        return write_report(answer, to);
    case PROFALLOC_ADVISE:
        return pfa_advice_text(answer->of.report, answer->top, answer->sort[0] != '\0' ? answer->sort : NULL, to);
    case PROFALLOC_LEAKS:
        return pfa_leaks_text(answer->of.leaks, answer->top != 0 ? answer->top : 10, to);
    case PROFALLOC_EXCESS:
        return pfa_excess_text(answer->of.excess, pfa_excess_charts, to);
    case PROFALLOC_MPROF:
        return pfa_mprof_text(answer->of.mprof, to);
    case PROFALLOC_TIMELINE:
        return pfa_timeline_term(answer->of.timeline, to, false, to);
    default:
        return pfa_amounts_folded(answer->of.amounts, &look, to, NULL);
    }
}

static int write_json(profalloc_answer_t *answer, FILE *to)
{
    size_t top = answer->top != 0 ? answer->top : SIZE_MAX;
    switch (answer->analysis) {
    case PROFALLOC_REPORT:
        return pfa_report_json(answer->of.report, top, order_of(answer), to);
    case PROFALLOC_ADVISE:
        return pfa_advice_json(answer->of.report, top, answer->sort[0] != '\0' ? answer->sort : NULL, to);
    case PROFALLOC_LEAKS:
        return pfa_leaks_json(answer->of.leaks, top, to);
    case PROFALLOC_EXCESS:
        return pfa_excess_json(answer->of.excess, to);
    case PROFALLOC_MPROF:
        return pfa_mprof_json(answer->of.mprof, to);
    case PROFALLOC_TIMELINE:
        return pfa_timeline_json(answer->of.timeline, to);
    default:
        return pfa_amounts_json(answer->of.amounts, to);
    }
}

static int write_svg(profalloc_answer_t *answer, FILE *to)
{
    static const pfa_graph_look_t look;
    switch (answer->analysis) {
    case PROFALLOC_TIMELINE:
        return pfa_timeline_svg(answer->of.timeline, to, false, NULL);
    case PROFALLOC_FLAME:
        return pfa_amounts_svg(answer->of.amounts, &look, to, NULL);
    case PROFALLOC_EXCESS:
        return pfa_excess_diagram(answer->of.excess, to);
    default:
        return ENOTSUP;
    }
}

static int write_with(profalloc_answer_t *answer, int (*write)(profalloc_answer_t *answer, FILE *to), FILE *to)
{
    numbers_t numbers;
    int error = begin_numbers(&numbers) ? write(answer, to) : ENOMEM;
    end_numbers(&numbers);
    return error;
}

int profalloc_answer_text(profalloc_answer_t *answer, FILE *to)
{
    return write_with(answer, write_text, to);
}

int profalloc_answer_json(profalloc_answer_t *answer, FILE *to)
{
    return write_with(answer, write_json, to);
}

int profalloc_answer_svg(profalloc_answer_t *answer, FILE *to)
{
    return write_with(answer, write_svg, to);
}
