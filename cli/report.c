/* Owns `profalloc report`: its command line. */
#include "analyze/points/report.h"
#include "analyze/query/keys.h"
#include "cli/commands.h"
#include "cli/request.h"
#include "cli/tool.h"

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
    return pfa_thresholds_take(to, "report", option, value);
}

static int report_query(const pfa_request_t *request, const pfa_query_t *query, const pfa_thresholds_t *thresholds,
                        const pfa_order_t *orders, size_t order_count)
{
    pfa_report_t report;
    pfa_report_collect_advised(&report, query, thresholds);
    bool told = report.query.source_count != 0 && !report.failed;
    if (told) {
        pfa_score_remarks(&report);
    }
    if (told && request->json) {
        pfa_report_json(&report, request->top != 0 ? request->top : SIZE_MAX, orders[0]);
    } else if (told) {
        pfa_report_text(&report, request->top != 0 ? request->top : 10, orders, order_count);
    }
    int status = report.query.status;
    pfa_report_free(&report);
    return status;
}

int pfa_command_report(int argc, char **argv)
{
    pfa_order_t orders[] = {PFA_BY_BYTES, PFA_BY_COUNT, PFA_BY_PEAK};
    size_t order_count = sizeof orders / sizeof orders[0];
    pfa_thresholds_t thresholds = pfa_thresholds_standard();
    pfa_request_t request = {.command = "report", .usage = usage, .usage_more = pfa_thresholds_usage};
    pfa_query_t query;
    int status = pfa_request_read(&request, argc, argv, pfa_threshold_options, take, &thresholds);
    int order = status < 0 && request.sort != NULL ? parse_order(request.sort) : 0;
    if (order < 0) {
        pfa_tool_say("report", "--sort takes bytes, count, peak, peak_count, live or live_count, not '%s'",
                     request.sort);
        status = PFA_EXIT_USAGE;
    } else if (status < 0 && request.sort != NULL) {
        orders[0] = (pfa_order_t)order;
        order_count = 1;
    }
    if (status < 0) {
        status = pfa_request_open(&request, &query);
    }
    if (status < 0) {
        status = report_query(&request, &query, &thresholds, orders, order_count);
    }
    pfa_request_free(&request);
    return pfa_tool_finish("report", status);
}
