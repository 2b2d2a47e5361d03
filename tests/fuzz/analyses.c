/* Owns the list of analyses. See tests/fuzz/analyses.h. */
#include "tests/fuzz/analyses.h"
#include "tests/fuzz/forms.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct analysis {
    const char *name;
    pfa_fuzz_form_t *form;
    bool two;      /* traces */
    bool compares; /* them, as two sides */
    const char *where;
    const char *by;
    double from_ns;
    double to_ns;
    const char *group;
    const char *says[3]; /* of whole traces, */
    const char *omits;   /* and what it does not */
} analysis_t;

static const char *trace_path;
static const char *other_path;
static char in_other[128]; /* an expression that asks the other trace, too */

static const analysis_t analyses[] = {
    {"advise as JSON", pfa_fuzz_advise_json, .says = {"\"advice\": \"shrink\""}},
    {"advise as text", pfa_fuzz_advise_text, .two = true, .says = {"ask for less", "18 of 36 chunks"}},
    {"leaks as JSON", pfa_fuzz_leaks_json, .says = {"\"verdict\": \"stale\""}},
    {"leaks as text", pfa_fuzz_leaks_text, .two = true, .says = {"#1  in use (sure: low"}},
    {"excess as JSON", pfa_fuzz_excess_json, .says = {"\"most_frequent\": true", "\"object_count\": 190"}},
    {"excess as text", pfa_fuzz_excess_text, .two = true, .says = {"threshold: ", "Keep freed chunks in a free list"}},
    {"excess as pictures", pfa_fuzz_excess_svg, .by = "size", .says = {"<title>Ratio of", "bytes, freed by"}},
    {"timeline as CSV", pfa_fuzz_timeline_csv, .says = {"0.000034246,949,8,"}},
    {"timeline as a chart", pfa_fuzz_timeline_term, .two = true, .by = "thread", .says = {"  other\n", ".cut.pa\n"}},
    {"timeline as a picture", pfa_fuzz_timeline_svg, .two = true, .says = {"<title>Live chunks over time: 2 traces"}},
    {"timeline as JSON", pfa_fuzz_timeline_json, .by = "size", .says = {"\"name\": \"98305-106496\""}},
    {"flame, folded", pfa_fuzz_flame_folded, .says = {";?+0x1234 17348\n"}},
    {"flame of the peak", pfa_fuzz_flame_peak, .two = true, .says = {"?+0x1234;", " 16802\n"}},
    {"flame by size", pfa_fuzz_flame_folded, .two = true, .by = "size", .says = {"\n22;", "+0x5dd4 44\n"}},
    {"flame as a picture", pfa_fuzz_flame_svg, .says = {">200 chunks<", "+0x5dd4"}},
    {"flame of waste", pfa_fuzz_flame_wasted, .two = true, .says = {"\"metric\": \"wasted\"", "\"total\": 1697501"}},
    {"flame of a moment", pfa_fuzz_flame_at, .says = {"\"metric\": \"at\"", "\"total\": 937119"}},
    {"mprof by thread", pfa_fuzz_mprof_text, .two = true, .by = "thread", .says = {"DIRECT", "0 |", ".cut.pa\n"}},
    {"mprof with call sites", pfa_fuzz_mprof_offsets, .says = {"ALLOCATION CALL GRAPH", "18/18  0x1234 [2]"}},
    {"mprof as JSON", pfa_fuzz_mprof_json, .two = true, .says = {"\"descendents\"", "\"bytes\": 34606"}},
    {"chunks", pfa_fuzz_chunks, .where = "size > 16 and lifetime < 1us", .says = {"lived 55 ns"}, .omits = "alive"},
    {"chunks of a set", pfa_fuzz_chunks, .two = true, .where = "point in (live) | top 2 by count",
     .says = {"alive of 222 bytes"}, .omits = "alive of 89 bytes"},
    {"chunks of another trace", pfa_fuzz_chunks, .where = in_other, .says = {"alive of 190"}, .omits = "alive of 222"},
    {"diff", pfa_fuzz_compare_diff, .two = true, .compares = true,
     .says = {"\"schema\": \"profalloc-diff\"", "Shrank, allocated: 7 points"}},
    {"diff of some chunks", pfa_fuzz_compare_diff, .two = true, .compares = true, .where = "size > 16",
     .says = {"\"where\": \"size > 16\"", "Shrank, allocated: 7 points"}},
    {"gate", pfa_fuzz_compare_gate, .two = true, .compares = true,
     .says = {"7 of 12 points", "\"schema\": \"profalloc-gate\"", "\"ruleId\": \"max-point-live\""}},
    {"gate by size", pfa_fuzz_compare_gate, .two = true, .compares = true, .by = "size",
     .says = {"7 of 149 points", "\"schema\": \"profalloc-gate\"", "\"ruleId\": \"max-live-growth\""}},
    {"report of a set", pfa_fuzz_report_text, .where = "size > 16 and lifetime < 1ms | top 3 by bytes",
     .says = {"by bytes allocated: 3 of 3\n", "live at the end: 1 of 3\n"}},
    {"report by function", pfa_fuzz_report_text, .two = true, .by = "function", .says = {" 392 ", "allocated: 3 of 3"}},
    {"report by file", pfa_fuzz_report_json, .two = true, .by = "file", .says = {"(no file is known)"}},
    {"report by module", pfa_fuzz_report_json, .by = "module", .says = {"(no module is known)"}},
    {"report by tag", pfa_fuzz_report_json, .two = true, .by = "tag", .says = {"(no tag)", "\"allocations\": 392"}},
    {"report of a thread", pfa_fuzz_report_json, .by = "thread", .group = "worker-1 (1001)",
     .says = {"\"allocations\": 73"}},
    {"report of a time", pfa_fuzz_report_json, .from_ns = 1000, .to_ns = 5000, .says = {"\"allocations\": 196"}}};

