/* Owns what tests/analyze/asking.c asks by words of its command line: lists, facts of traces, any question, and comparisons. */
#include "tests/analyze/asking.h"
#include "include/profalloc-analyze.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char *const analyses[] = {
    [PROFALLOC_REPORT] = "report", [PROFALLOC_ADVISE] = "advise",  [PROFALLOC_LEAKS] = "leaks",
    [PROFALLOC_EXCESS] = "excess", [PROFALLOC_MPROF] = "mprof",    [PROFALLOC_TIMELINE] = "timeline",
    [PROFALLOC_FLAME] = "flame",   [PROFALLOC_COMPARISON] = "gate"};
enum { ANALYSES = sizeof analyses / sizeof analyses[0], MOST = 64 };

static int print_lists(void)
{
    static const char *const lists[] = {[PROFALLOC_KEYS] = "keys",
                                        [PROFALLOC_FIELDS] = "fields",
                                        [PROFALLOC_SORTS] = "sorts",
                                        [PROFALLOC_METRICS] = "metrics",
                                        [PROFALLOC_SETTINGS] = "settings"};
    for (unsigned i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        for (unsigned j = 0; j < ANALYSES; j++) {
            const profalloc_word_t *word;
            for (size_t k = 0; (word = profalloc_word((profalloc_list_t)i, (profalloc_analysis_t)j, k)) != NULL; k++) {
                printf("%s\t%s\t%s\t%s\t%s\n", lists[i], analyses[j], word->name, word->form != NULL ? word->form : "",
                       word->meaning);
            }
        }
    }
    return profalloc_word((profalloc_list_t)99, PROFALLOC_REPORT, 0) != NULL ||
           profalloc_word(PROFALLOC_SORTS, (profalloc_analysis_t)99, 0) != NULL;
}

static int print_facts(char **paths, size_t count)
{
    profalloc_session_t *session = NULL;
    profalloc_trace_t facts;
    if (profalloc_session_open(&session, NULL, (const char *const *)paths, count) != 0) {
        return 1;
    }
    for (size_t i = 0; profalloc_session_trace(session, i, &facts, sizeof facts) == 0; i++) {
        struct {
            const char *path;
            const char *canary;
        } small = {.canary = "not touched"};
        if (profalloc_session_trace(session, i, (profalloc_trace_t *)(void *)&small, sizeof small.path) != 0 ||
            strcmp(small.path, facts.path) != 0 || strcmp(small.canary, "not touched") != 0) {
            return 1;
        }
        printf("{\"path\": \"%s\", \"program\": \"%s\", \"command\": \"%s\", \"ending\": \"%s\", \"pid\": %u, "
               "\"parent_pid\": %u, \"start_unix_ns\": %llu, \"start_ns\": %.0f, \"duration_ns\": %.0f, "
               "\"sample\": %.0f, \"sampled\": %d, \"has_accesses\": %d}\n",
               facts.path, facts.program, facts.command, facts.ending, facts.pid, facts.parent_pid,
               (unsigned long long)facts.start_unix_ns, facts.start_ns, facts.duration_ns, facts.sample, facts.sampled,
               facts.has_accesses);
    }
    int end = profalloc_session_trace(session, profalloc_session_traces(session), &facts, sizeof facts);
    profalloc_session_close(session);
    return end != EINVAL;
}

/* What the words of the command line ask for. */
typedef struct wishes {
    profalloc_session_options_t session;
    profalloc_question_options_t asking;
    profalloc_ask_options_t options;
    profalloc_look_t look;
    const char *complete; /* "1" or "0": what is to be told of the answer; NULL: it is not asked */
    const char *settings[MOST];
    const char *wheres[MOST];
} wishes_t;

static void say(void *to, const char *sentence)
{
    (void)to;
    fprintf(stderr, "%s\n", sentence);
}

static const char *value_of(const char *word, const char *name)
{
    size_t length = strlen(name);
    return strncmp(word, name, length) == 0 && word[length] == '=' ? word + length + 1 : NULL;
}

static void take(wishes_t *wishes, const char *word)
{
    const char *value;
    if (word[0] == '=') {
        wishes->settings[wishes->options.setting_count++] = word + 1;
    } else if ((value = value_of(word, "sort")) != NULL) {
        wishes->options.sort = value;
    } else if ((value = value_of(word, "top")) != NULL) {
        wishes->options.top = (size_t)atol(value);
    } else if ((value = value_of(word, "buckets")) != NULL) {
        wishes->options.buckets = (size_t)atol(value);
    } else if ((value = value_of(word, "metric")) != NULL) {
        wishes->options.metric = value;
    } else if ((value = value_of(word, "at")) != NULL) {
        wishes->options.at_ns = atof(value);
    } else if ((value = value_of(word, "by")) != NULL) {
        wishes->asking.by = value;
    } else if ((value = value_of(word, "where")) != NULL) {
        wishes->wheres[wishes->asking.where_count++] = value;
    } else if ((value = value_of(word, "threads")) != NULL) {
        wishes->session.threads = (unsigned)atol(value);
    } else if ((value = value_of(word, "columns")) != NULL) {
        wishes->look.columns = (unsigned)atol(value);
    } else if ((value = value_of(word, "ascii")) != NULL) {
        wishes->look.ascii = atoi(value);
    } else if ((value = value_of(word, "complete")) != NULL) {
        wishes->complete = value;
    } else if ((value = value_of(word, "colour")) != NULL) {
        wishes->look.colour = atoi(value);
    } else {
        exit(2);
    }
}

