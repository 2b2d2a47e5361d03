/* libFuzzer on the texts that people and other builds hand to the library. The first byte of an input says what the rest is:
 *
 *   e   an expression of --where: it is parsed, asked about some chunks, and asked again after a second parsing, which must answer
 *       the same
 *   q   a file of named queries, and what it asks for
 *   b   a baseline: one that can be read is written, read and written again, which must give the same bytes, and compared with itself
 *       and with a trace
 *   s   suppressions, with which the leaks of a trace are told
 *
 * The trace is one of the reader's corpus, which tests/fuzz/run.sh names. */
#include "analyze/diff/summary.h"
#include "analyze/leaks/leaks.h"
#include "analyze/query/where.h"
#include "tests/fuzz/compare.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *trace_path;
static const char *text_path;
static const char *saved_path;
static const char *again_path;

enum { COMPARISONS = 4 };

/* What was done with the last text. */
typedef struct done {
    uint64_t answers;             /* of an expression, or of the last query of a file */
    bool is_baseline;             /* it was read, */
    int comparisons[COMPARISONS]; /* and the error numbers of what it was compared with */
    int suppressing;
    double suppressed; /* chunks */
} done_t;

static done_t done;

static bool any_text(void *to, pfa_field_t field, bool (*match)(void *with, const char *text), void *with)
{
    static const char *const texts[] = {
        "parse_file", "ns::list<int>::push(int const&)", "src/parse.c", "libthing.so.1.2", "worker-1", "\xff\xfe", ""};
    size_t first = ((size_t)field + *(const size_t *)to) % 3;
    for (size_t i = first; i < sizeof texts / sizeof texts[0]; i += 2) {
        if (match(with, texts[i])) {
            return true;
        }
    }
    return false;
}

/* The answers for a few chunks, as the bits of a number. */
static uint64_t ask(pfa_where_t *where)
{
    static const double values[] = {0, 1, 16, 4096, 1e9, 1e300, NAN, 0.5};
    uint64_t answers = 0;
    pfa_where_batch(where);
    for (size_t i = 0; i < 24; i++) {
        pfa_subject_t subject = {.to = &i, .any_text = any_text, .stack = (uint32_t)i, .free_stack = (uint32_t)i + 1};
        uint32_t slot = 0;
        for (size_t j = 0; j < PFA_FIELDS; j++) {
            subject.ids[j] = i;
            subject.numbers[j] = values[(i + j) % (sizeof values / sizeof values[0])];
        }
        pfa_truth_t truth = pfa_where_kind(where, &subject, &slot);
        bool yes = truth == PFA_OPEN ? pfa_where_chunk(where, slot, subject.numbers) : truth == PFA_YES;
        answers = answers << 1 | yes;
    }
    return answers;
}

static void try_where(const char *text, pfa_where_names_t *names)
{
    char *why = NULL;
    char *again_why = NULL;
    pfa_where_t *where = pfa_where_parse(text, names, &why);
    pfa_where_t *again = pfa_where_parse(text, names, &again_why);
    pfa_fuzz_expect((where == NULL) == (why != NULL), "an error has no reason, or something else has one");
    pfa_fuzz_expect((where == NULL) == (again == NULL), "an expression is right and wrong");
    if (where != NULL) {
        uint64_t identity = pfa_where_identity(where);
        done.answers = ask(where);
        pfa_fuzz_expect(identity == pfa_where_identity(again), "what is asked has two numbers");
        pfa_fuzz_expect(done.answers == ask(again), "the same expression has other answers");
        pfa_fuzz_expect(identity == pfa_where_identity(where), "asking changes what is asked");
    }
    pfa_where_free(where);
    pfa_where_free(again);
    pfa_memory_free(why);
    pfa_memory_free(again_why);
}

/* These four are work with an arena, each of a kind of text. */
static void try_expression(void *text)
{
    try_where(text, NULL);
}

static void try_queries(void *text)
{
    char *why = NULL;
    pfa_where_names_t *names = pfa_where_names_new();
    (void)text;
    bool read = pfa_where_names_read(names, text_path, &why);
    pfa_fuzz_expect(read == (why == NULL), "a file that cannot be read has no reason, or another has one");
    try_where(NULL, names);
    pfa_memory_free(why);
    pfa_where_names_free(names);
}

/* Reads a baseline and writes it. False: it is none. */
static bool copy_baseline(const char *from, const char *to)
{
    pfa_summary_t *runs = NULL;
    size_t count = 0;
    size_t room = 0;
    char *why = NULL;
    pfa_symbols_t *texts = pfa_symbols_new();
    bool read = pfa_summary_read(from, -1, &runs, &count, &room, texts, &why);
    pfa_fuzz_expect(read == (why == NULL), "a baseline that cannot be read has no reason, or another has one");
    pfa_fuzz_expect(!read || pfa_summary_write(to, runs, count) == 0, "a baseline cannot be written");
    for (size_t i = 0; i < count; i++) {
        pfa_summary_free(&runs[i]);
    }
    pfa_memory_free(runs);
    pfa_memory_free(why);
    pfa_symbols_free(texts);
    return read;
}