enum { ANALYSES = sizeof analyses / sizeof analyses[0] };

void pfa_fuzz_analyses_begin(const char *trace, const char *other)
{
    trace_path = trace;
    other_path = other;
    snprintf(in_other, sizeof in_other, "live and point in \"%s\" where (size > 150K)", other);
}

typedef struct run {
    const analysis_t *analysis;
    pfa_fuzz_asked_t asked;
    size_t traces; /* that there were */
    int error;
} run_t;

static pfa_question_t *make_question(const analysis_t *analysis)
{
    char *why;
    pfa_asking_t asking = {.wheres = &analysis->where,
                           .where_count = analysis->where != NULL,
                           .by = analysis->by,
                           .from_ns = analysis->from_ns,
                           .to_ns = analysis->to_ns,
                           .groups = &analysis->group,
                           .group_count = analysis->group != NULL};
    pfa_question_t *question = pfa_question_make(&asking, &why);
    pfa_fuzz_expect(question != NULL, "%s: %s", analysis->name, why);
    return question;
}

/* Work with an arena. */
static void ask(void *to)
{
    run_t *run = to;
    pfa_fuzz_asked_t *asked = &run->asked;
    asked->question = make_question(run->analysis);
    if (!run->analysis->compares) {
        run->error = pfa_session_open(&asked->session, &asked->options, asked->files, run->analysis->two ? 2 : 1);
        run->traces = run->error == 0 ? pfa_session_traces(asked->session) : 0;
    }
    run->error = run->error != 0 ? run->error : run->analysis->form(asked);
    pfa_session_close(asked->session);
}

static run_t run_analysis(const analysis_t *analysis, size_t patience, FILE *to)
{
    run_t run = {.analysis = analysis,
                 .asked = {.options = pfa_fuzz_options(&patience), .files = {trace_path, other_path}, .to = to}};
    pfa_fuzz_work(ask, &run);
    return run;
}

void pfa_fuzz_analyze(size_t number, size_t patience)
{
    const analysis_t *analysis = &analyses[number % ANALYSES];
    int error = run_analysis(analysis, patience, pfa_fuzz_nowhere()).error;
    if (error != ECANCELED || patience == SIZE_MAX) {
        pfa_fuzz_expect_end(error, analysis->name);
    }
}

/* The text comes first: run.sh shows the end. */
static void expect_text(bool holds, const analysis_t *analysis, const char *what, const char *words, const char *text)
{
    if (!holds) {
        fputs(text, stderr);
    }
    pfa_fuzz_expect(holds, "%s: of whole traces it %s '%s'", analysis->name, what, words);
}

static void check_text(const analysis_t *analysis, const char *text)
{
    for (size_t i = 0; i < sizeof analysis->says / sizeof analysis->says[0]; i++) {
        const char *says = analysis->says[i];
        pfa_fuzz_expect(says != NULL || i != 0, "%s: nobody knows what it should say", analysis->name);
        expect_text(says == NULL || strstr(text, says) != NULL, analysis, "does not say", says, text);
    }
    const char *omits = analysis->omits;
    expect_text(omits == NULL || strstr(text, omits) == NULL, analysis, "says", omits, text);
}

static void try_one(const analysis_t *analysis)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    pfa_fuzz_expect(to != NULL, "there is no memory");
    run_t run = run_analysis(analysis, SIZE_MAX, to);
    fclose(to);
    pfa_fuzz_expect(run.error == 0, "%s: %s, on whole traces", analysis->name, strerror(run.error));
    pfa_fuzz_expect(analysis->compares || run.traces == (analysis->two ? 2 : 1), "%s: has %zu traces", analysis->name,
                    run.traces);
    check_text(analysis, text);
    free(text);
}

void pfa_fuzz_analyses_try(void)
{
    for (size_t i = 0; i < ANALYSES; i++) {
        try_one(&analyses[i]);
    }
}