/* The words up to "--"; where those behind it begin. */
static char **take_words(wishes_t *wishes, char **words)
{
    *wishes = (wishes_t){.session = {.say = say}};
    for (; *words != NULL && strcmp(*words, "--") != 0; words++) {
        take(wishes, *words);
    }
    wishes->options.settings = wishes->settings;
    wishes->asking.wheres = wishes->wheres;
    return *words != NULL ? words + 1 : words;
}

static int put(profalloc_answer_t *answer, const wishes_t *wishes, const char *form)
{
    static const profalloc_look_t usual;
    const profalloc_look_t *look = &wishes->look;
    if (wishes->complete != NULL && profalloc_answer_complete(answer) != atoi(wishes->complete)) {
        return ENOTRECOVERABLE;
    }
    if (strcmp(form, "text") == 0) {
        return memcmp(look, &usual, sizeof usual) == 0 ? profalloc_answer_text(answer, stdout)
                                                       : profalloc_answer_text_as(answer, look, stdout);
    }
    return strcmp(form, "json") == 0  ? profalloc_answer_json(answer, stdout)
           : strcmp(form, "svg") == 0 ? profalloc_answer_svg(answer, stdout)
                                      : profalloc_answer_sarif(answer, stdout);
}

static int status_of(int error)
{
    return error != 0 ? 100 + error : 0;
}

static int ask_any(char **words)
{
    wishes_t wishes;
    profalloc_session_t *session = NULL;
    profalloc_question_t *question = NULL;
    profalloc_answer_t *answer = NULL;
    unsigned analysis = 0;
    while (analysis < ANALYSES && strcmp(words[0], analyses[analysis]) != 0) {
        analysis++;
    }
    char **paths = take_words(&wishes, words + 2);
    size_t count = 0;
    while (paths[count] != NULL) {
        count++;
    }
    int error = profalloc_session_open(&session, &wishes.session, (const char *const *)paths, count);
    error = error != 0 ? error : profalloc_question_make(&question, &wishes.asking, NULL, 0);
    error =
        error != 0 ? error : profalloc_ask(session, question, (profalloc_analysis_t)analysis, &wishes.options, &answer);
    profalloc_question_free(question);
    error = error != 0 ? error : put(answer, &wishes, words[1]);
    profalloc_answer_free(answer);
    profalloc_session_close(session);
    return status_of(error);
}

typedef struct side {
    profalloc_session_t *sessions[MOST];
    const char *files[MOST];
    profalloc_side_t side;
} side_t;

static char **open_side(side_t *side, const wishes_t *wishes, char **words)
{
    *side = (side_t){.side = {.session_count = 0}};
    for (; *words != NULL && strcmp(*words, "--") != 0; words++) {
        if (strncmp(*words, "file:", 5) == 0) {
            side->files[side->side.file_count++] = *words + 5;
        } else if (profalloc_session_open(&side->sessions[side->side.session_count++], &wishes->session,
                                          (const char *const *)words, 1) != 0) {
            exit(2);
        }
    }
    side->side.sessions = side->sessions;
    side->side.files = side->files;
    return *words != NULL ? words + 1 : words;
}

static void close_side(const side_t *side)
{
    for (size_t i = 0; i < side->side.session_count; i++) {
        profalloc_session_close(side->sessions[i]);
    }
}

/* As `profalloc gate`: 3 if a limit is exceeded. */
static int compare(char **words)
{
    wishes_t wishes;
    side_t sides[2];
    profalloc_question_t *question = NULL;
    profalloc_answer_t *answer = NULL;
    char **rest = take_words(&wishes, words + 1);
    rest = open_side(&sides[0], &wishes, rest);
    (void)open_side(&sides[1], &wishes, rest);
    int error = profalloc_question_make(&question, &wishes.asking, NULL, 0);
    error = error != 0 ? error : profalloc_compare(&sides[0].side, &sides[1].side, question, &wishes.options, &answer);
    close_side(&sides[0]);
    close_side(&sides[1]);
    profalloc_question_free(question);
    error = error != 0 ? error : put(answer, &wishes, words[0]);
    bool exceeded = error == 0 && profalloc_answer_exceeded(answer);
    profalloc_answer_free(answer);
    return exceeded ? 3 : status_of(error);
}

int asking_run(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "lists") == 0) {
        return print_lists();
    }
    if (argc > 2 && strcmp(argv[1], "facts") == 0) {
        return print_facts(argv + 2, (size_t)argc - 2);
    }
    if (argc > 4 && strcmp(argv[1], "ask") == 0) {
        return ask_any(argv + 2);
    }
    return argc > 4 && strcmp(argv[1], "compare") == 0 ? compare(argv + 2) : -1;
}
