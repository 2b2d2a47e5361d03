/* Owns `profalloc timeline`: its command line. */
#include "analyze/draw/timeline_chart.h"
#include "analyze/base/notes.h"
#include "analyze/base/units.h"
#include "analyze/draw/chart.h"
#include "cli/commands.h"
#include "cli/drawn.h"
#include "cli/term.h"
#include "cli/tool.h"

#include <stdio.h>

enum { TOP = 10, BUCKETS = 200, BUCKETS_MOST = 100000 };

static const char usage[] =
    "usage: profalloc timeline [OPTION]... FILE...\n\n"
    "Tells how many bytes and chunks were alive over time, in all or by group, as a chart on the terminal. Time is cut into\n"
    "buckets of equal length. What is told at the end of a bucket is exact; what was alive within it is told at most: what was\n"
    "there before and all that was allocated in it. The peak is that of `profalloc report`.\n\n" PFA_REQUEST_WHERE_USAGE
        PFA_REQUEST_BY_USAGE
    "  --top N            show the first N groups by --sort, and the rest as one, \"other\"; default 10;\n"
    "                     charts have 20 at most, and all together no more buckets than fit into 64 MiB\n"
    "  --sort WHAT        the order of groups: by peak at ends of buckets, which is the default, by what is alive at the end, by\n"
    "                     total bytes allocated, or by name (of those with the largest peaks)\n"
    "  --buckets N        divide the time into N buckets; default 200\n"
    "  --count            chunks in charts, in place of bytes\n"
    "  --svg OUT          the chart as a picture, to a file; - is standard output\n"
    "  --csv              a line for each bucket: its end in seconds, live bytes and live chunks then, bytes born and died in\n"
    "                     it, live bytes at most; with --by, the group first, and the lines of each group together\n"
    "  --json             the same for programs, with the peak and what is missing\n\n"
    "Chunks that are alive at the end of a recording count until then. Of a sampled recording all figures are estimates; half\n"
    "of the 95 % confidence interval of live bytes is told with them.\n\n"
    "Exit status: 0 done (what is missing is said), 1 the work failed, 2 a file is no trace (the others are read).\n";

typedef struct wishes {
    pfa_timeline_wishes_t data;
    bool count;
} wishes_t;

static bool take(void *to, int option, const char *value)
{
    wishes_t *wishes = to;
    double number;
    if (option != 'b') {
        wishes->count = true;
        return true;
    }
    if (!pfa_units_whole(PFA_UNITS_COUNT, value, 1, BUCKETS_MOST, &number)) {
        pfa_tool_say("timeline", "--buckets takes a number from 1 to %d, not '%s'", BUCKETS_MOST, value);
        return false;
    }
    wishes->data.buckets = (size_t)number;
    return true;
}

static int put_bytes(void *what, FILE *file)
{
    return pfa_timeline_svg(what, file, false, stderr);
}

static int put_chunks(void *what, FILE *file)
{
    return pfa_timeline_svg(what, file, true, stderr);
}

/* What goes to programs has its notes elsewhere. */
static int put(pfa_timeline_t *timeline, const wishes_t *wishes, const pfa_drawn_t *drawn)
{
    int status = 0;
    int error = 0;
    if (drawn->svg != NULL) {
        status = pfa_drawn_svg(drawn, wishes->count ? put_chunks : put_bytes, timeline, &error);
    } else if (drawn->request.json) {
        error = pfa_timeline_json(timeline, stdout);
    } else if (drawn->form) {
        error = pfa_timeline_csv(timeline, stdout, stderr);
    } else {
        pfa_term_t term = pfa_cli_term(stdout);
        error = pfa_timeline_term(timeline, stdout, &term, wishes->count, stdout);
    }
    int end = pfa_request_end(&drawn->request, &timeline->answer, error);
    return end != 0 ? end : status;
}

static int tell(void *to, const pfa_drawn_t *drawn)
{
    const wishes_t *wishes = to;
    const pfa_request_t *request = &drawn->request;
    pfa_timeline_t *timeline;
    int error = pfa_timeline_collect(request->session, request->question, &wishes->data, &timeline);
    int status = error == 0 ? put(timeline, wishes, drawn) : pfa_request_fail(request, error);
    pfa_answer_free(timeline);
    return status;
}

/* What the shared options mean here. */
static bool check(void *to, const pfa_drawn_t *drawn)
{
    wishes_t *wishes = to;
    wishes->data.sort = (pfa_strand_sort_t)drawn->sort;
    wishes->data.top = drawn->request.top != 0 ? drawn->request.top : TOP;
    return true;
}

int pfa_command_timeline(int argc, char **argv)
{
    static const struct option options[] = {{"buckets", required_argument, NULL, 'b'},
                                            {"svg", required_argument, NULL, PFA_DRAWN_SVG},
                                            {"csv", no_argument, NULL, PFA_DRAWN_FORM},
                                            {"count", no_argument, NULL, 'n'},
                                            {NULL, 0, NULL, 0}};
    static const pfa_choice_t sorts[] = {
#define PFA_STRAND_ORDER(id, name, meaning) {name, meaning},
#include "analyze/timeline/orders.def"
#undef PFA_STRAND_ORDER
    };
    static const pfa_drawn_command_t command = {.name = "timeline",
                                                .usage = usage,
                                                .form = "--csv",
                                                .options = options,
                                                .take = take,
                                                .sorts = sorts,
                                                .sort_count = sizeof sorts / sizeof sorts[0],
                                                .check = check,
                                                .tell = tell};
    wishes_t wishes = {.data = {.buckets = BUCKETS}};
    return pfa_drawn_run(&command, argc, argv, &wishes);
}
