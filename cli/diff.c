/* Owns `profalloc diff`: its command line. */
#include "analyze/diff/diff.h"
#include "cli/commands.h"
#include "cli/sides.h"
#include "cli/tool.h"

#include <stdio.h>

static const char usage[] =
    "usage: profalloc diff [OPTION]... BASE NEW\n"
    "       profalloc diff [OPTION]... BASE... -- NEW...\n\n"
    "Tells what changed between two recordings of a program: totals, and which allocation points grew, shrank, are new or are\n"
    "gone. Points are matched by the functions of their stacks, inlined ones too, and their modules, so that they are found\n"
    "again in another build. A file is a trace, or a summary that `profalloc gate --save` wrote.\n\n"
    "Each file is a run; those that one `profalloc run` wrote are one together. With several runs on a side their mean is told,\n"
    "and only what differs by more than runs of the same side do is significant. Of sampled traces, differences within the 95 %\n"
    "interval of the estimates are not significant. Points of which nothing differs are summed in one line.\n\n" PFA_REQUEST_WHERE_USAGE
        PFA_REQUEST_BY_USAGE
    "  --sort METRIC      lists by one metric only: bytes, count, peak, peak_count, live or live_count\n"
    "  --top N            show N allocation points in each list; default 10 as text, all as JSON\n"
    "  --per-second       of runs of different length: bytes and chunks allocated per second; peak and live stay as they are\n"
    "  --json             for programs: docs/gate.md tells what it means\n\n"
    "Exit status: 0 done, whatever differs, 1 the work failed, 2 the command line was wrong or a file is no trace.\n";

typedef struct asked {
    bool per_second;
} asked_t;

static bool take(void *to, int option, const char *value)
{
    asked_t *asked = to;
    (void)option;
    (void)value;
    asked->per_second = true;
    return true;
}

static int tell(pfa_request_t *request, const asked_t *asked, size_t behind)
{
    pfa_diff_metric_t metrics[] = {PFA_DIFF_METRIC_bytes, PFA_DIFF_METRIC_count, PFA_DIFF_METRIC_peak,
                                   PFA_DIFF_METRIC_live};
    size_t metric_count = sizeof metrics / sizeof metrics[0];
    pfa_side_files_t sides[PFA_SIDES];
    pfa_comparison_t *comparison;
    if (request->sort != NULL) {
        metric_count = 1;
        if (!pfa_sides_metric(request, &metrics[0])) {
            return PFA_EXIT_USAGE;
        }
    }
    int status = pfa_sides_split(request, behind, sides) ? pfa_request_ask(request) : PFA_EXIT_USAGE;
    if (status >= 0) {
        return status;
    }
    pfa_comparison_options_t options = {.session = pfa_request_session("diff", request->threads),
                                        .question = request->question,
                                        .per_second = asked->per_second};
    int error = pfa_comparison_collect(&options, sides, &comparison);
    if (error == 0) {
        size_t top = request->top;
        error = request->json ? pfa_diff_json(comparison, top != 0 ? top : SIZE_MAX, metrics[0], stdout)
                              : pfa_diff_text(comparison, top != 0 ? top : 10, metrics, metric_count, stdout);
    }
    pfa_comparison_free(comparison);
    return error != 0 ? pfa_request_fail(request, error) : 0;
}

int pfa_command_diff(int argc, char **argv)
{
    static const struct option own[] = {{"per-second", no_argument, NULL, 's'}, {NULL, 0, NULL, 0}};
    size_t behind = pfa_sides_behind(argc, argv);
    asked_t asked = {.per_second = false};
    pfa_request_t request = {.command = "diff", .usage = usage};
    int status = pfa_request_read(&request, argc, argv, own, take, &asked);
    if (status < 0) {
        status = tell(&request, &asked, behind);
    }
    return pfa_request_finish(&request, status);
}
