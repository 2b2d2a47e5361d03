/* Every analysis through the public interface, with memory failing at each call in turn: an error comes back, nothing is lost, nothing ends the
 * process. What fails is chosen by the program's name:
 *
 *   failing_own   the library's own calls of malloc, calloc, realloc, open_memstream, fopen and the like (the linker's --wrap)
 *   failing_all   all calls of malloc, calloc and realloc in the process: those of libdw, zstd and stdio, too
 *
 *   failing_... TRACE...   prints how many calls there were, for each analysis */
#include "include/profalloc-analyze.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/analyze/failing.h"

static uint64_t calls;   /* since it was armed, of all threads */
static uint64_t fail_at; /* 0: none */
static int64_t blocks;   /* that are not freed */

bool failing_now(void)
{
    uint64_t call = fail_at != 0 ? __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) : 0;
    return call != 0 && call >= fail_at &&
           call < fail_at + 3; /* three in a row: a second way that needs memory fails, too */
}

void failing_count(int change)
{
    __atomic_add_fetch(&blocks, change, __ATOMIC_RELAXED);
}

static const struct {
    profalloc_analysis_t analysis;
    const char *name;
    const char *where;
    const char *by;
    const char *metric;
} cases[] = {{PROFALLOC_REPORT, "report", NULL, NULL, NULL},
             {PROFALLOC_REPORT, "report --where --by", "size > 16 and lifetime < 1ms or function = m* | top 3 by bytes",
              "function", NULL},
             {PROFALLOC_ADVISE, "advise", NULL, NULL, NULL},
             {PROFALLOC_LEAKS, "leaks", NULL, NULL, NULL},
             {PROFALLOC_EXCESS, "excess", NULL, NULL, NULL},
             {PROFALLOC_MPROF, "mprof", NULL, "thread", NULL},
             {PROFALLOC_TIMELINE, "timeline", "live or size > 64", "size", NULL},
             {PROFALLOC_FLAME, "flame", NULL, "module", "peak"}};

static int write_forms(profalloc_answer_t *answer, FILE *to)
{
    int error = profalloc_answer_json(answer, to);
    error = error != 0 ? error : profalloc_answer_text(answer, to);
    int drawn = error == 0 ? profalloc_answer_svg(answer, to) : error;
    return drawn == ENOTSUP ? 0 : drawn;
}

static int ask(size_t number, const char *const *paths, size_t count, FILE *to)
{
    profalloc_question_options_t asking = {
        .wheres = &cases[number].where, .where_count = cases[number].where != NULL, .by = cases[number].by};
    profalloc_ask_options_t options = {.metric = cases[number].metric, .buckets = 20};
    profalloc_session_t *session = NULL;
    profalloc_question_t *question = NULL;
    profalloc_answer_t *answer = NULL;
    int error = profalloc_session_open(&session, NULL, paths, count);
    error = error != 0 ? error : profalloc_question_make(&question, &asking, NULL, 0);
    error = error != 0 ? error : profalloc_ask(session, question, cases[number].analysis, &options, &answer);
    error = error != 0 ? error : write_forms(answer, to);
    profalloc_answer_free(answer);
    profalloc_question_free(question);
    profalloc_session_close(session);
    return error;
}

static size_t count_files(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t count = 0;
    for (; folder != NULL && readdir(folder) != NULL; count++) {
    }
    closedir(folder);
    return count;
}

static void expect(bool holds, size_t number, uint64_t at, const char *what, int error)
{
    if (!holds) {
        fprintf(stderr, "failing: %s, call %" PRIu64 ": %s (%s)\n", cases[number].name, at, what, strerror(error));
        exit(1);
    }
}

/* How many calls there are if none fails. */
static uint64_t count_calls(size_t number, const char *const *paths, size_t count, FILE *to)
{
    calls = 0;
    fail_at = UINT64_MAX - 4;
    int error = ask(number, paths, count, to);
    fail_at = 0;
    expect(error == 0, number, 0, "fails with memory", error);
    return calls;
}

static void try_case(size_t number, const char *const *paths, size_t count, FILE *to)
{
    uint64_t all = count_calls(number, paths, count, to);
    uint64_t step = all > FAILING_MOST ? all / FAILING_MOST : 1;
    (void)count_calls(number, paths, count, to); /* what libraries keep for good is there now */
    int64_t before = blocks;
    size_t files = count_files();
    uint64_t told = 0;
    for (uint64_t at = 1; at <= all; at += at < FAILING_EACH ? 1 : step) {
        calls = 0;
        fail_at = at;
        int error = ask(number, paths, count, to);
        fail_at = 0;
        told += error == ENOMEM;
        expect(error == 0 || error == ENOMEM || FAILING_MAY(error), number, at, "another error than ENOMEM", error);
        /* How many calls there are depends on which threads come to have work. */
        expect(!FAILING_STRICT || error == ENOMEM || calls < at, number, at, "nothing is told", error);
        expect(!FAILING_STRICT || blocks == before, number, at, "blocks are lost", error);
        expect(count_files() == files, number, at, "files stay open", error);
    }
    expect(told != 0, number, 0, "memory never failed", 0);
    printf("%s: %" PRIu64 " calls\n", cases[number].name, all);
}

int main(int argc, char **argv)
{
    FILE *nowhere = fopen("/dev/null", "w");
    if (argc < 2 || nowhere == NULL) {
        return 2;
    }
    setvbuf(nowhere, NULL, _IONBF, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        try_case(i, (const char *const *)argv + 1, (size_t)argc - 1, nowhere);
    }
    fclose(nowhere);
    return 0;
}
