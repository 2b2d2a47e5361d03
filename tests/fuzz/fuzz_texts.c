/* libFuzzer on the texts that people and other builds hand to the tool. The first byte of an input says what the rest is:
 *
 *   e   an expression of --where: it is parsed, asked about some chunks, and asked again after a second parsing, which must answer
 *       the same
 *   q   a file of named queries, and what it asks for
 *   b   a baseline: one that can be read is written, read and written again, which must give the same bytes, and compared with itself
 *       and with a trace
 *   s   suppressions, with which the leaks of a trace are told
 *
 * The trace is one of the reader's corpus, which tests/fuzz/run.sh names. */
#include "analyze/query/where.h"
#include "analyze/diff/summary.h"
#include "cli/commands.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>

static char trace_path[64];
static char text_path[80];
static char saved_path[80];
static char again_path[80];

static void remove_files(void)
{
    (void)unlink(trace_path);
    (void)unlink(text_path);
    (void)unlink(saved_path);
    (void)unlink(again_path);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *folder = fuzz_folder();
    size_t size;
    (void)argc;
    (void)argv;
    snprintf(trace_path, sizeof trace_path, "%s/profalloc-fuzz-%d.pa", folder, (int)getpid());
    snprintf(text_path, sizeof text_path, "%s.txt", trace_path);
    snprintf(saved_path, sizeof saved_path, "%s.saved.txt", trace_path);
    snprintf(again_path, sizeof again_path, "%s.again.txt", trace_path);
    atexit(remove_files);
    uint8_t *trace = read_all(PFA_FUZZ_TRACE, &size);
    mend_checksums(trace, size);
    write_file(trace_path, trace, size);
    free(trace);
    return freopen("/dev/null", "w", stdout) == NULL;
}

static void expect(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "fuzz_texts: %s\n", what);
        abort();
    }
}

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
    expect((where == NULL) == (why != NULL), "an error has a reason, and nothing else has");
    expect((where == NULL) == (again == NULL), "an expression is right or wrong");
    if (where != NULL) {
        expect(pfa_where_identity(where) == pfa_where_identity(again), "what is asked has one number");
        expect(ask(where) == ask(again), "the same expression has the same answers");
        expect(pfa_where_identity(where) == pfa_where_identity(again), "asking changes nothing of what is asked");
    }
    pfa_where_free(where);
    pfa_where_free(again);
    free(why);
    free(again_why);
}

static void try_queries(void)
{
    char *why = NULL;
    pfa_where_names_t *names = pfa_where_names_new();
    bool read = pfa_where_names_read(names, text_path, &why);
    expect(read == (why == NULL), "a file that cannot be read has a reason");
    try_where(NULL, names);
    free(why);
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
    bool read = pfa_summary_read(from, &runs, &count, &room, texts, &why);
    expect(read == (why == NULL), "a baseline that cannot be read has a reason");
    expect(!read || pfa_summary_write(to, runs, count) == 0, "a baseline can be written");
    for (size_t i = 0; i < count; i++) {
        pfa_summary_free(&runs[i]);
    }
    free(runs);
    free(why);
    pfa_symbols_free(texts);
    return read;
}

static void try_baseline(void)
{
    size_t sizes[2];
    if (copy_baseline(text_path, saved_path)) {
        expect(copy_baseline(saved_path, again_path), "what was written can be read");
        uint8_t *saved = read_all(saved_path, &sizes[0]);
        uint8_t *again = read_all(again_path, &sizes[1]);
        expect(sizes[0] == sizes[1] && memcmp(saved, again, sizes[0]) == 0, "what was read is what was written");
        free(saved);
        free(again);
    }
    (void)run(pfa_command_diff, "diff", "--json", text_path, text_path);
    (void)run(pfa_command_diff, "diff", "--top=3", text_path, trace_path);
    (void)run(pfa_command_gate, "gate", "--max-point-bytes=5%", trace_path, text_path);
    (void)run(pfa_command_gate, "gate", "--max-leak=0", text_path, trace_path);
}

static void try_suppressions(void)
{
    char option[128];
    snprintf(option, sizeof option, "--suppressions=%s", text_path);
    (void)run(pfa_command_leaks, "leaks", option, trace_path, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    char *text = malloc(size);
    expect(text != NULL, "there is memory");
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    write_file(text_path, data + 1, size - 1);
    if (data[0] == 'e') {
        try_where(text, NULL);
    } else if (data[0] == 'q') {
        try_queries();
    } else if (data[0] == 'b') {
        try_baseline();
    } else if (data[0] == 's') {
        try_suppressions();
    }
    free(text);
    return 0;
}
