/* libFuzzer on everything that reads a trace and its live table: a walk through all it holds, reports as JSON and text, sealing, the
 * report of what was sealed, packing, reports of the trace, its packed copy and a cut one together, and one of the analyses, which some
 * inputs give up in the middle. The cut copy is another recording that began at another time (by the time of the trace's first block,
 * which means nothing else). Checksums are made right first, so that the decoders are met, and symbols are left out: they are of this
 * machine's files.
 *
 * An input is a trace, and, if its last byte is 'L', a live table before that in short form:
 *   trace | head (the fixed part of pfa_live_head_t) | count, extents | bytes, put behind the table of extents | u32 size of
 *   the trace | 'L'
 *
 * sources: see tests/fuzz/run.sh */
#include "analyze/names/pack.h"
#include "analyze/report/report.h"
#include "analyze/trace/seal.h"
#include "export/format/live.h"
#include "tests/fuzz/analyses.h"
#include "tests/fuzz/forms.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/walk.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LATER = 64 }; /* the seeds' first blocks are of a time that is longer than their recordings */

static const char *trace_path;
static const char *live_path;
static const char *packed_path;
static const char *cut_path;

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
    pfa_fuzz_write(live_path, table, offsetof(pfa_live_head_t, times) + rest);
}

/* Where the block ends that two thirds of the bytes lie in; of bytes that are no blocks, the two thirds. */
static size_t find_cut(const uint8_t *bytes, size_t size)
{
    size_t least = size / 3 * 2;
    pfa_block_header_t header;
    for (size_t at = 0; size - at >= sizeof header;) {
        memcpy(&header, bytes + at, sizeof header);
        if (header.magic != PFA_BLOCK_MAGIC || header.stored_size > size - at - sizeof header) {
            break;
        }
        at += sizeof header + header.stored_size;
        if (at >= least) {
            return at;
        }
    }
    return least;
}

/* The first blocks, of another recording, begun at another time. */
static void write_cut(uint8_t *bytes, size_t size)
{
    pfa_block_header_t header;
    pfa_trace_start_t start;
    if (size >= sizeof header + sizeof start) {
        memcpy(&header, bytes, sizeof header);
        memcpy(&start, bytes + sizeof header, sizeof start);
        start.session++;
        start.monotonic_ns += header.time / LATER;
        start.unix_ns += header.time / LATER;
        memcpy(bytes + sizeof header, &start, sizeof start);
    }
    size = find_cut(bytes, size);
    pfa_fuzz_mend(bytes, size);
    pfa_fuzz_write(cut_path, bytes, size);
}

/* Changes the bytes. */
static void write_files(uint8_t *bytes, size_t size)
{
    size_t trace_size = size;
    uint32_t said;
    (void)unlink(live_path);
    if (size >= sizeof said + 1 && bytes[size - 1] == 'L') {
        memcpy(&said, bytes + size - 1 - sizeof said, sizeof said);
        size_t rest = size - 1 - sizeof said;
        trace_size = said < rest ? said : rest;
        write_live(bytes + trace_size, rest - trace_size);
    }
    pfa_fuzz_mend(bytes, trace_size);
    pfa_fuzz_write(trace_path, bytes, trace_size);
    write_cut(bytes, trace_size);
}

typedef struct text {
    char *bytes;
    size_t size;
    FILE *to;
} text_t;

static text_t write_json(pfa_report_t *report)
{
    text_t text = {.bytes = NULL};
    text.to = open_memstream(&text.bytes, &text.size);
    pfa_fuzz_expect(text.to != NULL, "there is no memory");
    pfa_fuzz_expect(pfa_report_json(report, SIZE_MAX, PFA_BY_COUNT, text.to) == 0, "a report cannot be written");
    fclose(text.to);
    return text;
}

/* Writing adds remarks, which are gone after it: what is written again is the same. Text comes last: it may ask for names that the JSON has
 * no need of, and of names that are missing all are told that the session was asked for. */
static void write_report(pfa_report_t *report, bool single)
{
    static const pfa_order_t orders[] = {PFA_BY_BYTES, PFA_BY_LIVE};
    text_t first = write_json(report);
    text_t again = write_json(report);
    pfa_fuzz_expect(first.size == again.size && memcmp(first.bytes, again.bytes, first.size) == 0,
                    "a report is another when it is written again");
    pfa_fuzz_expect(pfa_report_text(report, 5, orders, 2, pfa_fuzz_nowhere()) == 0, "a report cannot be written");
    pfa_fuzz_expect(!single || pfa_report_summary(report, pfa_fuzz_nowhere()) == 0, "a summary cannot be written");
    free(first.bytes);
    free(again.bytes);
}

