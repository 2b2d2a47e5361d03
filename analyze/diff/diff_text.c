/* Owns the comparison as people read it: both sides, totals, then lists of points by what became of them. */
#include "analyze/diff/diff.h"
#include "analyze/base/memory.h"
#include "analyze/base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct telling {
    const pfa_comparison_t *comparison;
    size_t top;
    bool *told; /* by pair: in a list before */
} telling_t;

static void print_total(const pfa_comparison_t *comparison, pfa_diff_metric_t metric)
{
    const pfa_change_t *change = &comparison->totals[metric];
    char texts[6][PFA_NUMBER_TEXT];
    bool rate = comparison->per_second && pfa_diff_metrics[metric].flows;
    char label[64];
    snprintf(label, sizeof label, "%s%s", pfa_diff_metrics[metric].label, rate ? " per second" : "");
    printf("  %-32s %14s %14s %14s %10s", label, pfa_tell_value(texts[0], metric, change->of[PFA_BASE].mean),
           pfa_tell_value(texts[1], metric, change->of[PFA_NEW].mean),
           pfa_tell_difference(texts[2], metric, change->difference), pfa_tell_percent(texts[3], change));
    if (change->margin > 0) {
        printf("  +- %s%s", pfa_tell_value(texts[4], metric, change->margin),
               change->differs && !change->significant ? ", not significant" : "");
    }
    putchar('\n');
    for (unsigned side = 0; side < PFA_SIDES; side++) {
        const pfa_estimate_t *of = &change->of[side];
        if (of->runs > 1 && of->most > of->least) {
            printf("  %-32s %s runs from %s to %s, standard deviation %s\n", "", side == PFA_BASE ? "base" : "new",
                   pfa_tell_value(texts[0], metric, of->least), pfa_tell_value(texts[1], metric, of->most),
                   pfa_tell_value(texts[2], metric, of->spread));
        }
    }
}

/* "1.0 KiB -> 2.0 KiB", or one value if they are the same. */
static void print_both(const pfa_pair_t *pair, pfa_diff_metric_t metric, const char *before, const char *behind)
{
    char texts[2][PFA_NUMBER_TEXT];
    const pfa_change_t *change = &pair->changes[metric];
    printf("%s%s", before, pfa_tell_value(texts[0], metric, change->of[PFA_BASE].mean));
    if (change->differs) {
        printf(" -> %s", pfa_tell_value(texts[1], metric, change->of[PFA_NEW].mean));
    }
    printf("%s", behind);
}

/* Both, if they are known and not nearly the same. */
static void print_scores(const pfa_pair_t *pair)
{
    for (size_t i = 0; i < PFA_SCORES; i++) {
        const pfa_change_t *score = &pair->scores[i];
        if (score->significant && fabs(score->difference) >= PFA_SCORE_TELLING) {
            printf("      %s score %.2f -> %.2f\n", pfa_score_names[i], score->of[PFA_BASE].mean,
                   score->of[PFA_NEW].mean);
        }
    }
}

static void print_pair(const pfa_pair_t *pair, size_t rank, pfa_diff_metric_t metric)
{
    char texts[3][PFA_NUMBER_TEXT];
    const pfa_change_t *change = &pair->changes[metric];
    bool both = pair->there[PFA_BASE] != 0 && pair->there[PFA_NEW] != 0;
    printf("\n  #%zu  %s", rank, pfa_tell_difference(texts[0], metric, change->difference));
    if (both) {
        printf("  %s", pfa_tell_percent(texts[1], change));
    }
    if (change->margin > 0) {
        printf("  +- %s", pfa_tell_value(texts[2], metric, change->margin));
    }
    print_both(pair, PFA_DIFF_METRIC_bytes, "; ", " in ");
    print_both(pair, PFA_DIFF_METRIC_count, "", " chunks; ");
    print_both(pair, PFA_DIFF_METRIC_peak, "at the peak ", "; ");
    print_both(pair, PFA_DIFF_METRIC_live, "live ", " in ");
    print_both(pair, PFA_DIFF_METRIC_live_count, "", "\n");
    print_scores(pair);
    pfa_tell_stack(stdout, pair, "      ");
}

static void print_total_score(const pfa_change_t *score, const char *name)
{
    char label[64];
    snprintf(label, sizeof label, "%s score", name);
    if (!isnan(score->of[PFA_BASE].mean) && !isnan(score->of[PFA_NEW].mean)) {
        printf("  %-32s %14.2f %14.2f %+14.2f\n", label, score->of[PFA_BASE].mean, score->of[PFA_NEW].mean,
               score->difference);
    }
}

/* Which pairs a list has. */
typedef struct choice {
    const char *title;
    pfa_fate_t fate;
    pfa_diff_metric_t metric;
    int sign;
    bool worse; /* whatever became of it, by its scores */
} choice_t;

