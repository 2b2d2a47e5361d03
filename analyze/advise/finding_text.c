/* Owns a finding as text: what to do, what it saves, and what is known of its point. */
#include "analyze/advise/findings.h"
#include "analyze/base/text.h"
#include "analyze/names/place.h"
#include "analyze/query/keys.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *score(char text[PFA_NUMBER_TEXT], double value)
{
    snprintf(text, PFA_NUMBER_TEXT, isnan(value) ? "-" : "%.2f", value);
    return text;
}

/* What else is to be said of the point, but for what the advice is about. */
static void print_inferences(FILE *to, const pfa_report_t *report, uint32_t number)
{
    const pfa_memoro_point_t *point = &report->memoro.points[number];
    const char *between = "      inferred: ";
    for (int i = 0; i < PFA_INFERENCES; i++) {
        if (pfa_memoro_is_flagged(&report->memoro, point, (pfa_inference_t)i)) {
            pfa_share_t share = pfa_memoro_share(point, (pfa_inference_t)i);
            fprintf(to, "%s%s (%.0f %% of chunks, %.0f %% of bytes)", between, pfa_inference_texts[i].title,
                    100 * share.chunks, 100 * share.bytes);
            between = ", ";
        }
    }
    fprintf(to, "%s%s", point->top_bytes ? between : "", point->top_bytes ? "top percentile of bytes" : "");
    between = point->top_bytes ? ", " : between;
    fprintf(to, "%s%s", point->top_chunks ? between : "", point->top_chunks ? "top percentile of chunks" : "");
    between = point->top_chunks ? ", " : between;
    if (between[0] == ',') {
        fputc('\n', to);
    }
}

static void print_numbers(FILE *to, const pfa_report_t *report, uint32_t number)
{
    const pfa_memoro_point_t *point = &report->memoro.points[number];
    char texts[6][PFA_NUMBER_TEXT];
    char within[2][PFA_NUMBER_TEXT];
    fprintf(to, "      %s in %s chunk%s%s of %s", pfa_text_bytes(texts[0], point->bytes),
            pfa_text_count(texts[1], point->chunks), pfa_text_plural(point->chunks),
            pfa_text_within(within[0], point->chunks, point->chunks_variance),
            pfa_text_bytes(texts[2], (double)point->smallest));
    if (point->largest != point->smallest) {
        fprintf(to, " to %s", pfa_text_bytes(texts[2], (double)point->largest));
    }
    double severity = pfa_memoro_severity(point);
    fprintf(to, "; alive %s on average; scores: lifetime %s, usage %s, useful lifetime %s",
            pfa_text_ns(texts[2], point->lives / point->chunks), score(texts[3], point->scores[PFA_SCORE_LIFETIME]),
            score(texts[4], point->scores[PFA_SCORE_USAGE]), score(texts[5], point->scores[PFA_SCORE_USEFUL]));
    if (!isnan(severity)) {
        fprintf(to, "; severity %.0f of %d", severity, PFA_SEVERITIES);
    }
    fputc('\n', to);
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

void pfa_finding_print_calls(FILE *to, const pfa_lines_t *lines, size_t from)
{
    enum { CALLS = 3 };
    size_t end = count_own(lines);
    for (size_t i = from; i < end && i < from + CALLS; i++) {
        fputs(i == from ? "" : " < ", to);
        pfa_place_print_line(to, &lines->list[i]);
    }
    fputs(from >= end ? "what is not told apart" : from + CALLS < end ? " < ..." : "", to);
}

/* Another point of a pool, by the calls that it does not have in common with the first. */
static void print_pooled(FILE *to, pfa_report_t *report, const pfa_lines_t *first, uint32_t number)
{
    pfa_lines_t lines = {.list = NULL};
    char text[PFA_NUMBER_TEXT];
    double chunks = report->memoro.points[number].chunks;
    pfa_stacks_lines(&report->query->stacks, pfa_query_group_stack(report->query, number), &lines);
    size_t from = count_common(first, &lines);
    fprintf(to, "      and %s chunk%s %s ", pfa_text_count(text, chunks), pfa_text_plural(chunks),
            from == 0 && lines.count != 0 ? "at" : "by");
    pfa_finding_print_calls(to, &lines, from);
    fputc('\n', to);
    pfa_lines_free(&lines);
}

static void print_pool(FILE *to, pfa_report_t *report, const pfa_finding_t *finding)
{
    enum { TOLD = 5 };
    pfa_lines_t first = {.list = NULL};
    size_t count = finding->point_count;
    pfa_stacks_lines(&report->query->stacks, pfa_query_group_stack(report->query, finding->point), &first);
    for (size_t i = 1; i < count && i <= TOLD; i++) {
        print_pooled(to, report, &first, finding->points[i]);
    }
    if (count > TOLD + 1) {
        fprintf(to, "      and %zu more point%s of the same function\n", count - TOLD - 1,
                pfa_text_plural((double)(count - TOLD - 1)));
    }
    pfa_lines_free(&first);
}

/* One more about the point that was told last. */
static void print_other(FILE *to, pfa_report_t *report, const pfa_findings_t *findings, const pfa_finding_t *other)
{
    fprintf(to, "      or ");
    pfa_finding_sentence(to, other, report);
    fprintf(to, "; saves ");
    pfa_finding_gain(to, other, findings);
    fputc('\n', to);
}

void pfa_finding_print(FILE *to, pfa_report_t *report, const pfa_findings_t *findings, size_t at, size_t rank,
                       size_t among)
{
    const pfa_finding_t *finding = &findings->list[at];
    bool by_stack = report->query->key == NULL || report->query->key == &pfa_keys[0];
    fprintf(to, "\n  #%zu  ", rank);
    pfa_finding_sentence(to, finding, report);
    fprintf(to, "\n      saves ");
    pfa_finding_gain(to, finding, findings);
    fprintf(to, "; how sure: %s", pfa_sure_names[finding->sure]);
    if (finding->unsure != NULL) {
        fprintf(to, " (%s)", finding->unsure);
    }
    fputc('\n', to);
    print_numbers(to, report, finding->point);
    print_inferences(to, report, finding->point);
    if (by_stack) {
        pfa_place_print_stack(to, &report->query->stacks, pfa_query_group_stack(report->query, finding->point),
                              "      ");
    } else {
        fprintf(to, "      %s\n", pfa_query_group_name(report->query, finding->point));
    }
    if (finding->point_count > 1) {
        print_pool(to, report, finding);
    }
    for (size_t i = finding->next; i != 0 && i < among; i = findings->list[i].next) {
        print_other(to, report, findings, &findings->list[i]);
    }
}
