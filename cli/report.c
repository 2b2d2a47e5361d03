/* Owns `profalloc report`: its command line. */
#include "analyze/report/report.h"
#include "analyze/query/keys.h"
#include "cli/commands.h"
#include "cli/request.h"
#include "cli/thresholds.h"
#include "cli/tool.h"

#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: profalloc report [OPTION]... FILE...\n\n"
    "Tells what the chunks of a recorded program were for: totals, the peak, what was live at the end, and the places in the\n"
    "program that allocate most. A trace that was not ended is merged with the live table beside it, also while the process\n"
    "goes on. Several traces are told as one, each recording once: of a trace and its packed copy, the copy.\n\n"
    "Of programs built with profalloc-cc it also tells what was done with the chunks: how much of their bytes was used, how\n"
    "often they were read and written, how long they lay idle, and which were never read or never touched.\n\n" PFA_REQUEST_WHERE_USAGE
        PFA_REQUEST_BY_USAGE
    "  --sort WHAT        one list only: by bytes or chunks (count) allocated, by those at the peak (peak, peak_count) or\n"
    "                     live at the end (live, live_count)\n"
    "  --top N            show N allocation points in each list; default 10 as text, all as JSON\n"
    "  --json             for programs: docs/report-json.md tells what it means\n\n"
    "Exit status: 0 done (what is missing is said), 1 the work failed, 2 a file is no trace (the others are read).\n\n"
    "Thresholds of scores and of what is inferred:\n";

static int parse_order(const char *name)
{
    for (int i = 0; i < PFA_ORDERS; i++) {
        if (strcmp(name, pfa_order_names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

static bool take(void *to, int option, const char *value)
{
    pfa_points_options_t *options = to;
    return pfa_thresholds_take(&options->thresholds, "report", option, value);
}

static int tell(const pfa_request_t *request, pfa_report_t *report, const pfa_order_t *orders, size_t order_count)
{
    size_t top = request->top;
    int error = request->json ? pfa_report_json(report, top != 0 ? top : SIZE_MAX, orders[0], stdout)
                              : pfa_report_text(report, top != 0 ? top : 10, orders, order_count, stdout);
    return pfa_request_end(request, &report->answer, error);
}

int pfa_command_report(int argc, char **argv)
{
    pfa_order_t orders[] = {PFA_BY_BYTES, PFA_BY_COUNT, PFA_BY_PEAK};
    size_t order_count = sizeof orders / sizeof orders[0];
    pfa_points_options_t options = {.thresholds = pfa_thresholds_standard()};
    pfa_request_t request = {.command = "report", .usage = usage, .usage_more = pfa_thresholds_usage};
    int status = pfa_request_read(&request, argc, argv, pfa_threshold_options, take, &options);
    int order = status < 0 && request.sort != NULL ? parse_order(request.sort) : 0;
    if (order < 0) {
        pfa_tool_say("report", "--sort takes bytes, count, peak, peak_count, live or live_count, not '%s'",
                     request.sort);
        status = PFA_EXIT_USAGE;
    } else if (status < 0 && request.sort != NULL) {
        orders[0] = (pfa_order_t)order;
        order_count = 1;
    }
    status = status < 0 ? pfa_request_open(&request) : status;
    if (status < 0) {
        pfa_report_t *report;
        int error = pfa_advice_collect(request.session, request.question, &options, &report);
        status = error == 0 ? tell(&request, report, orders, order_count) : pfa_request_fail(&request, error);
        pfa_answer_free(report);
    }
    return pfa_request_finish(&request, status);
}