/* Reports files together. */
static void report(const char *const *paths, size_t count)
{
    size_t patience = SIZE_MAX;
    pfa_session_options_t options = pfa_fuzz_options(&patience);
    pfa_points_options_t points = {.thresholds = pfa_thresholds_standard()};
    pfa_session_t *session;
    pfa_report_t *report;
    pfa_fuzz_expect(pfa_session_open(&session, &options, paths, count) == 0, "a session cannot be opened");
    int error = pfa_advice_collect(session, NULL, &points, &report);
    pfa_fuzz_expect_end(error, "report");
    if (error == 0) {
        write_report(report, pfa_session_traces(session) == 1);
    }
    pfa_answer_free(report);
    pfa_session_close(session);
}

static void seal(void *to)
{
    char *why = NULL;
    *(pfa_sealed_t *)to = pfa_seal(trace_path, NULL, &why);
    pfa_fuzz_hear(why);
    pfa_memory_free(why);
}

/* As `profalloc pack` does: of traces that are whole, and have their end or will have none. */
static void pack(void *to)
{
    bool *packed = to;
    char *why = NULL;
    pfa_account_t account = {.bad_blocks = 0};
    pfa_notes_t remarks = {.list = NULL};
    pfa_trace_t *trace = pfa_trace_open(trace_path, NULL, &why);
    *packed = trace != NULL && trace->live == NULL && !pfa_pack_is_damaged(trace, &account) &&
              pfa_pack(trace, packed_path, &(pfa_pack_servers_t){.urls = NULL}, &remarks) == 0;
    pfa_trace_close(trace);
    pfa_notes_free(&remarks);
    pfa_account_free(&account);
    pfa_memory_free(why);
}

/* Whether there is a packed copy. */
static bool read_files(void)
{
    const char *const all[] = {trace_path, packed_path, cut_path};
    pfa_sealed_t sealed;
    bool packed;
    (void)unlink(packed_path);
    (void)pfa_fuzz_walk(trace_path);
    report(all, 1);
    pfa_fuzz_work(seal, &sealed);
    if (sealed == PFA_SEALED) {
        report(all, 1);
    }
    pfa_fuzz_work(pack, &packed);
    report(all, 3); /* without a packed copy that is left out */
    return packed;
}

static pfa_fuzz_walked_t walk_seed(const char *seed)
{
    size_t size;
    uint8_t *bytes = pfa_fuzz_read(seed, &size);
    write_files(bytes, size);
    free(bytes);
    return pfa_fuzz_walk(trace_path);
}

/* Of whole traces everything can be read. */
static void try_whole(void)
{
    pfa_fuzz_walked_t placed = walk_seed(PFA_FUZZ_PLACED);
    pfa_fuzz_expect(placed.placed != 0 && placed.slotted != 0 && placed.typed != 0,
                    "%zu rows with addresses, %zu with regions, %zu with types", placed.placed, placed.slotted,
                    placed.typed);
    pfa_fuzz_walked_t walked = walk_seed(PFA_FUZZ_TRACE);
    pfa_fuzz_expect(walked.rows != 0 && walked.live != 0 && walked.told != 0 && walked.nodes != 0,
                    "%zu rows, %zu of them live and %zu with accesses, and %zu nodes", walked.rows, walked.live,
                    walked.told, walked.nodes);
    pfa_fuzz_expect(walked.frees > 0 && walked.live_chunks > 0, "a whole trace has no tally");
    pfa_fuzz_expect(read_files(), "a whole trace cannot be packed");
    pfa_fuzz_analyses_try();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    trace_path = pfa_fuzz_path(".pa");
    live_path = pfa_fuzz_path(".pa" PFA_LIVE_SUFFIX);
    packed_path = pfa_fuzz_path(".packed.pa");
    cut_path = pfa_fuzz_path(".cut.pa");
    pfa_fuzz_analyses_begin(trace_path, cut_path);
    try_whole();
    return 0;
}

/* By what is seldom the same in two inputs: many of their bytes are 0. */
static void analyze(const uint8_t *data, size_t size)
{
    enum { STEPS = 8, IMPATIENT = 5 };
    size_t which = size + data[size / 2];
    size_t patience = data[size / 3] % STEPS == IMPATIENT ? data[size / 3] / STEPS : SIZE_MAX;
    pfa_fuzz_analyze(which, patience);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + 1);
    if (copy == NULL || size == 0) {
        free(copy);
        return 0;
    }
    memcpy(copy, data, size);
    write_files(copy, size);
    free(copy);
    (void)read_files();
    analyze(data, size);
    return 0;
}