static void compare_copies(void)
{
    size_t sizes[2];
    uint8_t *saved = pfa_fuzz_read(saved_path, &sizes[0]);
    uint8_t *again = pfa_fuzz_read(again_path, &sizes[1]);
    pfa_fuzz_expect(sizes[0] == sizes[1] && memcmp(saved, again, sizes[0]) == 0,
                    "what was read is not what was written");
    free(saved);
    free(again);
}

static void try_baseline(void *text)
{
    size_t patience = SIZE_MAX;
    FILE *to = pfa_fuzz_nowhere();
    pfa_comparison_options_t options = {.session = pfa_fuzz_options(&patience)};
    (void)text;
    done.is_baseline = copy_baseline(text_path, saved_path);
    if (done.is_baseline) {
        pfa_fuzz_expect(copy_baseline(saved_path, again_path), "what was written cannot be read");
        compare_copies();
    }
    done.comparisons[0] = pfa_fuzz_diff(&options, text_path, text_path, 3, to);
    done.comparisons[1] = pfa_fuzz_diff(&options, text_path, trace_path, 3, to);
    done.comparisons[2] = pfa_fuzz_gate(&options, trace_path, text_path, "5%", to);
    options.with_leaks = true;
    done.comparisons[3] = pfa_fuzz_gate(&options, text_path, trace_path, "0", to);
    for (size_t i = 0; i < COMPARISONS; i++) {
        pfa_fuzz_expect_end(done.comparisons[i], "a comparison");
    }
}

static void try_suppressions(void *text)
{
    size_t patience = SIZE_MAX;
    pfa_session_options_t told = pfa_fuzz_options(&patience);
    pfa_leaks_options_t options = {
        .limits = pfa_leak_limits_standard(), .suppressions = &text_path, .suppression_count = 1};
    pfa_session_t *session;
    pfa_leaks_t *leaks;
    (void)text;
    pfa_fuzz_expect(pfa_session_open(&session, &told, &trace_path, 1) == 0, "a session cannot be opened");
    done.suppressing = pfa_leaks_collect(session, NULL, &options, &leaks);
    pfa_fuzz_expect_end(done.suppressing, "leaks");
    if (done.suppressing == 0) {
        pfa_fuzz_expect(pfa_leaks_text(leaks, 10, pfa_fuzz_nowhere()) == 0, "leaks cannot be written");
        done.suppressed = leaks->suppressed_chunks;
    }
    pfa_answer_free(leaks);
    pfa_session_close(session);
}

/* The text has a 0 behind it. */
static void try_text(uint8_t kind, char *text, size_t size)
{
    void (*work)(void *text) = kind == 'e'   ? try_expression
                               : kind == 'q' ? try_queries
                               : kind == 'b' ? try_baseline
                               : kind == 's' ? try_suppressions
                                             : NULL;
    done = (done_t){.answers = 0};
    if (work != NULL) {
        pfa_fuzz_write(text_path, text, size);
        pfa_fuzz_work(work, text);
    }
}

static void save_trace(void *to)
{
    size_t patience = SIZE_MAX;
    pfa_comparison_options_t options = {.session = pfa_fuzz_options(&patience), .with_leaks = true};
    *(int *)to = pfa_fuzz_save(&options, trace_path, text_path);
}

/* Right texts of each kind do what they are for: if none did, nothing would be tested. */
static void try_right_ones(void)
{
    char live[] = "live";
    char named[] = "big = size >= 16\nwhere big and live\n";
    char all[] = "leak:*\n";
    size_t size;
    int error;
    try_text('e', live, strlen(live));
    pfa_fuzz_expect(done.answers != 0, "an expression holds for no chunk");
    try_text('q', named, strlen(named));
    pfa_fuzz_expect(done.answers != 0, "what a file asks for holds for no chunk");
    try_text('s', all, strlen(all));
    pfa_fuzz_expect(done.suppressing == 0 && done.suppressed > 0, "no leak is suppressed");
    pfa_fuzz_work(save_trace, &error);
    pfa_fuzz_expect(error == 0, "a trace makes no baseline: %s", strerror(error));
    char *saved = (char *)pfa_fuzz_read(text_path, &size);
    try_text('b', saved, size);
    free(saved);
    pfa_fuzz_expect(done.is_baseline, "a baseline is not read");
    for (size_t i = 0; i < COMPARISONS; i++) {
        pfa_fuzz_expect(done.comparisons[i] == 0, "comparison %zu: %s", i, strerror(done.comparisons[i]));
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    size_t size;
    (void)argc;
    (void)argv;
    trace_path = pfa_fuzz_path(".pa");
    text_path = pfa_fuzz_path(".txt");
    saved_path = pfa_fuzz_path(".saved.txt");
    again_path = pfa_fuzz_path(".again.txt");
    uint8_t *trace = pfa_fuzz_read(PFA_FUZZ_TRACE, &size);
    pfa_fuzz_mend(trace, size);
    pfa_fuzz_write(trace_path, trace, size);
    free(trace);
    try_right_ones();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    char *text = malloc(size);
    pfa_fuzz_expect(text != NULL, "there is no memory");
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    try_text(data[0], text, size - 1);
    free(text);
    return 0;
}
