/* libFuzzer on everything that reads a trace and its live table: open, report as JSON and text, check's count, dump, seal, the
 * report of what was sealed, pack, and the report of what was packed together with a cut copy that began at another time (by
 * the time of the trace's first block, which means nothing else). Checksums are made right first, so that the decoders are met, and symbols are left out: they
 * are of this machine's files.
 *
 * An input is a trace, and, if its last byte is 'L', a live table before that in short form:
 *   trace | head (the fixed part of pfa_live_head_t) | count, extents | bytes, put behind the table of extents | u32 size of
 *   the trace | 'L'
 *
 * sources: see tests/fuzz/run.sh */
#include "cli/commands.h"
#include "analyze/points/report.h"
#include "analyze/trace/seal.h"
#include "tests/fuzz/fuzz.h"

static char trace_path[64];
static char live_path[80];
static char packed_path[80];
static char cut_path[80];
static char out_path[80];

static void remove_files(void)
{
    (void)unlink(trace_path);
    (void)unlink(live_path);
    (void)unlink(packed_path);
    (void)unlink(cut_path);
    (void)unlink(out_path);
}

/* The short form has no table of 32768 extents. */
static void write_live(const uint8_t *bytes, size_t size)
{
    static uint8_t table[sizeof(pfa_live_head_t) + (1 << 16)];
    size_t fixed = offsetof(pfa_live_head_t, extents);
    pfa_live_head_t *head = (pfa_live_head_t *)(void *)table;
    memset(table, 0, sizeof table);
    memcpy(table, bytes, size < fixed ? size : fixed);
    size_t used = size < fixed ? size : fixed;
    size_t count = used < size ? bytes[used++] % 16 : 0;
    for (size_t i = 0; i < count && size - used >= sizeof *head->extents; i++, used += sizeof *head->extents) {
        memcpy(&head->extents[i], bytes + used, sizeof *head->extents);
    }
    size_t rest = size - used < 1 << 16 ? size - used : 1 << 16;
    /* The times, which older tables have not, are these bytes too. */
    memcpy(table + offsetof(pfa_live_head_t, times), bytes + used, rest);
    write_file(live_path, table, offsetof(pfa_live_head_t, times) + rest);
}

static void report_it(void)
{
    static const pfa_order_t orders[] = {PFA_BY_BYTES, PFA_BY_LIVE};
    char *paths[] = {trace_path};
    pfa_query_t query;
    pfa_query_open(&query, "report", paths, 1);
    if (query.source_count == 0) {
        pfa_query_close(&query);
        return;
    }
    pfa_report_t report;
    pfa_thresholds_t thresholds = pfa_thresholds_standard();
    pfa_report_collect(&report, &query, &thresholds);
    if (report.query.source_count != 0) {
        pfa_report_json(&report, 20, PFA_BY_COUNT);
        pfa_report_text(&report, 5, orders, 2);
    }
    pfa_report_free(&report);
}

/* The blocks' first two thirds, begun at another time. */
static void write_cut(uint8_t *bytes, size_t size)
{
    pfa_block_header_t header;
    pfa_trace_start_t start;
    if (size >= sizeof header + sizeof start) {
        memcpy(&header, bytes, sizeof header);
        memcpy(&start, bytes + sizeof header, sizeof start);
        start.monotonic_ns += header.time;
        start.unix_ns += header.time;
        memcpy(bytes + sizeof header, &start, sizeof start);
    }
    size = size / 3 * 2;
    mend_checksums(bytes, size);
    write_file(cut_path, bytes, size);
}

/* One analysis for each input: all of them would take too long. */
static const struct {
    int (*command)(int argc, char **argv);
    const char *name;
    const char *option;
    bool two;         /* traces */
    const char *more; /* another option */
    const char *says; /* of a whole trace; NULL: something */
} analyses[] = {
    {pfa_command_advise, "advise", "--json", false, NULL, "\"advice\": \"shrink\""},
    {pfa_command_advise, "advise", "--sort=calls", true, NULL, "ask for less"},
    {pfa_command_leaks, "leaks", "--json", false, NULL, NULL},
    {pfa_command_leaks, "leaks", "--top=5", true, NULL, NULL},
    {pfa_command_excess, "excess", "--json", false, NULL, NULL},
    {pfa_command_excess, "excess", "--method=iqr", true, NULL, NULL},
    {pfa_command_timeline, "timeline", "--csv", false, NULL, NULL},
    {pfa_command_timeline, "timeline", "--by=thread", true, NULL, NULL},
    {pfa_command_flame, "flame", "--folded", false, NULL, NULL},
    {pfa_command_flame, "flame", "--metric=peak", true, NULL, NULL},
    {pfa_command_flame, "flame", "--by=size", true, NULL, NULL},
    {pfa_command_flame, "flame", "--svg=-", false, NULL, NULL},
    {pfa_command_timeline, "timeline", "--svg=-", true, NULL, NULL},
    {pfa_command_mprof, "mprof", "--by=thread", true, NULL, NULL},
    {pfa_command_dump, "dump", "--where=size > 16 and lifetime < 1ms", false, NULL, NULL},
    {pfa_command_diff, "diff", "--json", true, NULL, NULL},
    {pfa_command_gate, "gate", "--max-peak=5%", true, "--allow-incomplete", NULL},
    {pfa_command_report, "report", "--where=size > 16 and lifetime < 1ms | top 3 by bytes", false, NULL, NULL},
    {pfa_command_report, "report", "--by=function", true, NULL, NULL}};

