/* Owns `profalloc flame`: its command line. */
#include "analyze/flame/flame.h"
#include "analyze/draw/outfile.h"
#include "analyze/draw/scale.h"
#include "analyze/query/request.h"
#include "analyze/tool/choice.h"
#include "analyze/tool/commands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: profalloc flame [OPTION]... FILE...\n\n"
    "Tells which call paths an amount belongs to, as folded stacks (\"main;parse;grow 4096\", one line for each path) or as an\n"
    "interactive flame graph: click to zoom, search to highlight, point to read. Frames that repeat are told once, as\n"
    "\"f (x1000)\", if they come at least 4 times in a row, by themselves or with up to 7 others in turn.\n\n"
    "  --metric WHAT      bytes   allocated (if it is not given)\n"
    "                     count   chunks allocated\n"
    "                     live    bytes alive at the end\n"
    "                     peak    bytes alive at the peak\n"
    "                     at=T    bytes alive at a moment since the start: 1.5, 200ms, 3min\n"
    "                     wasted  bytes that were never touched, and all bytes of chunks that were never read; for programs\n"
    "                             built with profalloc-cc\n"
    "  --inverted         from the functions that allocate to those that called them: an icicle graph\n"
    "  --svg OUT          the graph as a picture, to a file; - is standard output\n"
    "  --folded           folded stacks to standard output, which is what is done without --svg\n"
    "  --by KEY           the first frame of each path is its group: the graph is split by stack, function, file, module, size,\n"
    "                     thread or tag\n"
    "  --sort WHAT        the order of frames on the same one: by value, which is the default, or by name\n" PFA_REQUEST_WHERE_USAGE
    "  --json             the amounts of all stacks, for programs\n\n"
    "Of a sampled recording amounts are estimates; half of the 95 % confidence interval is told of their sum, and in the picture of\n"
    "each frame that is pointed at.\n\n"
    "Exit status: 0 done (what is missing is said), 1 the work failed, or what is asked for was not recorded, 2 a file is no\n"
    "trace (others are told).\n";

typedef struct wishes {
    pfa_metric_t metric;
    double at_ns;
    const char *svg;
    bool folded;
    bool inverted;
    bool by_name;
} wishes_t;

static const char *const metric_names[] = {
    [PFA_METRIC_BYTES] = "bytes", [PFA_METRIC_COUNT] = "count",   [PFA_METRIC_LIVE] = "live",
    [PFA_METRIC_PEAK] = "peak",   [PFA_METRIC_WASTED] = "wasted", [PFA_METRIC_AT] = "at"};

/* "1.5", "200ms": nanoseconds; negative if it is none. */
static double parse_moment(const char *text)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"", 1e9}, {"s", 1e9}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"min", 60e9}, {"h", 3600e9}};
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || !(value >= 0) || !isfinite(value)) {
        return -1;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(end, units[i].name) == 0) {
            return value * units[i].ns;
        }
    }
    return -1;
}

static bool take_metric(wishes_t *wishes, const char *value)
{
    if (strncmp(value, "at=", 3) == 0) {
        wishes->metric = PFA_METRIC_AT;
        wishes->at_ns = parse_moment(value + 3);
        if (wishes->at_ns < 0) {
            pfa_tool_say("flame", "--metric at= takes a time such as 1.5, 200ms or 3min, not '%s'", value + 3);
        }
        return wishes->at_ns >= 0;
    }
    for (unsigned i = 0; i < PFA_METRIC_AT; i++) {
        if (strcmp(value, metric_names[i]) == 0) {
            wishes->metric = (pfa_metric_t)i;
            return true;
        }
    }
    pfa_tool_say("flame", "--metric takes bytes, count, live, peak, wasted or at=TIME, not '%s'", value);
    return false;
}

