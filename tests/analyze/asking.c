/* Asks a session by the public interface, for tests/analyze/library.py:
 *
 *   asking cancel TRACE...          gives every analysis up at each progress call, or at some of many, and asks the same session again
 *   asking where EXPRESSION TRACE   in the locale of the environment: one half, and the report as JSON
 *   asking group NAME TRACE         the report of one function, of the points with most bytes
 *   asking gone EXPRESSION TRACE... as `where`, of traces of which the first is removed once the session is open
 *   asking range NS TRACE           the report of what was alive from then on, for as long again
 *   asking lists                    all words: list, analysis, name, form and meaning, with tabs between
 *   asking facts TRACE...           what is known of each trace, as JSON, a line each
 *   asking vanish WHAT TRACE...     advice, as JSON, of traces of which the second is removed when progress of WHAT is told
 *   asking replace NEW EXPRESSION WHAT TRACE...   likewise with an expression; NEW takes the place of the second
 *   asking own TRACE                a question with its own progress, beside others
 *   asking ask ANALYSIS FORM [WORD=VALUE | SETTING]... -- TRACE...
 *   asking compare FORM [WORD=VALUE | SETTING]... -- BASE... -- NEW...
 *
 * The last two: what comes out as text, json, svg or sarif on standard output, and what is said on standard error; with 100 and the error
 * number as status, if it is not known as well. WORD is sort, top, buckets, metric, at, by, where, threads, columns, ascii or colour; "=" is
 * in front of a setting. Sides are sessions, but for names with "file:" in front. */
#include "tests/analyze/asking.h"
#include "include/profalloc-analyze.h"

#include <errno.h>
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GIVEN_UP = 40 };

static unsigned calls;
static unsigned give_up_at; /* 0: never */

static int watch(void *to, const char *what, double part)
{
    (void)to;
    (void)what;
    return part >= 1 || ++calls != give_up_at;
}

static const struct {
    profalloc_analysis_t analysis;
    const char *where;
    const char *by;
} cases[] = {{PROFALLOC_REPORT, NULL, NULL},
             {PROFALLOC_REPORT, "severity >= 2 and size > 16", "function"},
             {PROFALLOC_ADVISE, "usage < 0.9 or live", NULL},
             {PROFALLOC_LEAKS, "top 3 by bytes", NULL},
             {PROFALLOC_EXCESS, NULL, "size"},
             {PROFALLOC_MPROF, NULL, NULL},
             {PROFALLOC_TIMELINE, NULL, "thread"},
             {PROFALLOC_FLAME, NULL, NULL}};

static void expect(bool holds, size_t number, const char *what, int error)
{
    if (!holds) {
        fprintf(stderr, "asking: case %zu: %s (%s)\n", number, what, strerror(error));
        exit(1);
    }
}

/* The JSON of an answer; the caller frees it. NULL: *error is why. */
static char *ask_for(profalloc_session_t *session, profalloc_analysis_t analysis,
                     const profalloc_question_options_t *asking, int *error)
{
    profalloc_question_t *question = NULL;
    profalloc_answer_t *answer = NULL;
    char *text = NULL;
    char why[256] = "";
    size_t size;
    *error = profalloc_question_make(&question, asking, why, sizeof why);
    if (*error != 0) {
        fprintf(stderr, "%s\n", why);
    }
    *error = *error != 0 ? *error : profalloc_ask(session, question, analysis, NULL, &answer);
    FILE *to = *error == 0 ? open_memstream(&text, &size) : NULL;
    if (to != NULL) {
        profalloc_question_free(question);
        question = NULL;
        *error = profalloc_answer_json(answer, to);
        fclose(to);
        bool complete = *error == 0 && strstr(text, "\"complete\": true") != NULL;
        expect(*error != 0 || (profalloc_answer_complete(answer) == 1) == complete, 0, "what is complete", 0);
    }
    profalloc_answer_free(answer);
    profalloc_question_free(question);
    if (*error != 0) {
        free(text);
        text = NULL;
    }
    return text;
}

static char *ask(profalloc_session_t *session, profalloc_analysis_t analysis, const char *where, const char *by,
                 int *error)
{
    profalloc_question_options_t asking = {.wheres = &where, .where_count = where != NULL, .by = by};
    return ask_for(session, analysis, &asking, error);
}

