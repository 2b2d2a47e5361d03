/* Owns the public interface of the analyses: include/profalloc-analyze.h. It has nothing of its own but the way from there to the
 * analyses. */
#include "analyze/api/api.h"
#include "analyze/base/notes.h"
#include "analyze/base/text.h"
#include "analyze/draw/excess_draw.h"
#include "analyze/draw/flame_graph.h"
#include "analyze/draw/timeline_chart.h"
#include "analyze/points/score_fields.h"
#include "analyze/report/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* The answer that this thread makes or writes. Sentences come from this thread alone. */
static _Thread_local const profalloc_answer_t *current;

void pfa_api_tell(const profalloc_answer_t *answer)
{
    current = answer;
    (void)pfa_progress_own(answer != NULL && answer->progress != NULL ? &answer->watch : NULL);
}

/* The C locale is one that glibc keeps, so that this allocates nothing. Threads that help have the locale of whom they help. */
bool pfa_api_begin(pfa_api_call_t *call, const profalloc_answer_t *answer)
{
    *call = (pfa_api_call_t){.locale = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
    if (call->locale == (locale_t)0) {
        return false;
    }
    call->before = uselocale(call->locale);
    call->watch_before = pfa_progress_own(NULL);
    call->answer_before = current;
    pfa_api_tell(answer);
    return true;
}

void pfa_api_end(const pfa_api_call_t *call)
{
    int error = errno;
    if (call->locale != (locale_t)0) {
        (void)pfa_progress_own(call->watch_before);
        current = call->answer_before;
        (void)uselocale(call->before);
        freelocale(call->locale);
    }
    errno = error;
}

static void say(void *to, const char *text)
{
    const profalloc_session_t *session = to;
    if (current != NULL && current->say != NULL) {
        current->say(current->to, text);
    } else if (session->options.say != NULL) {
        session->options.say(session->options.to, text);
    }
}

int pfa_api_refuse(const profalloc_session_t *session, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    pfa_text_clean(text, strlen(text));
    say((void *)(uintptr_t)session, text);
    return EINVAL;
}

static bool tell_progress(void *to, const char *what, double part)
{
    const profalloc_session_t *session = to;
    return session->options.progress(session->options.to, what, part) != 0;
}

static bool tell_own_progress(void *to, const char *what, double part)
{
    const profalloc_answer_t *answer = to;
    return answer->progress(answer->to, what, part) != 0;
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
        .say = say,
        .say_to = session,
        .threads = session->options.threads,
        .debuginfod = session->options.debuginfod,
        .debuginfod_wait = session->options.debuginfod_wait};
    pfa_api_call_t call;
    int error = pfa_api_begin(&call, NULL) ? pfa_session_open(&session->session, &inner, paths, count) : ENOMEM;
    pfa_api_end(&call);
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
    const profalloc_question_options_t *asking;
    pfa_question_t *question;
    char *why; /* of the arena */
} making_t;

static void make_question(void *to)
{
    making_t *making = to;
    const profalloc_question_options_t *asking = making->asking;
    pfa_asking_t inner = {.wheres = asking->wheres,
                          .where_count = asking->where_count,
                          .by = asking->by,
                          .from_ns = asking->from_ns,
                          .to_ns = asking->to_ns,
                          .groups = asking->groups,
                          .group_count = asking->group_count};
    making->question = pfa_question_make(&inner, &making->why);
}

