/* Owns `profalloc report`: its command line. */
#include "analyze/report/report.h"
#include "analyze/base/memory.h"
#include "analyze/query/keys.h"
#include "cli/commands.h"
#include "cli/request.h"
#include "cli/thresholds.h"
#include "cli/tool.h"

#include <stdio.h>
#include <getopt.h>
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
    "  --sort WHAT        one list only: by bytes or chunks (count) allocated, by those at the peak (peak, peak_count) or live at\n"
    "                     the end (live, live_count), by reads, writes or touched bytes; or by scores, the worst first: lifetime,\n"
    "                     usage, useful_lifetime, their mean (score), severity, or one of --score\n"
    "  --score NAME=EXPR  a score of your own: a formula of what --sort takes, as in 'waste = 1 - touched / bytes'; may be repeated.\n"
    "                     Numbers in it may be as 50% or 64KB\n"
    "  --top N            show N allocation points in each list; default 10 as text, all as JSON\n"
    "  --json             for programs: docs/report-json.md tells what it means\n\n"
    "Exit status: 0 done (what is missing is said), 1 the work failed, 2 a file is no trace (the others are read).\n\n"
    "Thresholds of scores and of what is inferred, shares as 0.05 or 5%, numbers as 4000000 or 4M:\n";

/* What the command line says besides what all say. */
typedef struct asked {
    pfa_points_options_t options;
    const char **scores;
    size_t score_room;
} asked_t;

enum { SCORE = 1 };

static bool take(void *to, int option, const char *value)
{
    asked_t *asked = to;
    if (option != SCORE) {
        return pfa_thresholds_take(&asked->options.thresholds, "report", option, value);
    }
    size_t count = asked->options.score_count++;
    asked->scores = pfa_memory_grow(asked->scores, &asked->score_room, count + 1, sizeof *asked->scores);
    asked->scores[count] = value;
    asked->options.scores = asked->scores;
    return true;
}

/* Thresholds, and --score. */
static struct option *list_options(void)
{
    size_t count = 0;
    while (pfa_threshold_options[count].name != NULL) {
        count++;
    }
    struct option *all = pfa_memory_get(count + 2, sizeof *all);
    memcpy(all, pfa_threshold_options, count * sizeof *all);
    all[count] = (struct option){"score", required_argument, NULL, SCORE};
    return all;
}

/* "bytes, count, ... or severity"; the caller frees it. */
static char *list_orders(void)
{
    FILE *to;
    pfa_memory_stream_t *stream = pfa_memory_stream_open(&to);
    for (unsigned i = 0; i < PFA_ORDERS; i++) {
        fprintf(to, "%s%s", i == 0 ? "" : i + 1 < PFA_ORDERS ? ", " : " or ", pfa_order_names[i]);
    }
    return pfa_memory_stream_close(stream);
}

/* One list only, if an order was chosen. False: there is none of that name, which is said. */
static bool choose_order(const pfa_request_t *request, const pfa_report_t *report, pfa_order_t *chosen, size_t *count)
{
    if (request->sort == NULL) {
        return true;
    }
    chosen[0] = pfa_report_order_find(report, request->sort);
    *count = 1;
    if (chosen[0] < PFA_ORDERS + report->formula_count) {
        return true;
    }
    char *orders = list_orders();
    pfa_tool_say("report", "--sort takes %s, or the name of a --score, not '%s'", orders, request->sort);
    pfa_memory_free(orders);
    return false;
}

static int tell(const pfa_request_t *request, pfa_report_t *report)
{
    pfa_order_t orders[] = {PFA_BY_BYTES, PFA_BY_COUNT, PFA_BY_PEAK};
    size_t order_count = sizeof orders / sizeof orders[0];
    size_t top = request->top;
    if (!choose_order(request, report, orders, &order_count)) {
        return PFA_EXIT_USAGE;
    }
    int error = request->json ? pfa_report_json(report, top != 0 ? top : SIZE_MAX, orders[0], stdout)
                              : pfa_report_text(report, top != 0 ? top : 10, orders, order_count, stdout);
    return pfa_request_end(request, &report->answer, error);
}

/* Before the work is done for nothing: custom scores have names of their own. */
static bool may_be_order(const asked_t *asked, const char *name)
{
    for (unsigned i = 0; i < PFA_ORDERS; i++) {
        if (strcmp(pfa_order_names[i], name) == 0) {
            return true;
        }
    }
    return asked->options.score_count != 0;
}

int pfa_command_report(int argc, char **argv)
{
    asked_t asked = {.options = {.thresholds = pfa_thresholds_standard()}};
    pfa_request_t request = {.command = "report", .usage = usage, .usage_more = pfa_thresholds_usage};
    struct option *own = list_options();
    int status = pfa_request_read(&request, argc, argv, own, take, &asked);
    pfa_memory_free(own);
    if (status < 0 && request.sort != NULL && !may_be_order(&asked, request.sort)) {
        static const pfa_report_t none;
        pfa_order_t order;
        size_t count;
        (void)choose_order(&request, &none, &order, &count);
        status = PFA_EXIT_USAGE;
    }
    status = status < 0 ? pfa_request_open(&request) : status;
    if (status < 0) {
        pfa_report_t *report;
        int error = pfa_advice_collect(request.session, request.question, &asked.options, &report);
        status = error == 0 ? tell(&request, report) : pfa_request_fail(&request, error);
        pfa_answer_free(report);
    }
    pfa_memory_free(asked.scores);
    return pfa_request_finish(&request, status);
}
