/* Owns `profalloc advise`: what to change in a program, ranked by what it would bring. */
#include "analyze/advise/findings.h"
#include "analyze/base/json.h"
#include "analyze/base/text.h"
#include "analyze/query/keys.h"
#include "cli/commands.h"
#include "cli/request.h"
#include "cli/thresholds.h"
#include "cli/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: profalloc advise [OPTION]... FILE...\n\n"
    "Tells what to change in a recorded program, the change that would bring most first: buffers to reserve, allocations to\n"
    "hoist out of loops, pools, chunks to free at all, to shrink, to free earlier, to allocate later, or to do without. Each with\n"
    "the bytes, calls and time it would save, estimated from the recorded lives, and how sure that is; then what holds most of\n"
    "the peak. Of programs built with profalloc-cc it knows what chunks were used for; of others only how long they lived.\n\n" PFA_REQUEST_WHERE_USAGE

    "  --sort WHAT        by rank (the sum of both shares), by bytes, calls or time that is saved, or the sure ones first\n"
    "  --top N            show N points, or as JSON N findings; default those worth a change, 10 at most; as JSON all\n"
    "  --json             for programs\n\n"
    "Exit status: 0 done, 1 the work failed, 2 the command line was wrong or a file is no trace.\n\n"
    "Thresholds:\n";

static bool take(void *to, int option, const char *value)
{
    pfa_points_options_t *options = to;
    return pfa_thresholds_take(&options->thresholds, "advise", option, value);
}

static int tell(const pfa_request_t *request, pfa_report_t *report)
{
    int error = request->json
                    ? pfa_advice_json(report, request->top != 0 ? request->top : SIZE_MAX, request->sort, stdout)
                    : pfa_advice_text(report, request->top, request->sort, stdout);
    return pfa_request_end(request, &report->answer, error);
}

int pfa_command_advise(int argc, char **argv)
{
    pfa_points_options_t options = {.thresholds = pfa_thresholds_standard()};
    pfa_request_t request = {.command = "advise", .usage = usage, .no_by = true, .usage_more = pfa_thresholds_usage};
    int status = pfa_request_read(&request, argc, argv, pfa_threshold_options, take, &options);
    if (status < 0 && request.sort != NULL && !pfa_advice_is_order(request.sort)) {
        pfa_tool_say("advise", "--sort takes rank, bytes, calls, time or sure, not '%s'", request.sort);
        status = PFA_EXIT_USAGE;
    }
    status = status < 0 ? pfa_request_open(&request) : status;
    if (status < 0) {
        pfa_report_t *report;
        int error = pfa_advice_collect(request.session, request.question, &options, &report);
        status = error == 0 ? tell(&request, report) : pfa_request_fail(&request, error);
        pfa_answer_free(report);
    }
    return pfa_request_finish(&request, status);
}
