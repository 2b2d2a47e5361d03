/* Owns `profalloc timeline`: its command line. */
#include "analyze/timeline/timeline.h"
#include "analyze/draw/outfile.h"
#include "analyze/draw/chart.h"
#include "analyze/query/request.h"
#include "analyze/tool/choice.h"
#include "analyze/tool/commands.h"

#include <math.h>

enum { TOP = 10, BUCKETS = 200, BUCKETS_MOST = 100000 };

static const char usage[] =
    "usage: profalloc timeline [OPTION]... FILE...\n\n"
    "Tells how many bytes and chunks were alive over time, in all or by group, as a chart on the terminal. Time is cut into\n"
    "buckets of equal length. What is told at the end of a bucket is exact; what was alive within it is told at most: what was\n"
    "there before and all that was allocated in it. The peak is that of `profalloc report`.\n\n" PFA_REQUEST_WHERE_USAGE
        PFA_REQUEST_BY_USAGE
    "  --top N            so many groups, those that --sort has first; the others are one, \"other\". 10 if it is not given;\n"
    "                     charts have 20 at most, and all together no more buckets than fit into 64 MiB\n"
    "  --sort WHAT        the order of groups: by peak at ends of buckets, which is the default, by what is alive at the end, by\n"
    "                     total bytes allocated, or by name (of those with the largest peaks)\n"
    "  --buckets N        so many buckets; 200 if it is not given\n"
    "  --count            chunks in charts, in place of bytes\n"
    "  --svg OUT          the chart as a picture, to a file; - is standard output\n"
    "  --csv              a line for each bucket: its end in seconds, live bytes and live chunks then, bytes born and died in\n"
    "                     it, live bytes at most; with --by, the group first, and the lines of each group together\n"
    "  --json             the same for programs, with the peak and what is missing\n\n"
    "Chunks that are alive at the end of a recording count until then. Of a sampled recording all figures are estimates; half\n"
    "of the 95 % confidence interval of live bytes is told with them.\n\n"
    "Exit status: 0 done (what is missing is said), 1 the work failed, 2 a file is no trace (others are told).\n";

typedef struct wishes {
    pfa_timeline_wishes_t data;
    const char *svg;
    bool csv;
    bool count;
} wishes_t;

static bool take(void *to, int option, const char *value)
{
    wishes_t *wishes = to;
    double number;
    switch (option) {
    case 'b':
        if (!pfa_request_number(value, 1, BUCKETS_MOST, &number) || floor(number) != number) {
            pfa_tool_say("timeline", "--buckets takes a number from 1 to %d, not '%s'", BUCKETS_MOST, value);
            return false;
        }
        wishes->data.buckets = (size_t)number;
        return true;
    case 's':
        wishes->svg = value;
        return pfa_outfile_check("timeline", value);
    case 'c':
        wishes->csv = true;
        return true;
    default:
        wishes->count = true;
        return true;
    }
}

static void note_what_lacks(const pfa_timeline_t *timeline)
{
    char texts[2][PFA_NUMBER_TEXT];
    pfa_query_t *query = timeline->query;
    if (timeline->folded_chunks > 0) {
        pfa_notes_add(&query->remarks, "%s chunks of %s are known in sums only, and not in the timeline",
                      pfa_text_count(texts[0], timeline->folded_chunks),
                      pfa_text_bytes(texts[1], timeline->folded_bytes));
    }
    if (timeline->folded_groups) {
        pfa_notes_add(&query->remarks,
                      "with so many buckets no more than %zu groups fit into memory: the others are told together",
                      timeline->strand_count - 1);
    }
    if (!query->comparable) {
        pfa_notes_add(&query->remarks,
                      "the clocks of these traces cannot be compared: each is told from its own start");
    }
}

static int put_svg(const pfa_timeline_t *timeline, const wishes_t *wishes)
{
    FILE *file = pfa_outfile_open("timeline", wishes->svg);
    if (file == NULL) {
        return PFA_EXIT_FAILED;
    }
    pfa_timeline_svg(timeline, file, wishes->count);
    return pfa_outfile_close("timeline", wishes->svg, file) ? 0 : PFA_EXIT_FAILED;
}

/* What goes to programs has its notes elsewhere. */
static int put(const pfa_timeline_t *timeline, const wishes_t *wishes, bool json)
{
    int status = 0;
    note_what_lacks(timeline);
    if (json) {
        pfa_timeline_json(timeline, stdout);
        return 0;
    }
    if (wishes->svg != NULL) {
        status = put_svg(timeline, wishes);
    } else if (wishes->csv) {
        pfa_timeline_csv(timeline, stdout);
    } else {
        pfa_timeline_term(timeline, stdout, wishes->count);
    }
    pfa_query_tell(timeline->query, wishes->svg != NULL || wishes->csv ? stderr : stdout);
    return status;
}

static int tell(const pfa_request_t *request, const wishes_t *wishes, pfa_query_t *query)
{
    pfa_timeline_t timeline;
    int status = PFA_EXIT_FAILED;
    if (pfa_timeline_collect(&timeline, query, &wishes->data)) {
        status = put(&timeline, wishes, request->json);
    }
    status = query->status != 0 ? query->status : status;
    pfa_timeline_free(&timeline);
    pfa_query_close(query);
    return status;
}

/* What the shared options mean here, and forms that exclude each other. */
static bool check(const pfa_request_t *request, wishes_t *wishes)
{
    static const pfa_choice_t sorts[] = {[PFA_STRANDS_BY_PEAK] = {"peak", "the largest peak at ends of buckets first"},
                                         [PFA_STRANDS_BY_END] = {"end", "what is alive at the end"},
                                         [PFA_STRANDS_BY_TOTAL] = {"total", "all bytes that were allocated"},
                                         [PFA_STRANDS_BY_NAME] = {"name", "by name, of those with the largest peaks"}};
    int sort = request->sort != NULL
                   ? pfa_choice_find("timeline", "--sort", sorts, sizeof sorts / sizeof sorts[0], request->sort)
                   : PFA_STRANDS_BY_PEAK;
    if (sort < 0) {
        return false;
    }
    if ((wishes->csv ? 1 : 0) + (wishes->svg != NULL ? 1 : 0) + (request->json ? 1 : 0) > 1) {
        pfa_tool_say("timeline", "one of --csv, --svg and --json at a time");
        return false;
    }
    bool chart = !wishes->csv && !request->json;
    wishes->data.sort = (pfa_strand_sort_t)sort;
    wishes->data.top = request->top != 0 ? request->top : TOP;
    wishes->data.top = chart && wishes->data.top > PFA_SERIES_MOST ? PFA_SERIES_MOST : wishes->data.top;
    return true;
}

int pfa_command_timeline(int argc, char **argv)
{
    static const struct option own[] = {{"buckets", required_argument, NULL, 'b'},
                                        {"svg", required_argument, NULL, 's'},
                                        {"csv", no_argument, NULL, 'c'},
                                        {"count", no_argument, NULL, 'n'},
                                        {NULL, 0, NULL, 0}};
    wishes_t wishes = {.data = {.buckets = BUCKETS}};
    pfa_request_t request = {.command = "timeline", .usage = usage};
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
    return pfa_tool_finish("timeline", status);
}
