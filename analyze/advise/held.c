/* Owns what is said of the points that hold most of the peak: also where no change is known that would make it less. */
#include "analyze/advise/findings.h"
#include "analyze/base/json.h"
#include "analyze/base/memory.h"
#include "analyze/base/text.h"
#include "analyze/names/place.h"

#include <stdio.h>
#include <stdlib.h>

/* So many, each with so much of the peak, until most of it is told. */
enum { POINTS = 3 };
static const double least_share = 0.05;
static const double most_of_it = 0.9;

/* The first so many of all points, in the order of their bytes at the peak. */
static size_t count_held(const pfa_report_t *report, const uint32_t *numbers, double peak)
{
    size_t count = 0;
    double told = 0;
    while (count < POINTS && count < report->point_count && told < most_of_it * peak) {
        double bytes = report->points[numbers[count]].peak_bytes;
        if (bytes <= 0 || (count != 0 && bytes < least_share * peak)) {
            break;
        }
        told += bytes;
        count++;
    }
    return count;
}

/* From the program's own place on. */
static void print_calls(FILE *to, pfa_report_t *report, uint32_t number)
{
    pfa_lines_t lines = {.list = NULL};
    pfa_line_t own;
    size_t from = 0;
    pfa_stacks_lines(&report->query->stacks, pfa_query_group_stack(report->query, number), &lines);
    bool found = pfa_place_own(&lines, &own);
    while (found && from + 1 < lines.count &&
           (lines.list[from].symbol != own.symbol || lines.list[from].address != own.address)) {
        from++;
    }
    pfa_finding_print_calls(to, &lines, from);
    pfa_lines_free(&lines);
}

static void print_point(FILE *to, pfa_report_t *report, uint32_t number, double peak)
{
    const pfa_point_t *point = &report->points[number];
    char texts[2][PFA_NUMBER_TEXT];
    fprintf(to, "  %10s  %5.1f %%  by ", pfa_text_bytes(texts[0], point->peak_bytes), 100 * point->peak_bytes / peak);
    print_calls(to, report, number);
    if (point->kept.value >= point->peak_bytes / 2) {
        fprintf(to, "; %s of it not freed until the end", pfa_text_bytes(texts[1], point->kept.value));
    }
    fputc('\n', to);
}

static void print_next(FILE *to, const pfa_report_t *report, double peak)
{
    bool kept = pfa_report_sum(report).kept.value >= peak / 2;
    fprintf(to, "  next: %s%s%s\n",
            kept ? "profalloc leaks, which tells whether what is not freed grows"
                 : "profalloc timeline, which tells when it came",
            kept ? "; profalloc timeline, which tells when it came" : "",
            report->has_accesses ? "" : "; a build with profalloc-cc, which tells what of it was in use");
}

void pfa_held_print(FILE *to, pfa_report_t *report)
{
    char text[PFA_NUMBER_TEXT];
    double peak = report->peak.bytes;
    if (!(peak > 0)) {
        return;
    }
    uint32_t *numbers = pfa_report_order(report, PFA_BY_PEAK);
    size_t count = count_held(report, numbers, peak);
    fprintf(to, "\nHeld at %s, of %s:\n", pfa_report_peak_words(report), pfa_text_bytes(text, peak));
    for (size_t i = 0; i < count; i++) {
        print_point(to, report, numbers[i], peak);
    }
    print_next(to, report, peak);
    pfa_memory_free(numbers);
}

void pfa_held_json(pfa_json_t *json, pfa_report_t *report)
{
    double peak = report->peak.bytes;
    uint32_t *numbers = pfa_report_order(report, PFA_BY_PEAK);
    size_t count = count_held(report, numbers, peak);
    pfa_json_begin(json, "held_at_peak", '[');
    for (size_t i = 0; i < count; i++) {
        const pfa_point_t *point = &report->points[numbers[i]];
        pfa_json_begin(json, NULL, '{');
        pfa_json_number(json, "kept_at_peak", point->kept.value);
        pfa_point_json(json, report, numbers[i]);
        pfa_json_end(json, '}');
    }
    pfa_json_end(json, ']');
    pfa_memory_free(numbers);
}
