/* Owns `profalloc report`: its command line. */
#include "analyze/report.h"
#include "analyze/run.h"
#include "analyze/commands.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: profalloc report [--json] [--top N] [--by bytes|count|peak|live] FILE...\n\n"
    "Tells what the chunks of a recorded program were for: totals, the peak, what was live at the end, and the places in the\n"
    "program that allocate most. A trace that was not ended is merged with the live table beside it, also while the process\n"
    "goes on. Several traces are told as one.\n\n"
    "  --top N    so many allocation points in each list; 10 as text, all of them as JSON\n"
    "  --by WHAT  one list only: by bytes or chunks (count) allocated, by bytes at the peak, or live at the end\n"
    "  --json     for programs: docs/report-json.md tells what it means\n\n"
    "Exit status: 0 done (what is missing is said), 1 the work failed, 2 a file is no trace.\n";

static int parse_order(const char *name)
{
    static const char *const names[] = {
        [PFA_BY_BYTES] = "bytes", [PFA_BY_COUNT] = "count", [PFA_BY_PEAK] = "peak", [PFA_BY_LIVE] = "live"};
    for (int i = 0; i < PFA_ORDERS; i++) {
        if (strcmp(name, names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

typedef int walk_t(pfa_report_t *report, pfa_trace_t *trace, size_t number);

static int add_first(pfa_report_t *report, pfa_trace_t *trace, size_t number)
{
    (void)number;
    return pfa_report_add(report, trace);
}

static int walk_file(pfa_report_t *report, const char *path, size_t number, walk_t *walk)
{
    char *why = NULL;
    pfa_trace_t *trace = pfa_trace_open(path, &why);
    if (trace == NULL) {
        pfa_tool_say("report", "%s", why != NULL ? why : path);
        free(why);
        return PFA_EXIT_USAGE;
    }
    int error = walk(report, trace, number);
    pfa_trace_close(trace);
    if (error != 0) {
        pfa_tool_say("report", "cannot read all of %s: %s", path, strerror(error));
        return PFA_EXIT_FAILED;
    }
    return 0;
}

static int walk_files(pfa_report_t *report, char **paths, size_t count, walk_t *walk)
{
    int status = 0;
    for (size_t i = 0; status == 0 && i < count; i++) {
        status = walk_file(report, paths[i], i, walk);
    }
    return status;
}

static pfa_together_t *begin_together(char **paths, size_t count)
{
    pfa_trace_start_t *starts = pfa_memory_get(count, sizeof *starts);
    size_t known = 0;
    while (known < count && pfa_run_read_start(paths[known], &starts[known])) {
        known++;
    }
    pfa_together_t *together = known == count ? pfa_together_new(starts, count) : NULL;
    free(starts);
    return together;
}

/* Several traces are opened again and again rather than all kept open: there may be thousands. */
static int add_files(pfa_report_t *report, char **paths, size_t count)
{
    report->together = count > 1 ? begin_together(paths, count) : NULL;
    int status = walk_files(report, paths, count, add_first);
    if (status != 0 || report->together == NULL) {
        return status;
    }
    if (pfa_together_again(report->together)) {
        status = walk_files(report, paths, count, pfa_report_add_again);
    }
    report->all_peak = pfa_together_finish(report->together);
    return status != 0 ? status : walk_files(report, paths, count, pfa_report_add_at_peak);
}

int pfa_command_report(int argc, char **argv)
{
    static const struct option options[] = {{"help", no_argument, NULL, 'h'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"top", required_argument, NULL, 't'},
                                            {"by", required_argument, NULL, 'b'},
                                            {NULL, 0, NULL, 0}};
    pfa_order_t orders[] = {PFA_BY_BYTES, PFA_BY_COUNT, PFA_BY_PEAK};
    size_t order_count = sizeof orders / sizeof orders[0];
    bool json = false;
    size_t top = 0;
    int option;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        char *end = NULL;
        int order = option == 'b' ? parse_order(optarg) : 0;
        top = option == 't' ? strtoull(optarg, &end, 10) : top;
        if (option == 'h' || option == '?' || order < 0 || (end != NULL && (*end != '\0' || top == 0))) {
            fputs(usage, option == 'h' ? stdout : stderr);
            return option == 'h' ? 0 : PFA_EXIT_USAGE;
        }
        json = json || option == 'j';
        if (option == 'b') {
            orders[0] = (pfa_order_t)order;
            order_count = 1;
        }
    }
    if (optind == argc) {
        fputs(usage, stderr);
        return PFA_EXIT_USAGE;
    }
    pfa_report_t report;
    pfa_report_begin(&report);
    int status = add_files(&report, argv + optind, (size_t)(argc - optind));
    if (status == 0 && json) {
        pfa_report_json(&report, top != 0 ? top : SIZE_MAX, orders[0]);
    } else if (status == 0) {
        pfa_report_text(&report, top != 0 ? top : 10, orders, order_count);
    }
    pfa_report_free(&report);
    return pfa_tool_finish("report", status);
}