/* What the words of the command line ask for. */
static char *ask_words(profalloc_session_t *session, const char *form, const char *word, int *error)
{
    const char *most = "top 3 by bytes";
    double ns = atof(word);
    profalloc_question_options_t group = {
        .wheres = &most, .where_count = 1, .by = "function", .groups = &word, .group_count = 1};
    profalloc_question_options_t range = {.from_ns = ns, .to_ns = 2 * ns};
    profalloc_question_options_t where = {.wheres = &word, .where_count = 1};
    return ask_for(session, PROFALLOC_REPORT,
                   strcmp(form, "group") == 0   ? &group
                   : strcmp(form, "range") == 0 ? &range
                                                : &where,
                   error);
}

static void cancel(profalloc_session_t *session, size_t number)
{
    int error;
    calls = give_up_at = 0;
    char *whole = ask(session, cases[number].analysis, cases[number].where, cases[number].by, &error);
    expect(whole != NULL, number, "fails when nobody gives up", error);
    unsigned all = calls;
    expect(all > 2, number, "nobody is told how far it is", 0);
    for (unsigned at = 1; at <= all; at += all > GIVEN_UP ? all / GIVEN_UP : 1) {
        calls = 0;
        give_up_at = at;
        char *none = ask(session, cases[number].analysis, cases[number].where, cases[number].by, &error);
        expect(none == NULL && error == ECANCELED, number, "is not given up", error);
        give_up_at = 0;
        char *again = ask(session, cases[number].analysis, cases[number].where, cases[number].by, &error);
        expect(again != NULL && strcmp(whole, again) == 0, number, "another answer after it was given up once", error);
        free(again);
    }
    free(whole);
    printf("case %zu: %u calls\n", number, all);
}

static unsigned own_calls;
static unsigned said;     /* sentences to sessions, */
static unsigned own_said; /* and to questions */

static void hear(void *to, const char *sentence)
{
    (void)to;
    (void)sentence;
    said++;
}

static void hear_own(void *to, const char *sentence)
{
    (void)to;
    (void)sentence;
    own_said++;
}

/* What is wrong with a question is told to its own callback, and to the session's if it has none. */
static void refuse_own(profalloc_session_t *session, profalloc_analysis_t analysis)
{
    profalloc_answer_t *answer = NULL;
    const char *wrong = "nothing=3";
    profalloc_ask_options_t own = {.settings = &wrong, .setting_count = 1, .say = hear_own};
    profalloc_ask_options_t plain = {.settings = &wrong, .setting_count = 1};
    profalloc_side_t side = {.sessions = &session, .session_count = 1};
    profalloc_side_t nothing = {.sessions = NULL};
    said = own_said = 0;
    int error = profalloc_ask(session, NULL, analysis, &own, &answer);
    expect(error == EINVAL && answer == NULL && said == 0 && own_said == 1, analysis, "who is told what is wrong",
           error);
    error = profalloc_compare(&side, &side, NULL, &own, &answer);
    expect(error == EINVAL && said == 0 && own_said == 2, analysis, "who is told of a comparison", error);
    own.setting_count = 0;
    error = profalloc_compare(&nothing, &side, NULL, &own, &answer);
    expect(error == EINVAL && said == 0 && own_said == 3, analysis, "who is told of a side without anything", error);
    error = profalloc_ask(session, NULL, (profalloc_analysis_t)99, &own, &answer);
    expect(error == EINVAL && said == 0 && own_said == 4, analysis, "who is told of a wrong number", error);
    error = profalloc_ask(session, NULL, analysis, &plain, &answer);
    expect(error == EINVAL && said == 1 && own_said == 4, analysis, "the session is not told", error);
}

static int watch_own(void *to, const char *what, double part)
{
    const unsigned *at = to;
    (void)what;
    return part >= 1 || ++own_calls != *at;
}

static const char *vanishing;   /* a file, */
static const char *vanishes;    /* what goes on when it is removed, */
static const char *replacement; /* and the file that takes its place; NULL: none */

static int remove_file(void *to, const char *what, double part)
{
    (void)to;
    (void)part;
    if (vanishing != NULL && strcmp(what, vanishes) == 0 &&
        (replacement != NULL ? rename(replacement, vanishing) : unlink(vanishing)) == 0) {
        vanishing = NULL;
    }
    return 1;
}

