/* Owns `profalloc advise`: what to change in a program, ranked by what it would bring. */
#include "analyze/advise/findings.h"
#include "analyze/base/json.h"
#include "analyze/base/text.h"
#include "analyze/query/keys.h"
#include "cli/commands.h"
#include "cli/request.h"
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
    "  --top N            show N points, or as JSON N findings; default 10 points, those that are worth a change\n"
    "  --json             for programs\n\n"
    "Exit status: 0 done, 1 the work failed, 2 the command line was wrong or a file is no trace.\n\n"
    "Thresholds:\n";

enum { SHOWN = 10 }; /* without --top */

typedef struct asked {
    pfa_thresholds_t thresholds;
} asked_t;

static bool take(void *to, int option, const char *value)
{
    asked_t *asked = to;
    return pfa_thresholds_take(&asked->thresholds, "advise", option, value);
}

static double value_of(const pfa_finding_t *finding, const char *sort)
{
    return strcmp(sort, "bytes") == 0   ? finding->bytes
           : strcmp(sort, "calls") == 0 ? finding->calls
           : strcmp(sort, "time") == 0  ? finding->ns
           : strcmp(sort, "sure") == 0  ? (double)finding->sure
                                        : finding->rank;
}

static bool is_order(const char *sort)
{
    static const char *const orders[] = {"rank", "bytes", "calls", "time", "sure"};
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        if (strcmp(sort, orders[i]) == 0) {
            return true;
        }
    }
    return false;
}

static int compare(const void *a, const void *b, void *to)
{
    double left = value_of(a, to);
    double right = value_of(b, to);
    return left != right ? (left > right ? -1 : 1) : pfa_findings_compare(a, b);
}

static void print_json(pfa_report_t *report, const pfa_findings_t *findings, size_t top)
{
    pfa_json_t json = {.to = stdout};
    pfa_json_begin(&json, NULL, '{');
    pfa_json_text(&json, "schema", "profalloc-advise");
    pfa_json_whole(&json, "version", 1);
    pfa_query_tell_json(&report->query, &json);
    pfa_json_number(&json, "run_ns", findings->run_ns);
    pfa_json_number(&json, "peak_bytes", findings->peak);
    if (findings->sampled) {
        pfa_json_number(&json, "peak_within", pfa_half_width(pfa_report_sum(report).peak_variance));
    }
    pfa_json_number(&json, "pair_ns", findings->pair_ns);
    pfa_json_bool(&json, "pair_ns_measured", findings->measured);
    pfa_json_begin(&json, "findings", '[');
    for (size_t i = 0; i < findings->count && i < top; i++) {
        pfa_finding_json(&json, report, &findings->list[i]);
    }
    pfa_json_end(&json, ']');
    pfa_held_json(&json, report);
    pfa_json_end(&json, '}');
}

/* So many points are told, of all among the first so many findings. */
static void print_head(pfa_report_t *report, const pfa_findings_t *findings, size_t count, size_t all, size_t among)
{
    char texts[3][PFA_NUMBER_TEXT];
    if (findings->count == 0) {
        printf("Nothing to change was found");
    } else if (count == 0) {
        printf("Nothing worth a change was found");
    } else {
        printf("%zu of %zu changes that would save memory or time", count, all);
    }
    printf("; %s is %s%s, the run took %s%s\n", findings->peak_words, pfa_text_bytes(texts[0], findings->peak),
           pfa_text_within(texts[2], findings->peak, pfa_report_sum(report).peak_variance),
           pfa_text_ns(texts[1], findings->run_ns),
           findings->run_ns < report->memoro.run_ns ? " without what recording took" : "");
    if (all < among) {
        printf(
            "What follows \"or\" is of the same point, and would be done instead: savings of one point do not add up.\n");
    }
}

static void print_text(pfa_report_t *report, const pfa_findings_t *findings, size_t top)
{
    char texts[1][PFA_NUMBER_TEXT];
    size_t worth = pfa_findings_points(findings, findings->worth);
    size_t asked = top != 0 ? top : worth < SHOWN ? worth : SHOWN;
    size_t among = asked > worth ? findings->count : findings->worth;
    size_t all = pfa_findings_points(findings, among);
    size_t count = asked < all ? asked : all;
    print_head(report, findings, count, all, among);
    for (size_t i = 0, rank = 0; rank < count; i++) {
        if (!findings->list[i].other) {
            pfa_finding_print(report, findings, i, ++rank, among);
        }
    }
    if (among == findings->worth && findings->worth < findings->count) {
        printf(
            "\n%zu more would save less than %g %% of the run or of %s, and no millisecond; --top %zu lists them all\n",
            findings->count - findings->worth, 100 * PFA_FINDING_WORTH, findings->peak_words, findings->count);
    }
    pfa_held_print(report);
    printf("\nAn allocation and its free are %s to cost %s together, copying 0.25 ns a byte.\n",
           findings->measured ? "measured" : "assumed", pfa_text_ns(texts[0], findings->pair_ns));
    if (!report->has_accesses) {
        printf("No access data: what was never used, idle or too large cannot be seen; build with profalloc-cc.\n");
    }
    pfa_query_tell(&report->query, stdout);
}

static int advise(const pfa_request_t *request, const pfa_query_t *query, const asked_t *asked)
{
    pfa_report_t report;
    pfa_findings_t findings;
    pfa_report_collect_advised(&report, query, &asked->thresholds);
    if (report.query.source_count != 0 && !report.failed) {
        pfa_score_remarks(&report);
        pfa_findings_make(&findings, &report);
        if (request->sort != NULL && findings.count != 0) {
            qsort_r(findings.list, findings.count, sizeof *findings.list, compare, (void *)(uintptr_t)request->sort);
            pfa_findings_link(&findings);
            findings.worth = findings.count; /* by another order, what is worth little may come first */
        }
        if (request->json) {
            print_json(&report, &findings, request->top != 0 ? request->top : SIZE_MAX);
        } else {
            print_text(&report, &findings, request->top);
        }
        pfa_findings_free(&findings);
    }
    int status = report.query.status;
    pfa_report_free(&report);
    return status;
}

int pfa_command_advise(int argc, char **argv)
{
    asked_t asked = {.thresholds = pfa_thresholds_standard()};
    pfa_request_t request = {.command = "advise", .usage = usage, .no_by = true, .usage_more = pfa_thresholds_usage};
    pfa_query_t query;
    int status = pfa_request_read(&request, argc, argv, pfa_threshold_options, take, &asked);
    if (status < 0 && request.sort != NULL && !is_order(request.sort)) {
        pfa_tool_say("advise", "--sort takes rank, bytes, calls, time or sure, not '%s'", request.sort);
        status = PFA_EXIT_USAGE;
    }
    if (status < 0) {
        status = pfa_request_open(&request, &query);
    }
    if (status < 0) {
        status = advise(&request, &query, &asked);
    }
    pfa_request_free(&request);
    return pfa_tool_finish("advise", status);
}