static bool take(void *to, int option, const char *value)
{
    wishes_t *wishes = to;
    switch (option) {
    case 'm':
        return take_metric(wishes, value);
    case 's':
        wishes->svg = value;
        return pfa_outfile_check("flame", value);
    case 'f':
        wishes->folded = true;
        return true;
    default:
        wishes->inverted = true;
        return true;
    }
}

/* "12.3 MiB +- 0.1 MiB (an estimate; 95 %)": the caller frees it. */
static char *tell_total(const pfa_amounts_t *amounts)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    char number[PFA_NUMBER_TEXT];
    bool count = amounts->metric == PFA_METRIC_COUNT;
    const char *(*tell)(char *, double) = count ? pfa_text_count : pfa_text_bytes;
    if (to == NULL) {
        return pfa_memory_copy("", 0);
    }
    fprintf(to, "%s%s", tell(number, amounts->total), count ? " chunks" : "");
    if (amounts->query->sampled) {
        fprintf(to, " +- %s (an estimate; 95 %%)", tell(number, pfa_amounts_error(amounts)));
    }
    if (amounts->has_moment) {
        fprintf(to, " at %s", pfa_moment_text(amounts->seconds, number));
    }
    fclose(to);
    return text;
}

static char *make_title(const pfa_amounts_t *amounts)
{
    static const char *const names[] = {
        [PFA_METRIC_BYTES] = "Bytes allocated",          [PFA_METRIC_COUNT] = "Chunks allocated",
        [PFA_METRIC_LIVE] = "Bytes alive at the end",    [PFA_METRIC_PEAK] = "Bytes alive at the peak",
        [PFA_METRIC_WASTED] = "Bytes allocated in vain", [PFA_METRIC_AT] = "Bytes alive at a moment"};
    const pfa_source_t *first = &amounts->query->sources[0];
    char *text = NULL;
    const char *what = names[amounts->metric];
    int length = amounts->query->source_count > 1
                     ? asprintf(&text, "%s: %zu traces", what, amounts->query->source_count)
                     : asprintf(&text, "%s: %s", what, first->command != NULL ? first->command : first->path);
    return length < 0 ? pfa_memory_copy(what, strlen(what)) : text;
}

static int put_svg(const pfa_amounts_t *amounts, const wishes_t *wishes, const pfa_flame_t *flame)
{
    FILE *file = pfa_outfile_open("flame", wishes->svg);
    if (file == NULL) {
        return PFA_EXIT_FAILED;
    }
    char *title = make_title(amounts);
    char *note = tell_total(amounts);
    pfa_flame_look_t look = {.title = title,
                             .note = note,
                             .unit = amounts->metric == PFA_METRIC_COUNT ? PFA_UNIT_NUMBER : PFA_UNIT_BYTES,
                             .downwards = wishes->inverted};
    pfa_flame_svg(flame, file, &look);
    free(title);
    free(note);
    return pfa_outfile_close("flame", wishes->svg, file) ? 0 : PFA_EXIT_FAILED;
}

static void note_what_lacks(const pfa_amounts_t *amounts)
{
    char texts[2][PFA_NUMBER_TEXT];
    pfa_query_t *query = amounts->query;
    if (amounts->folded_chunks > 0) {
        pfa_notes_add(&query->remarks, "%s chunks of %s are known in sums only, and not in this",
                      pfa_text_count(texts[0], amounts->folded_chunks),
                      pfa_text_bytes(texts[1], amounts->folded_bytes));
    }
    if (amounts->without > 0 && amounts->has_accesses) {
        pfa_notes_add(&query->remarks, "of %s chunks it is not known what was done with them; they are not in this",
                      pfa_text_count(texts[0], amounts->without));
    }
    if (!query->comparable && amounts->metric == PFA_METRIC_AT) {
        pfa_notes_add(&query->remarks,
                      "the clocks of these traces cannot be compared: each is told from its own start");
    }
}