/* Asks for advice, while the second of the traces is removed or replaced. */
static int ask_while_removed(char **words, size_t count, const char *where)
{
    static const profalloc_session_options_t options = {.progress = remove_file};
    profalloc_session_t *session = NULL;
    int error;
    vanishes = words[0];
    expect(profalloc_session_open(&session, &options, (const char *const *)words + 1, count - 1) == 0, 0, "no session",
           0);
    vanishing = words[2];
    char *json = ask(session, PROFALLOC_ADVISE, where, NULL, &error);
    expect(json != NULL && vanishing == NULL, 0, "cannot be asked while a trace is removed", error);
    fputs(json, stdout);
    free(json);
    profalloc_session_close(session);
    return 0;
}

/* One question is given up and no other; the session is told of the others alone. */
static int ask_own(char **paths)
{
    static const profalloc_session_options_t told = {.progress = watch, .say = hear};
    profalloc_session_t *session = NULL;
    profalloc_answer_t *answer = NULL;
    unsigned never = 0;
    unsigned first = 1;
    profalloc_ask_options_t own = {.progress = watch_own, .to = &never};
    profalloc_ask_options_t given_up = {.progress = watch_own, .to = &first};
    FILE *to = fopen("/dev/null", "w");
    expect(to != NULL && profalloc_session_open(&session, &told, (const char *const *)paths, 1) == 0, 0, "no session",
           0);
    for (unsigned i = 0; i < PROFALLOC_COMPARISON; i++) {
        profalloc_side_t side = {.sessions = &session, .session_count = 1};
        calls = own_calls = 0;
        int error = profalloc_ask(session, NULL, (profalloc_analysis_t)i, &own, &answer);
        unsigned made = own_calls;
        expect(error == 0 && made != 0 && calls == 0, i, "the session is told of a question with its own progress",
               error);
        expect(profalloc_answer_json(answer, to) == 0 && calls == 0, i, "or of its writing", 0);
        expect(i != PROFALLOC_REPORT || own_calls > made, i, "nobody is told of writing", 0);
        profalloc_answer_free(answer);
        own_calls = 0;
        error = profalloc_ask(session, NULL, (profalloc_analysis_t)i, &given_up, &answer);
        expect(error == ECANCELED && answer == NULL && calls == 0, i, "a question cannot be given up by itself", error);
        error = profalloc_ask(session, NULL, (profalloc_analysis_t)i, NULL, &answer);
        expect(error == 0 && calls != 0, i, "the session is not told of a question after that", error);
        profalloc_answer_free(answer);
        calls = own_calls = 0;
        error = profalloc_compare(&side, &side, NULL, &given_up, &answer);
        expect(error == ECANCELED && answer == NULL && calls == 0, i, "a comparison cannot be given up", error);
        refuse_own(session, (profalloc_analysis_t)i);
    }
    profalloc_session_close(session);
    fclose(to);
    return 0;
}

int main(int argc, char **argv)
{
    bool cancels = argc > 2 && strcmp(argv[1], "cancel") == 0;
    int first = cancels ? 2 : 3;
    profalloc_session_options_t options = {.progress = watch};
    profalloc_session_t *session = NULL;
    int error;
    if (setlocale(LC_ALL, "") == NULL) {
        return 2;
    }
    int status;
    if (argc == 3 && strcmp(argv[1], "own") == 0) {
        status = ask_own(argv + 2);
    } else if (argc > 4 && strcmp(argv[1], "vanish") == 0) {
        status = ask_while_removed(argv + 2, (size_t)argc - 2, NULL);
    } else if (argc > 6 && strcmp(argv[1], "replace") == 0) {
        replacement = argv[2];
        status = ask_while_removed(argv + 4, (size_t)argc - 4, argv[3]);
    } else {
        status = asking_run(argc, argv);
    }
    if (status >= 0) {
        return status;
    }
    if (argc <= first) {
        return 2;
    }
    if (profalloc_session_open(&session, &options, (const char *const *)argv + first, (size_t)(argc - first)) != 0) {
        return 1;
    }
    if (strcmp(argv[1], "gone") == 0 && unlink(argv[first]) != 0) {
        return 1;
    }
    for (size_t i = 0; cancels && i < sizeof cases / sizeof cases[0]; i++) {
        cancel(session, i);
    }
    if (!cancels) {
        char *json = ask_words(session, argv[1], argv[2], &error);
        expect(json != NULL, 0, "cannot be asked", error);
        printf("%.1f\n%s", 0.5, json); /* the first in the locale of this program */
        free(json);
    }
    profalloc_session_close(session);
    return 0;
}