static int run_analysis(size_t number)
{
    const char *words[] = {analyses[number].name, analyses[number].option, analyses[number].more, trace_path,
                           analyses[number].two ? cut_path : NULL};
    return run_words(analyses[number].command, words, sizeof words / sizeof words[0]);
}

enum { ANALYSES = sizeof analyses / sizeof analyses[0], GATE_IS_SHUT = 3 };

static void run_commands(void)
{
    (void)run(pfa_command_dump, "dump", "--events", "--nodes", trace_path);
    (void)run(pfa_command_dump, "dump", "--json", "--nodes", trace_path);
    (void)unlink(packed_path);
    bool packed = run(pfa_command_pack, "pack", "-o", packed_path, trace_path) == 0;
    (void)run(pfa_command_report, "report", "--json", packed ? packed_path : trace_path, cut_path);
    (void)run(pfa_command_mprof, "mprof", "-offsets", packed ? packed_path : trace_path, NULL);
    (void)run(pfa_command_mprof, "mprof", "--json", trace_path, cut_path);
}

static void print_to(const char *path)
{
    if (freopen(path, "w", stdout) == NULL) {
        abort();
    }
}

/* Did the last analysis print what it should? */
static bool has_said(const char *text)
{
    size_t size = 0;
    fflush(stdout);
    char *out = (char *)read_all(out_path, &size);
    out[size] = '\0';
    bool said = size != 0 && (text == NULL || strstr(out, text) != NULL);
    free(out);
    return said;
}

/* Each of them does its work on a whole trace: a command line that is refused, or finds nothing to say, would test nothing. */
static void try_analyses(void)
{
    size_t size = 0;
    uint8_t *bytes = read_all(PFA_FUZZ_TRACE, &size);
    mend_checksums(bytes, size);
    write_file(trace_path, bytes, size);
    write_cut(bytes, size);
    for (size_t i = 0; i < ANALYSES; i++) {
        print_to(out_path);
        int status = run_analysis(i);
        if (!has_said(analyses[i].says)) {
            fprintf(stderr, "fuzz_reader: %s %s: has nothing to say of a whole trace\n", analyses[i].name,
                    analyses[i].option);
            abort();
        }
        if (status != 0 && !(status == GATE_IS_SHUT && strcmp(analyses[i].name, "gate") == 0)) {
            fprintf(stderr, "fuzz_reader: %s %s: status %d on a whole trace\n", analyses[i].name, analyses[i].option,
                    status);
            abort();
        }
    }
    free(bytes);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *folder = fuzz_folder();
    (void)argc;
    (void)argv;
    snprintf(trace_path, sizeof trace_path, "%s/profalloc-fuzz-%d.pa", folder, (int)getpid());
    snprintf(live_path, sizeof live_path, "%s%s", trace_path, PFA_LIVE_SUFFIX);
    snprintf(packed_path, sizeof packed_path, "%s.packed.pa", trace_path);
    snprintf(cut_path, sizeof cut_path, "%s.cut.pa", trace_path);
    snprintf(out_path, sizeof out_path, "%s.out", trace_path);
    atexit(remove_files);
    try_analyses();
    print_to("/dev/null");
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *why = NULL;
    size_t trace_size = size;
    uint32_t said;
    uint8_t *copy = malloc(size + 1);
    if (copy == NULL) {
        return 0;
    }
    memcpy(copy, data, size);
    (void)unlink(live_path);
    if (size >= sizeof said + 1 && copy[size - 1] == 'L') {
        memcpy(&said, copy + size - 1 - sizeof said, sizeof said);
        size_t rest = size - 1 - sizeof said;
        trace_size = said < rest ? said : rest;
        write_live(copy + trace_size, rest - trace_size);
    }
    mend_checksums(copy, trace_size);
    write_file(trace_path, copy, trace_size);
    write_cut(copy, trace_size);
    free(copy);
    report_it();
    if (pfa_seal(trace_path, &why) == PFA_SEALED) {
        report_it();
    }
    free(why);
    run_commands();
    (void)run_analysis((size != 0 ? data[size / 2] : 0) % ANALYSES);
    return 0;
}