static int put(const pfa_amounts_t *amounts, const wishes_t *wishes, bool json)
{
    int status = 0;
    note_what_lacks(amounts);
    if (json) {
        pfa_amounts_json(amounts, stdout, metric_names[amounts->metric]);
        return 0;
    }
    pfa_flame_t *flame = pfa_amounts_graph(amounts, wishes->inverted);
    if (wishes->by_name) {
        pfa_flame_by_name(flame);
    }
    if (wishes->svg != NULL) {
        status = put_svg(amounts, wishes, flame);
    } else {
        pfa_flame_folded(flame, stdout);
    }
    pfa_flame_free(flame);
    char *total = tell_total(amounts);
    fprintf(stderr, "%s\n", total);
    free(total);
    pfa_query_tell(amounts->query, stderr);
    return status;
}

/* What was not recorded is no answer of nothing. */
static bool can_tell(const pfa_amounts_t *amounts)
{
    if (amounts->metric != PFA_METRIC_WASTED || amounts->has_accesses || amounts->query->has_accesses) {
        return true;
    }
    pfa_tool_say("flame",
                 "what was done with the chunks was not recorded, so that nobody knows which were wasted; build the\n"
                 "program with profalloc-cc or profalloc-c++ in place of the compiler (profalloc-cc(1)) and run it "
                 "again");
    return false;
}

static int tell(const pfa_request_t *request, const wishes_t *wishes, pfa_query_t *query)
{
    pfa_amounts_t amounts;
    int status = PFA_EXIT_FAILED;
    if (wishes->metric == PFA_METRIC_AT && wishes->at_ns > query->end_ns) {
        pfa_tool_say("flame", "--metric at=: the recording ends at %.6f s", query->end_ns * 1e-9);
        pfa_query_close(query);
        return PFA_EXIT_USAGE;
    }
    if (pfa_amounts_collect(&amounts, query, wishes->metric, wishes->at_ns) && can_tell(&amounts)) {
        status = put(&amounts, wishes, request->json);
    }
    status = query->status != 0 ? query->status : status;
    pfa_amounts_free(&amounts);
    pfa_query_close(query);
    return status;
}

/* Shared options that mean nothing here, and forms that exclude each other. */
static bool check(const pfa_request_t *request, wishes_t *wishes)
{
    static const pfa_choice_t sorts[] = {{"value", "the largest amount first"}, {"name", "by name"}};
    int sort = request->sort != NULL ? pfa_choice_find("flame", "--sort", sorts, 2, request->sort) : 0;
    wishes->by_name = sort == 1;
    if (sort < 0) {
        return false;
    }
    if (request->sort != NULL && request->json) {
        pfa_tool_say("flame", "--sort is of no use with --json: it has stacks, not frames");
        return false;
    }
    if (request->top != 0) {
        pfa_tool_say("flame", "--top is of no use here: all stacks are told");
        return false;
    }
    if ((wishes->folded ? 1 : 0) + (wishes->svg != NULL ? 1 : 0) + (request->json ? 1 : 0) > 1) {
        pfa_tool_say("flame", "one of --folded, --svg and --json at a time");
        return false;
    }
    return true;
}

int pfa_command_flame(int argc, char **argv)
{
    static const struct option own[] = {{"metric", required_argument, NULL, 'm'},
                                        {"svg", required_argument, NULL, 's'},
                                        {"folded", no_argument, NULL, 'f'},
                                        {"inverted", no_argument, NULL, 'i'},
                                        {NULL, 0, NULL, 0}};
    wishes_t wishes = {.metric = PFA_METRIC_BYTES};
    pfa_request_t request = {.command = "flame", .usage = usage};
    pfa_query_t query;
    int status = pfa_request_read(&request, argc, argv, own, take, &wishes);
    if (status < 0 && !check(&request, &wishes)) {
        status = PFA_EXIT_USAGE;
    }
    if (status < 0) {
        status = pfa_request_open(&request, &query);
    }
    if (status < 0) {
        status = tell(&request, &wishes, &query);
    }
    pfa_request_free(&request);
    return pfa_tool_finish("flame", status);
}
