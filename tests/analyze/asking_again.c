/* Asks a session by the public interface again and again, for tests/analyze/sessions.py, which changes files in between:
 *
 *   asking_again TRACE...    for each line of standard input the report as JSON, and a line behind it
 *
 * The line "ending" has as JSON only how the first trace ends. The line "leave" has an answer written that is left in the middle, whenever that
 * may be, and then written again. */
#include "include/profalloc-analyze.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static unsigned calls;
static unsigned leave_at; /* 0: never */

static int watch(void *to, const char *what, double part)
{
    (void)to;
    (void)what;
    return part >= 1 || ++calls != leave_at;
}

static void must(int error, const char *what)
{
    if (error != 0) {
        fprintf(stderr, "asking_again: %s: %s\n", what, strerror(error));
        exit(1);
    }
}

static char *write_json(profalloc_answer_t *answer, int expected)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    must(to == NULL ? ENOMEM : 0, "memory");
    must(profalloc_answer_json(answer, to) == expected ? 0 : EINVAL, "writing");
    fclose(to);
    return text;
}

static void leave(profalloc_answer_t *answer)
{
    calls = 0;
    char *whole = write_json(answer, 0);
    unsigned all = calls;
    for (unsigned at = 1; at <= all; at++) {
        calls = 0;
        leave_at = at;
        free(write_json(answer, ECANCELED));
        leave_at = 0;
        char *again = write_json(answer, 0);
        must(strcmp(whole, again) == 0 ? 0 : EINVAL, "what is written after a writer was left");
        free(again);
    }
    fprintf(stderr, "left %u times\n", all);
    free(whole);
}

int main(int argc, char **argv)
{
    static const profalloc_question_options_t all;
    profalloc_session_options_t options = {.progress = watch};
    profalloc_session_t *session = NULL;
    profalloc_question_t *question = NULL;
    char line[16];
    must(profalloc_session_open(&session, &options, (const char *const *)argv + 1, (size_t)(argc - 1)), "opening");
    must(profalloc_question_make(&question, &all, NULL, 0), "the question");
    while (fgets(line, sizeof line, stdin) != NULL) {
        profalloc_answer_t *answer = NULL;
        if (strcmp(line, "ending\n") == 0) {
            profalloc_trace_t trace;
            must(profalloc_session_trace(session, 0, &trace, sizeof trace), "looking at a trace");
            printf("{\"ending\": \"%s\"}\n---\n", trace.ending);
            fflush(stdout);
            continue;
        }
        must(profalloc_ask(session, question, PROFALLOC_REPORT, NULL, &answer), "asking");
        if (strcmp(line, "leave\n") == 0) {
            leave(answer);
        }
        char *text = write_json(answer, 0);
        printf("%s\n---\n", text);
        fflush(stdout);
        free(text);
        profalloc_answer_free(answer);
    }
    profalloc_question_free(question);
    profalloc_session_close(session);
    return 0;
}
