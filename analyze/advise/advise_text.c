/* Owns what `profalloc advise` prints, for people and for programs. */
#include "analyze/advise/findings.h"
#include "analyze/base/json.h"
#include "analyze/base/text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 10 }; /* points, unless it is said */

static double value_of(const pfa_finding_t *finding, const char *sort)
{
    return strcmp(sort, "bytes") == 0   ? finding->bytes
           : strcmp(sort, "calls") == 0 ? finding->calls
           : strcmp(sort, "time") == 0  ? finding->ns
           : strcmp(sort, "sure") == 0  ? (double)finding->sure
                                        : finding->rank;
}

bool pfa_advice_is_order(const char *sort)
{
    static const char *const orders[] = {
#define PFA_ADVICE_ORDER(name, meaning) #name,
#include "analyze/advise/orders.def"
#undef PFA_ADVICE_ORDER
    };
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

static void print_json(FILE *to, pfa_report_t *report, const pfa_findings_t *findings, size_t top)
{
    pfa_json_t json = {.to = to};
    pfa_json_begin(&json, NULL, '{');
    pfa_json_text(&json, "schema", "profalloc-advise");
    pfa_json_whole(&json, "version", 1);
    pfa_query_tell_json(report->query, &json);
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
static void print_head(FILE *to, pfa_report_t *report, const pfa_findings_t *findings, size_t count, size_t all,
                       size_t among)
{
    char texts[3][PFA_NUMBER_TEXT];
    if (findings->count == 0) {
        fprintf(to, "Nothing to change was found");
    } else if (count == 0) {
        fprintf(to, "Nothing worth a change was found");
    } else {
        fprintf(to, "%zu of %zu changes that would save memory or time", count, all);
    }
    fprintf(to, "; %s is %s%s, the run took %s%s\n", findings->peak_words, pfa_text_bytes(texts[0], findings->peak),
            pfa_text_within(texts[2], findings->peak, pfa_report_sum(report).peak_variance),
            pfa_text_ns(texts[1], findings->run_ns),
            findings->run_ns < report->memoro.run_ns ? " without what recording took" : "");
    if (all < among) {
        fprintf(
            to,
            "What follows \"or\" is of the same point, and would be done instead: savings of one point do not add up.\n");
    }
}

static void print_text(FILE *to, pfa_report_t *report, const pfa_findings_t *findings, size_t top)
{
    char texts[1][PFA_NUMBER_TEXT];
    size_t worth = pfa_findings_points(findings, findings->worth);
    size_t asked = top != 0 ? top : worth < SHOWN ? worth : SHOWN;
    size_t among = asked > worth ? findings->count : findings->worth;
    size_t all = pfa_findings_points(findings, among);
    size_t count = asked < all ? asked : all;
    print_head(to, report, findings, count, all, among);
    for (size_t i = 0, rank = 0; rank < count; i++) {
        if (!findings->list[i].other) {
            pfa_finding_print(to, report, findings, i, ++rank, among);
        }
    }
    if (among == findings->worth && findings->worth < findings->count) {
        fprintf(
            to,
            "\n%zu more would save less than %g %% of the run or of %s, and no millisecond; --top %zu lists them all\n",
            findings->count - findings->worth, 100 * PFA_FINDING_WORTH, findings->peak_words, findings->count);
    }
    pfa_held_print(to, report);
    fprintf(to, "\nAn allocation and its free are %s to cost %s together, copying 0.25 ns a byte.\n",
            findings->measured ? "measured" : "assumed", pfa_text_ns(texts[0], findings->pair_ns));
    if (!report->has_accesses) {
        fprintf(to,
                "No access data: what was never used, idle or too large cannot be seen; build with profalloc-cc.\n");
    }
    pfa_query_tell(report->query, to);
}

typedef struct writing {
    FILE *to;
    size_t top;
    const char *order;
    bool json;
} writing_t;

static void write_all(void *answer, void *to)
{
    const writing_t *writing = to;
    pfa_report_t *report = answer;
    pfa_findings_t findings;
    pfa_findings_make(&findings, report);
    if (writing->order != NULL && findings.count != 0) {
        qsort_r(findings.list, findings.count, sizeof *findings.list, compare, (void *)(uintptr_t)writing->order);
        pfa_findings_link(&findings);
        findings.worth = findings.count; /* by another order, what is worth little may come first */
    }
    (writing->json ? print_json : print_text)(writing->to, report, &findings, writing->top);
    pfa_findings_free(&findings);
}

int pfa_advice_text(pfa_report_t *report, size_t top, const char *order, FILE *to)
{
    writing_t writing = {.to = to, .top = top, .order = order};
    return pfa_answer_write(report, write_all, &writing);
}

int pfa_advice_json(pfa_report_t *report, size_t top, const char *order, FILE *to)
{
    writing_t writing = {.to = to, .top = top, .order = order, .json = true};
    return pfa_answer_write(report, write_all, &writing);
}
