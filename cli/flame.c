/* Owns `profalloc flame`: its command line. */
#include "analyze/draw/flame_graph.h"
#include "analyze/base/units.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/base/text.h"
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
    pfa_amounts_options_t options;
    pfa_graph_look_t look;
} wishes_t;

static bool take_metric(wishes_t *wishes, const char *value)
{
    if (strncmp(value, "at=", 3) == 0) {
        wishes->options.metric = PFA_METRIC_AT;
        bool right = pfa_units_read(PFA_UNITS_TIME, value + 3, "s", 0, HUGE_VAL, &wishes->options.at_ns);
        if (!right) {
            pfa_tool_say("flame", "--metric at= takes a time such as 1.5, 200ms or 3min, not '%s'", value + 3);
        }
        return right;
    }
    for (unsigned i = 0; i < PFA_METRIC_AT; i++) {
        if (strcmp(value, pfa_metric_names[i]) == 0) {
            wishes->options.metric = (pfa_metric_t)i;
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
    wishes->look.inverted = true;
    return true;
}

typedef struct picture {
    pfa_amounts_t *amounts;
    const pfa_graph_look_t *look;
} picture_t;

static int put_svg(void *what, FILE *file)
{
    const picture_t *picture = what;
    return pfa_amounts_svg(picture->amounts, picture->look, file, stderr);
}

static int put(pfa_amounts_t *amounts, const wishes_t *wishes, const pfa_drawn_t *drawn)
{
    pfa_graph_look_t look = {.inverted = wishes->look.inverted, .order = (pfa_frame_order_t)drawn->sort};
    picture_t picture = {.amounts = amounts, .look = &look};
    int status = 0;
    int error = 0;
    if (drawn->request.json) {
        error = pfa_amounts_json(amounts, stdout);
    } else if (drawn->svg != NULL) {
        status = pfa_drawn_svg(drawn, put_svg, &picture, &error);
    } else {
        error = pfa_amounts_folded(amounts, &look, stdout, stderr);
    }
    int end = pfa_request_end(&drawn->request, &amounts->answer, error);
    return end != 0 ? end : status;
}

static int tell(void *to, const pfa_drawn_t *drawn)
{
    const wishes_t *wishes = to;
    const pfa_request_t *request = &drawn->request;
    pfa_amounts_t *amounts;
    int error = pfa_amounts_collect(request->session, request->question, &wishes->options, &amounts);
    int status = error == 0 ? put(amounts, wishes, drawn) : pfa_request_fail(request, error);
    pfa_answer_free(amounts);
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
#define PFA_FRAME_ORDER(id, name, meaning) {name, meaning},
#include "analyze/draw/frame_orders.def"
#undef PFA_FRAME_ORDER
    };
    static const pfa_drawn_command_t command = {.name = "flame",
                                                .usage = usage,
                                                .form = "--folded",
                                                .options = options,
                                                .take = take,
                                                .sorts = sorts,
                                                .sort_count = sizeof sorts / sizeof sorts[0],
                                                .check = check,
                                                .tell = tell};
    wishes_t wishes = {.options = {.metric = PFA_METRIC_BYTES}};
    return pfa_drawn_run(&command, argc, argv, &wishes);
}
