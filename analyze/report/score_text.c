/* Owns the head of the report as text: the scores of the whole run, and the points that are worth a change most. */
#include "analyze/advise/findings.h"
#include "analyze/base/text.h"
#include "analyze/names/place.h"
#include "analyze/query/keys.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *score(char text[PFA_NUMBER_TEXT], double value)
{
    snprintf(text, PFA_NUMBER_TEXT, isnan(value) ? "-" : "%.2f", value);
    return text;
}

static void print_scores(const pfa_report_t *report)
{
    static const char *const titles[PFA_SCORES] = {
        [PFA_SCORE_LIFETIME] = "lifetime", [PFA_SCORE_USAGE] = "usage", [PFA_SCORE_USEFUL] = "useful lifetime"};
    static const char *const meanings[PFA_SCORES] = {
        [PFA_SCORE_LIFETIME] = "how long chunks live, of the bursts they are allocated in",
        [PFA_SCORE_USAGE] = "how much of their bytes is both written and read",
        [PFA_SCORE_USEFUL] = "for how much of their lives they are in use"};
    printf("\nScores, from 0 (bad) to 1 (good): geometric means over allocation points\n");
    for (int i = 0; i < PFA_SCORES; i++) {
        const pfa_score_total_t *total = &report->memoro.totals[i];
        char text[PFA_NUMBER_TEXT];
        if (total->points == 0) {
            printf("  %-16s    -  not known: %s\n", titles[i],
                   i == PFA_SCORE_LIFETIME            ? "there is no chunk"
                   : report->memoro.blind_points != 0 ? "no code that allocates is instrumented"
                                                      : "what was done with the chunks is not recorded");
            continue;
        }
        printf("  %-16s %4s  variance %.3f, %zu point%s: %s\n", titles[i], score(text, total->geometric),
               total->variance, total->points, pfa_text_plural((double)total->points), meanings[i]);
    }
    for (int i = 0; i < PFA_SCORES; i++) {
        const pfa_score_total_t *total = &report->memoro.totals[i];
        if (total->least != 0) {
            printf("  note: %zu point%s with less than %.2f in %s count%s as %.2f\n", total->least,
                   pfa_text_plural((double)total->least), PFA_SCORE_LEAST, titles[i], total->least == 1 ? "s" : "",
                   PFA_SCORE_LEAST);
        }
    }
    if (report->memoro.blind_points != 0) {
        size_t blind = report->memoro.blind_points;
        printf("  note: %zu point%s of code that is not instrumented %s in lifetime alone: what it does is not seen\n",
               blind, pfa_text_plural((double)blind), blind == 1 ? "counts" : "count");
    }
    if (report->memoro.sampled) {
        printf("  note: of sampled chunks: bursts have wider gaps, so the lifetime score leans towards 1\n");
    }
}

/* What else is to be said of the point, but for what the advice is about. */
static void print_inferences(const pfa_report_t *report, uint32_t number)
{
    const pfa_memoro_point_t *point = &report->memoro.points[number];
    const char *between = "      inferred: ";
    for (int i = 0; i < PFA_INFERENCES; i++) {
        if (pfa_memoro_is_flagged(&report->memoro, point, (pfa_inference_t)i)) {
            pfa_share_t share = pfa_memoro_share(point, (pfa_inference_t)i);
            printf("%s%s (%.0f %% of chunks, %.0f %% of bytes)", between, pfa_inference_texts[i].title,
                   100 * share.chunks, 100 * share.bytes);
            between = ", ";
        }
    }
    printf("%s%s", point->top_bytes ? between : "", point->top_bytes ? "top percentile of bytes" : "");
    between = point->top_bytes ? ", " : between;
    printf("%s%s", point->top_chunks ? between : "", point->top_chunks ? "top percentile of chunks" : "");
    between = point->top_chunks ? ", " : between;
    if (between[0] == ',') {
        putchar('\n');
    }
}

static void print_numbers(const pfa_report_t *report, uint32_t number)
{
    const pfa_memoro_point_t *point = &report->memoro.points[number];
    char texts[6][PFA_NUMBER_TEXT];
    char within[2][PFA_NUMBER_TEXT];
    printf("      %s in %s chunk%s%s of %s", pfa_text_bytes(texts[0], point->bytes),
           pfa_text_count(texts[1], point->chunks), pfa_text_plural(point->chunks),
           pfa_text_within(within[0], point->chunks, point->chunks_variance),
           pfa_text_bytes(texts[2], (double)point->smallest));
    if (point->largest != point->smallest) {
        printf(" to %s", pfa_text_bytes(texts[2], (double)point->largest));
    }
    printf("; alive %s on average; scores: lifetime %s, usage %s, useful lifetime %s\n",
           pfa_text_ns(texts[2], point->lives / point->chunks), score(texts[3], point->scores[PFA_SCORE_LIFETIME]),
           score(texts[4], point->scores[PFA_SCORE_USAGE]), score(texts[5], point->scores[PFA_SCORE_USEFUL]));
}