static bool is_in(const pfa_pair_t *pair, const choice_t *choice)
{
    const pfa_change_t *change = &pair->changes[choice->metric];
    if (choice->worse) {
        return pfa_pair_is_worse(pair);
    }
    return pair->fate == choice->fate &&
           (choice->fate != PFA_FATE_CHANGED || (change->significant && choice->sign * change->difference > 0));
}

/* The larger part of a list is in few points: those, and how many there are besides. */
static void print_list(telling_t *telling, const choice_t *choice)
{
    const pfa_comparison_t *comparison = telling->comparison;
    uint32_t *numbers = pfa_comparison_order(comparison, choice->metric, choice->sign);
    size_t count = 0;
    size_t told = 0;
    size_t rank = 0;
    for (size_t i = 0; i < comparison->count; i++) {
        bool in = is_in(&comparison->pairs[numbers[i]], choice);
        count += in;
        told += in && telling->told[numbers[i]];
    }
    if (count > told) {
        printf("\n%s%s: %zu point%s", choice->title,
               choice->fate == PFA_FATE_CHANGED && !choice->worse ? pfa_diff_metrics[choice->metric].label : "", count,
               count == 1 ? "" : "s");
        printf(told != 0 ? ", %zu of them above\n" : "\n", told);
    }
    for (size_t i = 0; i < comparison->count && rank < telling->top; i++) {
        const pfa_pair_t *pair = &comparison->pairs[numbers[i]];
        if (is_in(pair, choice) && !telling->told[numbers[i]]) {
            telling->told[numbers[i]] = true;
            print_pair(pair, ++rank, choice->metric);
        }
    }
    if (rank + told < count) {
        printf("\n  and %zu more\n", count - told - rank);
    }
    free(numbers);
}

static void print_rest(const pfa_comparison_t *comparison, pfa_fate_t fate, const char *what)
{
    char texts[4][PFA_NUMBER_TEXT];
    double sums[PFA_DIFF_METRICS] = {0};
    for (size_t i = 0; i < comparison->count; i++) {
        for (unsigned j = 0; j < PFA_DIFF_METRICS && comparison->pairs[i].fate == fate; j++) {
            sums[j] += comparison->pairs[i].changes[j].of[PFA_NEW].mean;
        }
    }
    if (comparison->fates[fate] != 0) {
        printf("\n%s: %zu point%s with %s in %s chunk%s, %s at the peak, %s live at the end\n", what,
               comparison->fates[fate], comparison->fates[fate] == 1 ? "" : "s",
               pfa_text_bytes(texts[0], sums[PFA_DIFF_METRIC_bytes]),
               pfa_text_count(texts[1], sums[PFA_DIFF_METRIC_count]), pfa_text_plural(sums[PFA_DIFF_METRIC_count]),
               pfa_text_bytes(texts[2], sums[PFA_DIFF_METRIC_peak]),
               pfa_text_bytes(texts[3], sums[PFA_DIFF_METRIC_live]));
    }
}

void pfa_diff_text(const pfa_comparison_t *comparison, size_t top, const pfa_diff_metric_t *metrics,
                   size_t metric_count)
{
    char grown[PFA_NUMBER_TEXT];
    telling_t telling = {
        .comparison = comparison, .top = top, .told = pfa_memory_get(comparison->count, sizeof *telling.told)};
    pfa_tell_side(stdout, comparison, PFA_BASE);
    pfa_tell_side(stdout, comparison, PFA_NEW);
    printf("\n  %-32s %14s %14s %14s\n", "", "base", "new", "difference");
    for (unsigned i = 0; i < PFA_DIFF_METRICS; i++) {
        print_total(comparison, (pfa_diff_metric_t)i);
    }
    for (size_t i = 0; i < PFA_SCORES; i++) {
        print_total_score(&comparison->scores[i], pfa_score_names[i]);
    }
    if (comparison->live_growth > 0) {
        printf("  %-32s %14s %14s %14s\n", "more live at points that grew", "", "",
               pfa_tell_difference(grown, PFA_DIFF_METRIC_live, comparison->live_growth));
    }
    print_list(&telling, &(choice_t){.title = "New", .fate = PFA_FATE_NEW, .metric = metrics[0], .sign = 1});
    for (size_t i = 0; i < metric_count; i++) {
        choice_t choice = {.title = "Grew, ", .fate = PFA_FATE_CHANGED, .metric = metrics[i], .sign = 1};
        print_list(&telling, &choice);
        choice.title = "Shrank, ";
        choice.sign = -1;
        print_list(&telling, &choice);
    }
    print_list(&telling, &(choice_t){.title = "Gone", .fate = PFA_FATE_GONE, .metric = metrics[0], .sign = -1});
    print_list(&telling, &(choice_t){.title = "Worse scores", .metric = metrics[0], .worse = true});
    print_rest(comparison, PFA_FATE_UNSURE, "Not significant");
    print_rest(comparison, PFA_FATE_SAME, "The same");
    pfa_tell_notes(stdout, comparison);
    free(telling.told);
}
