/* Owns `profalloc report`: its command line. */
#include "analyze/report/report.h"
#include "analyze/tool/commands.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: profalloc report [--json] [--top N] [--by bytes|count|peak|live] FILE...\n\n"
    "Tells what the chunks of a recorded program were for: totals, the peak, what was live at the end, and the places in the\n"
    "program that allocate most. A trace that was not ended is merged with the live table beside it, also while the process\n"
    "goes on. Several traces are told as one, each recording once: of a trace and its packed copy, the copy.\n\n"
    "Of programs built with profalloc-cc it also tells what was done with the chunks: how much of their bytes was used, how\n"
    "often they were read and written, how long they lay idle, and which were never read or never touched.\n\n"
    "  --top N    so many allocation points in each list; 10 as text, all of them as JSON\n"
    "  --by WHAT  one list only: by bytes or chunks (count) allocated, by bytes at the peak, or live at the end\n"
    "  --json     for programs: docs/report-json.md tells what it means\n\n"
    "Exit status: 0 done (what is missing is said), 1 the work failed, 2 a file is no trace (others are told).\n";

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

/* 0: it is none. */
static size_t parse_top(const char *text)
{
    errno = 0;
    unsigned long long value = strtoull(text, NULL, 10);
    return text[strspn(text, "0123456789")] == '\0' && errno == 0 ? value : 0;
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
        int order = option == 'b' ? parse_order(optarg) : 0;
        top = option == 't' ? parse_top(optarg) : top;
        if (option == 'h' || option == '?') {
            fputs(usage, option == 'h' ? stdout : stderr);
            return option == 'h' ? 0 : PFA_EXIT_USAGE;
        }
        if (order < 0 || (option == 't' && top == 0)) {
            pfa_tool_say("report",
                         order < 0 ? "--by takes bytes, count, peak or live, not '%s'"
                                   : "--top takes a number from 1 on, not '%s'",
                         optarg);
            return PFA_EXIT_USAGE;
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
    int status = pfa_report_files(&report, argv + optind, (size_t)(argc - optind));
    if (report.file_count != 0 && json) {
        pfa_report_json(&report, top != 0 ? top : SIZE_MAX, orders[0]);
    } else if (report.file_count != 0) {
        pfa_report_text(&report, top != 0 ? top : 10, orders, order_count);
    }
    pfa_report_free(&report);
    return pfa_tool_finish("report", status);
}