/* How many lines two stacks begin with alike. */
static size_t count_common(const pfa_lines_t *left, const pfa_lines_t *right)
{
    size_t same = 0;
    while (same < left->count && same < right->count && left->list[same].symbol == right->list[same].symbol &&
           left->list[same].address == right->list[same].address &&
           left->list[same].module == right->list[same].module) {
        same++;
    }
    return same;
}

/* What called main is of the C library. */
static size_t count_own(const pfa_lines_t *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        if (lines->list[i].symbol->function != NULL && strcmp(lines->list[i].symbol->function, "main") == 0) {
            return i + 1;
        }
    }
    return lines->count;
}

void pfa_finding_print_calls(const pfa_lines_t *lines, size_t from)
{
    enum { CALLS = 3 };
    size_t end = count_own(lines);
    for (size_t i = from; i < end && i < from + CALLS; i++) {
        fputs(i == from ? "" : " < ", stdout);
        pfa_place_print_line(stdout, &lines->list[i]);
    }
    fputs(from >= end ? "what is not told apart" : from + CALLS < end ? " < ..." : "", stdout);
}

/* Another point of a pool, by the calls that it does not have in common with the first. */
static void print_pooled(pfa_report_t *report, const pfa_lines_t *first, uint32_t number)
{
    pfa_lines_t lines = {.list = NULL};
    char text[PFA_NUMBER_TEXT];
    double chunks = report->memoro.points[number].chunks;
    pfa_stacks_lines(&report->query.stacks, pfa_query_group_stack(&report->query, number), &lines);
    size_t from = count_common(first, &lines);
    printf("      and %s chunk%s %s ", pfa_text_count(text, chunks), pfa_text_plural(chunks),
           from == 0 && lines.count != 0 ? "at" : "by");
    pfa_finding_print_calls(&lines, from);
    putchar('\n');
    pfa_lines_free(&lines);
}

static void print_pool(pfa_report_t *report, const pfa_finding_t *finding)
{
    enum { TOLD = 5 };
    pfa_lines_t first = {.list = NULL};
    size_t count = finding->point_count;
    pfa_stacks_lines(&report->query.stacks, pfa_query_group_stack(&report->query, finding->point), &first);
    for (size_t i = 1; i < count && i <= TOLD; i++) {
        print_pooled(report, &first, finding->points[i]);
    }
    if (count > TOLD + 1) {
        printf("      and %zu more point%s of the same function\n", count - TOLD - 1,
               pfa_text_plural((double)(count - TOLD - 1)));
    }
    pfa_lines_free(&first);
}

/* One more about the point that was told last. */
static void print_other(pfa_report_t *report, const pfa_findings_t *findings, const pfa_finding_t *other)
{
    printf("      or ");
    pfa_finding_sentence(stdout, other, report);
    printf("; saves ");
    pfa_finding_gain(stdout, other, findings);
    putchar('\n');
}

void pfa_finding_print(pfa_report_t *report, const pfa_findings_t *findings, size_t at, size_t rank, size_t among)
{
    const pfa_finding_t *finding = &findings->list[at];
    bool by_stack = report->query.key == NULL || report->query.key == &pfa_keys[0];
    printf("\n  #%zu  ", rank);
    pfa_finding_sentence(stdout, finding, report);
    printf("\n      saves ");
    pfa_finding_gain(stdout, finding, findings);
    printf("; how sure: %s", pfa_sure_names[finding->sure]);
    if (finding->unsure != NULL) {
        printf(" (%s)", finding->unsure);
    }
    putchar('\n');
    print_numbers(report, finding->point);
    print_inferences(report, finding->point);
    if (by_stack) {
        pfa_place_print_stack(stdout, &report->query.stacks, pfa_query_group_stack(&report->query, finding->point),
                              "      ");
    } else {
        printf("      %s\n", pfa_query_group_name(&report->query, finding->point));
    }
    if (finding->point_count > 1) {
        print_pool(report, finding);
    }
    for (size_t i = finding->next; i != 0 && i < among; i = findings->list[i].next) {
        print_other(report, findings, &findings->list[i]);
    }
}

static void print_findings(pfa_report_t *report, const pfa_findings_t *findings, size_t top)
{
    size_t most = top < PFA_FINDINGS_SHOWN ? top : PFA_FINDINGS_SHOWN;
    for (size_t i = 0, rank = 0; i < findings->worth && rank < most; i++) {
        if (!findings->list[i].other) {
            pfa_finding_print(report, findings, i, ++rank, findings->worth);
        }
    }
}

void pfa_score_text(pfa_report_t *report, size_t top)
{
    pfa_findings_t findings;
    if (report->tally.frees + report->tally.live_chunks <= 0) {
        return;
    }
    print_scores(report);
    if (report->query.key != NULL && report->query.key != &pfa_keys[0]) {
        return; /* what is to be changed is told by stack */
    }
    pfa_findings_make(&findings, report);
    if (findings.worth != 0) {
        printf("\nWorth a change, by what it would save (profalloc advise has all of %zu)\n",
               pfa_findings_points(&findings, findings.worth));
    } else {
        printf("\nNothing worth a change was found%s\n",
               report->has_accesses ? "" : "; what chunks were used for is not known");
    }
    print_findings(report, &findings, top);
    pfa_held_print(report);
    pfa_findings_free(&findings);
}
