/* Owns `profalloc flame`: its command line. */
#include "analyze/flame/flame.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/base/text.h"
#include "analyze/draw/scale.h"
#include "cli/commands.h"
#include "cli/drawn.h"
#include "cli/tool.h"

#include <math.h>
#include <stdio.h>
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
    "trace (the others are read).\n";

typedef struct wishes {
    pfa_metric_t metric;
    double at_ns;
    bool inverted;
} wishes_t;

enum { BY_VALUE, BY_NAME };

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
    if (option == 'm') {
        return take_metric(wishes, value);
    }
    wishes->inverted = true;
    return true;
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
        fprintf(to, " +- %s (an estimate; 95 %%)", tell(number, pfa_half_width(amounts->variance)));
    }
    if (amounts->has_moment) {
        fprintf(to, " at %s", pfa_moment_text(amounts->seconds, number));
    }
    fclose(to);
    return text;
}

/* A graph of amounts, as a picture. */
typedef struct picture {
    const pfa_amounts_t *amounts;
    const pfa_flame_t *flame;
    bool inverted;
} picture_t;

static void put_svg(const void *what, FILE *file)
{
    static const char *const names[] = {
        [PFA_METRIC_BYTES] = "Bytes allocated",          [PFA_METRIC_COUNT] = "Chunks allocated",
        [PFA_METRIC_LIVE] = "Bytes alive at the end",    [PFA_METRIC_PEAK] = "Bytes alive at the peak",
        [PFA_METRIC_WASTED] = "Bytes allocated in vain", [PFA_METRIC_AT] = "Bytes alive at a moment"};
    const picture_t *picture = what;
    pfa_metric_t metric = picture->amounts->metric;
    char *title = pfa_drawn_title(picture->amounts->query, names[metric]);
    char *note = tell_total(picture->amounts);
    pfa_flame_look_t look = {.title = title,
                             .note = note,
                             .unit = metric == PFA_METRIC_COUNT ? PFA_UNIT_NUMBER : PFA_UNIT_BYTES,
                             .downwards = picture->inverted};
    pfa_flame_svg(picture->flame, file, &look);
    free(title);
    free(note);
}

static void note_what_lacks(const pfa_amounts_t *amounts)
{
    char text[PFA_NUMBER_TEXT];
    pfa_query_t *query = amounts->query;
    pfa_drawn_remarks(query, amounts->folded_chunks, amounts->folded_bytes, amounts->metric == PFA_METRIC_AT);
    if (amounts->without > 0 && amounts->has_accesses) {
        pfa_notes_add(&query->remarks, "of %s chunks it is not known what was done with them; they are not in this",
                      pfa_text_count(text, amounts->without));
    }
    if (amounts->blind > 0) {
        pfa_notes_add(&query->remarks, "code that is not instrumented allocated %s chunk%s, which %s not in this",
                      pfa_text_count(text, amounts->blind), pfa_text_plural(amounts->blind),
                      amounts->blind < 1.5 ? "is" : "are");
    }
}

static int put_graph(const pfa_amounts_t *amounts, const wishes_t *wishes, const pfa_drawn_t *drawn)
{
    int status = 0;
    pfa_flame_t *flame = pfa_amounts_graph(amounts, wishes->inverted);
    if (drawn->sort == BY_NAME) {
        pfa_flame_by_name(flame);
    }
    if (drawn->svg != NULL) {
        picture_t picture = {.amounts = amounts, .flame = flame, .inverted = wishes->inverted};
        status = pfa_drawn_svg(drawn, put_svg, &picture);
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

static int tell(void *to, const pfa_drawn_t *drawn, pfa_query_t *query)
{
    const wishes_t *wishes = to;
    pfa_amounts_t amounts;
    int status = PFA_EXIT_FAILED;
    if (wishes->metric == PFA_METRIC_AT && wishes->at_ns > query->end_ns) {
        pfa_tool_say("flame", "--metric at=: the recording ends at %.6f s", query->end_ns * 1e-9);
        return PFA_EXIT_USAGE;
    }
    if (pfa_amounts_collect(&amounts, query, wishes->metric, wishes->at_ns) && can_tell(&amounts)) {
        note_what_lacks(&amounts);
        if (drawn->request.json) {
            pfa_amounts_json(&amounts, stdout, metric_names[amounts.metric]);
            status = 0;
        } else {
            status = put_graph(&amounts, wishes, drawn);
        }
    }
    pfa_amounts_free(&amounts);
    return status;
}

/* Shared options that mean nothing here. */
static bool check(void *to, const pfa_drawn_t *drawn)
{
    (void)to;
    if (drawn->request.sort != NULL && drawn->request.json) {
        pfa_tool_say("flame", "--sort is of no use with --json: it has stacks, not frames");
        return false;
    }
    if (drawn->request.top != 0) {
        pfa_tool_say("flame", "--top is of no use here: all stacks are told");
        return false;
    }
    return true;
}

int pfa_command_flame(int argc, char **argv)
{
    static const struct option options[] = {{"metric", required_argument, NULL, 'm'},
                                            {"svg", required_argument, NULL, PFA_DRAWN_SVG},
                                            {"folded", no_argument, NULL, PFA_DRAWN_FORM},
                                            {"inverted", no_argument, NULL, 'i'},
                                            {NULL, 0, NULL, 0}};
    static const pfa_choice_t sorts[] = {
        [BY_VALUE] = {"value", "the largest amount first"}, [BY_NAME] = {"name", "by name"}};
    static const pfa_drawn_command_t command = {.name = "flame",
                                                .usage = usage,
                                                .form = "--folded",
                                                .options = options,
                                                .take = take,
                                                .sorts = sorts,
                                                .sort_count = sizeof sorts / sizeof sorts[0],
                                                .check = check,
                                                .tell = tell};
    wishes_t wishes = {.metric = PFA_METRIC_BYTES};
    return pfa_drawn_run(&command, argc, argv, &wishes);
}