int profalloc_question_make(profalloc_question_t **made, const profalloc_question_options_t *asking, char *why,
                            size_t size)
{
    profalloc_question_t *question = calloc(1, sizeof *question);
    making_t making = {.asking = asking};
    *made = NULL;
    if (question == NULL || (question->memory = pfa_memory_new()) == NULL) {
        free(question);
        return ENOMEM;
    }
    pfa_api_call_t call;
    int error = pfa_api_begin(&call, NULL) ? pfa_memory_work(question->memory, make_question, &making) : ENOMEM;
    pfa_api_end(&call);
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

typedef struct preparing {
    profalloc_answer_t *answer;
    const profalloc_ask_options_t *options;
    char *why;
} preparing_t;

/* In the arena of the answer. */
static void prepare(void *to)
{
    preparing_t *preparing = to;
    profalloc_answer_t *answer = preparing->answer;
    const profalloc_ask_options_t *options = preparing->options;
    answer->top = options->top;
    answer->sort = options->sort != NULL ? pfa_memory_copy(options->sort, strlen(options->sort)) : NULL;
    preparing->why = pfa_settings_read(&answer->settings, answer->analysis, options->settings, options->setting_count);
}

int pfa_api_answer(profalloc_answer_t **made, const profalloc_session_t *session, profalloc_analysis_t analysis,
                   const profalloc_ask_options_t *options)
{
    profalloc_answer_t *answer = calloc(1, sizeof *answer);
    preparing_t preparing = {.answer = answer, .options = options};
    *made = answer;
    if (answer == NULL || (answer->memory = pfa_memory_new()) == NULL) {
        return ENOMEM;
    }
    answer->analysis = analysis;
    answer->progress = options->progress;
    answer->say = options->say;
    answer->to = options->to;
    answer->watch = (pfa_watch_t){.tell = tell_own_progress, .to = answer};
    pfa_api_tell(answer);
    int error = pfa_memory_work(answer->memory, prepare, &preparing);
    return error == 0 && preparing.why != NULL ? pfa_api_refuse(session, "%s", preparing.why) : error;
}

static int ask(profalloc_session_t *session, const profalloc_question_t *question, profalloc_analysis_t analysis,
               const profalloc_ask_options_t *options, profalloc_answer_t **answer)
{
    int error = pfa_api_answer(answer, session, analysis, options);
    if (error == 0 && (size_t)analysis > PROFALLOC_FLAME) {
        error = pfa_api_refuse(session, "there is no analysis with the number %d to ask", (int)analysis);
    }
    return error == 0 ? pfa_api_ask(session, question != NULL ? question->question : NULL, options, *answer) : error;
}

int profalloc_ask(profalloc_session_t *session, const profalloc_question_t *question, profalloc_analysis_t analysis,
                  const profalloc_ask_options_t *options, profalloc_answer_t **made)
{
    static const profalloc_ask_options_t usual;
    profalloc_answer_t *answer = NULL;
    *made = NULL;
    pfa_api_call_t call;
    int error = pfa_api_begin(&call, NULL)
                    ? ask(session, question, analysis, options != NULL ? options : &usual, &answer)
                    : ENOMEM;
    pfa_api_end(&call);
    if (error != 0) {
        profalloc_answer_free(answer);
        return error;
    }
    *made = answer;
    return 0;
}

void profalloc_answer_free(profalloc_answer_t *answer)
{
    if (answer == NULL) {
        return;
    }
    if (answer->analysis == PROFALLOC_COMPARISON) {
        pfa_comparison_free(answer->settings.gate.comparison);
    } else {
        pfa_answer_free(answer->of.base);
    }
    if (answer->memory != NULL) {
        pfa_memory_delete(answer->memory);
    }
    free(answer);
}

int profalloc_answer_complete(const profalloc_answer_t *answer)
{
    if (answer->analysis == PROFALLOC_COMPARISON) {
        return pfa_api_compared_complete(answer);
    }
    return answer->of.base->query.trouble == PFA_TROUBLE_NONE && pfa_query_complete(&answer->of.base->query);
}

static pfa_order_t order_of(const profalloc_answer_t *answer)
{
    return answer->sort != NULL ? pfa_report_order_find(answer->of.report, answer->sort) : PFA_BY_BYTES;
}

static int write_report(profalloc_answer_t *answer, FILE *to)
{
    pfa_order_t orders[] = {PFA_BY_BYTES, PFA_BY_COUNT, PFA_BY_PEAK};
    orders[0] = order_of(answer);
    return pfa_report_text(answer->of.report, answer->top != 0 ? answer->top : 10, orders, answer->sort != NULL ? 1 : 3,
                           to);
}

/* Its options are the first of its settings. */
static void put_charts(FILE *to, const pfa_excess_t *excess)
{
    _Static_assert(offsetof(pfa_settings_t, excess) == 0, "the settings are found from the options");
    const pfa_settings_t *settings = (const pfa_settings_t *)(const void *)excess->options;
    pfa_excess_put_charts(to, &settings->term, excess);
}

static int write_text(profalloc_answer_t *answer, FILE *to)
{
    const pfa_settings_t *settings = &answer->settings;
    switch (answer->analysis) {
    case PROFALLOC_REPORT:
        return write_report(answer, to);
    case PROFALLOC_ADVISE:
        return pfa_advice_text(answer->of.report, answer->top, answer->sort, to);
    case PROFALLOC_LEAKS:
        return pfa_leaks_text(answer->of.leaks, answer->top != 0 ? answer->top : 10, to);
    case PROFALLOC_EXCESS:
        return pfa_excess_text(answer->of.excess, settings->plain ? NULL : put_charts, to);
    case PROFALLOC_MPROF:
        return pfa_mprof_text(answer->of.mprof, to);
    case PROFALLOC_TIMELINE:
        return pfa_timeline_term(answer->of.timeline, to, &settings->term, settings->chunks, to);
    case PROFALLOC_FLAME:
        return pfa_amounts_folded(answer->of.amounts, &settings->graph, to, NULL);
    default:
        return pfa_api_compared_text(answer, to);
    }
}

static int write_json(profalloc_answer_t *answer, FILE *to)
{
    size_t top = answer->top != 0 ? answer->top : SIZE_MAX;
    switch (answer->analysis) {
    case PROFALLOC_REPORT:
        return pfa_report_json(answer->of.report, top, order_of(answer), to);
    case PROFALLOC_ADVISE:
        return pfa_advice_json(answer->of.report, top, answer->sort, to);
    case PROFALLOC_LEAKS:
        return pfa_leaks_json(answer->of.leaks, top, to);
    case PROFALLOC_EXCESS:
        return pfa_excess_json(answer->of.excess, to);
    case PROFALLOC_MPROF:
        return pfa_mprof_json(answer->of.mprof, to);
    case PROFALLOC_TIMELINE:
        return pfa_timeline_json(answer->of.timeline, to);
    case PROFALLOC_FLAME:
        return pfa_amounts_json(answer->of.amounts, to);
    default:
        return pfa_api_compared_json(answer, to);
    }
}

static int write_svg(profalloc_answer_t *answer, FILE *to)
{
    const pfa_settings_t *settings = &answer->settings;
    switch (answer->analysis) {
    case PROFALLOC_TIMELINE:
        return pfa_timeline_svg(answer->of.timeline, to, settings->chunks, NULL);
    case PROFALLOC_FLAME:
        return pfa_amounts_svg(answer->of.amounts, &settings->graph, to, NULL);
    case PROFALLOC_EXCESS:
        return (settings->chart ? pfa_excess_chart : pfa_excess_diagram)(answer->of.excess, to);
    default:
        return ENOTSUP;
    }
}

int pfa_api_write(profalloc_answer_t *answer, int (*write)(profalloc_answer_t *answer, FILE *to), FILE *to)
{
    pfa_api_call_t call;
    int error = pfa_api_begin(&call, answer) ? write(answer, to) : ENOMEM;
    pfa_api_end(&call);
    return error;
}

int profalloc_answer_text(profalloc_answer_t *answer, FILE *to)
{
    return profalloc_answer_text_as(answer, NULL, to);
}

int profalloc_answer_text_as(profalloc_answer_t *answer, const profalloc_look_t *look, FILE *to)
{
    static const profalloc_look_t usual;
    look = look != NULL ? look : &usual;
    if (look->columns != 0 && (look->columns < PFA_TERM_NARROWEST || look->columns > PFA_TERM_WIDEST)) {
        return EINVAL;
    }
    answer->settings.term = (pfa_term_t){.width = look->columns != 0 ? look->columns : PFA_TERM_WIDTH,
                                         .height = PFA_TERM_HEIGHT,
                                         .utf8 = look->ascii == 0,
                                         .colour = look->colour != 0};
    return pfa_api_write(answer, write_text, to);
}

int profalloc_answer_json(profalloc_answer_t *answer, FILE *to)
{
    return pfa_api_write(answer, write_json, to);
}

int profalloc_answer_svg(profalloc_answer_t *answer, FILE *to)
{
    return pfa_api_write(answer, write_svg, to);
}
