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

static void print_total(FILE *to, const pfa_comparison_t *comparison, pfa_diff_metric_t metric)
{
    const pfa_change_t *change = &comparison->totals[metric];
    char texts[6][PFA_NUMBER_TEXT];
    bool rate = comparison->per_second && pfa_diff_metrics[metric].flows;
    char label[64];
    snprintf(label, sizeof label, "%s%s", pfa_diff_metrics[metric].label, rate ? " per second" : "");
    fprintf(to, "  %-32s %14s %14s %14s %10s", label, pfa_tell_value(texts[0], metric, change->of[PFA_BASE].mean),
            pfa_tell_value(texts[1], metric, change->of[PFA_NEW].mean),
            pfa_tell_difference(texts[2], metric, change->difference), pfa_tell_percent(texts[3], change));
    if (change->margin > 0) {
        fprintf(to, "  +- %s%s", pfa_tell_value(texts[4], metric, change->margin),
                change->differs && !change->significant ? ", not significant" : "");
    }
    fputc('\n', to);
    for (unsigned side = 0; side < PFA_SIDES; side++) {
        const pfa_side_mean_t *of = &change->of[side];
        if (of->runs > 1 && of->most > of->least) {
            fprintf(to, "  %-32s %s runs from %s to %s, standard deviation %s\n", "", side == PFA_BASE ? "base" : "new",
                    pfa_tell_value(texts[0], metric, of->least), pfa_tell_value(texts[1], metric, of->most),
                    pfa_tell_value(texts[2], metric, of->spread));
        }
    }
}

/* "1.0 KiB -> 2.0 KiB", or one value if they are the same. */
static void print_both(FILE *to, const pfa_pair_t *pair, pfa_diff_metric_t metric, const char *before,
                       const char *behind)
{
    char texts[2][PFA_NUMBER_TEXT];
    const pfa_change_t *change = &pair->changes[metric];
    fprintf(to, "%s%s", before, pfa_tell_value(texts[0], metric, change->of[PFA_BASE].mean));
    if (change->differs) {
        fprintf(to, " -> %s", pfa_tell_value(texts[1], metric, change->of[PFA_NEW].mean));
    }
    fprintf(to, "%s", behind);
}

/* Both, if they are known and not nearly the same. */
static void print_scores(FILE *to, const pfa_pair_t *pair)
{
    for (size_t i = 0; i < PFA_SCORES; i++) {
        const pfa_change_t *score = &pair->scores[i];
        if (score->significant && fabs(score->difference) >= PFA_SCORE_TELLING) {
            fprintf(to, "      %s score %.2f -> %.2f\n", pfa_score_names[i], score->of[PFA_BASE].mean,
                    score->of[PFA_NEW].mean);
        }
    }
}

static void print_pair(FILE *to, const pfa_pair_t *pair, size_t rank, pfa_diff_metric_t metric)
{
    char texts[3][PFA_NUMBER_TEXT];
    const pfa_change_t *change = &pair->changes[metric];
    bool both = pair->there[PFA_BASE] != 0 && pair->there[PFA_NEW] != 0;
    fprintf(to, "\n  #%zu  %s", rank, pfa_tell_difference(texts[0], metric, change->difference));
    if (both) {
        fprintf(to, "  %s", pfa_tell_percent(texts[1], change));
    }
    if (change->margin > 0) {
        fprintf(to, "  +- %s", pfa_tell_value(texts[2], metric, change->margin));
    }
    print_both(to, pair, PFA_DIFF_METRIC_bytes, "; ", " in ");
    print_both(to, pair, PFA_DIFF_METRIC_count, "", " chunks; ");
    print_both(to, pair, PFA_DIFF_METRIC_peak, "at the peak ", "; ");
    print_both(to, pair, PFA_DIFF_METRIC_live, "live ", " in ");
    print_both(to, pair, PFA_DIFF_METRIC_live_count, "", "\n");
    print_scores(to, pair);
    pfa_tell_stack(to, pair, "      ");
}

static void print_total_score(FILE *to, const pfa_change_t *score, const char *name)
{
    char label[64];
    snprintf(label, sizeof label, "%s score", name);
    if (!isnan(score->of[PFA_BASE].mean) && !isnan(score->of[PFA_NEW].mean)) {
        fprintf(to, "  %-32s %14.2f %14.2f %+14.2f\n", label, score->of[PFA_BASE].mean, score->of[PFA_NEW].mean,
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
static void print_list(FILE *to, telling_t *telling, const choice_t *choice)
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
        fprintf(to, "\n%s%s: %zu point%s", choice->title,
                choice->fate == PFA_FATE_CHANGED && !choice->worse ? pfa_diff_metrics[choice->metric].label : "", count,
                count == 1 ? "" : "s");
        fprintf(to, told != 0 ? ", %zu of them above\n" : "\n", told);
    }
    for (size_t i = 0; i < comparison->count && rank < telling->top; i++) {
        const pfa_pair_t *pair = &comparison->pairs[numbers[i]];
        if (is_in(pair, choice) && !telling->told[numbers[i]]) {
            telling->told[numbers[i]] = true;
            print_pair(to, pair, ++rank, choice->metric);
        }
    }
    if (rank + told < count) {
        fprintf(to, "\n  and %zu more\n", count - told - rank);
    }
    pfa_memory_free(numbers);
}

static void print_rest(FILE *to, const pfa_comparison_t *comparison, pfa_fate_t fate, const char *what)
{
    char texts[4][PFA_NUMBER_TEXT];
    double sums[PFA_DIFF_METRICS] = {0};
    for (size_t i = 0; i < comparison->count; i++) {
        for (unsigned j = 0; j < PFA_DIFF_METRICS && comparison->pairs[i].fate == fate; j++) {
            sums[j] += comparison->pairs[i].changes[j].of[PFA_NEW].mean;
        }
    }
    if (comparison->fates[fate] != 0) {
        fprintf(to, "\n%s: %zu point%s with %s in %s chunk%s, %s at the peak, %s live at the end\n", what,
                comparison->fates[fate], comparison->fates[fate] == 1 ? "" : "s",
                pfa_text_bytes(texts[0], sums[PFA_DIFF_METRIC_bytes]),
                pfa_text_count(texts[1], sums[PFA_DIFF_METRIC_count]), pfa_text_plural(sums[PFA_DIFF_METRIC_count]),
                pfa_text_bytes(texts[2], sums[PFA_DIFF_METRIC_peak]),
                pfa_text_bytes(texts[3], sums[PFA_DIFF_METRIC_live]));
    }
}

static void print_all(FILE *to, const pfa_comparison_t *comparison, size_t top, const pfa_diff_metric_t *metrics,
                      size_t metric_count)
{
    char grown[PFA_NUMBER_TEXT];
    telling_t telling = {
        .comparison = comparison, .top = top, .told = pfa_memory_get(comparison->count, sizeof *telling.told)};
    pfa_tell_side(to, comparison, PFA_BASE);
    pfa_tell_side(to, comparison, PFA_NEW);
    fprintf(to, "\n  %-32s %14s %14s %14s\n", "", "base", "new", "difference");
    for (unsigned i = 0; i < PFA_DIFF_METRICS; i++) {
        print_total(to, comparison, (pfa_diff_metric_t)i);
    }
    for (size_t i = 0; i < PFA_SCORES; i++) {
        print_total_score(to, &comparison->scores[i], pfa_score_names[i]);
    }
    if (comparison->live_growth > 0) {
        fprintf(to, "  %-32s %14s %14s %14s\n", "more live at points that grew", "", "",
                pfa_tell_difference(grown, PFA_DIFF_METRIC_live, comparison->live_growth));
    }
    print_list(to, &telling, &(choice_t){.title = "New", .fate = PFA_FATE_NEW, .metric = metrics[0], .sign = 1});
    for (size_t i = 0; i < metric_count; i++) {
        choice_t choice = {.title = "Grew, ", .fate = PFA_FATE_CHANGED, .metric = metrics[i], .sign = 1};
        print_list(to, &telling, &choice);
        choice.title = "Shrank, ";
        choice.sign = -1;
        print_list(to, &telling, &choice);
    }
    print_list(to, &telling, &(choice_t){.title = "Gone", .fate = PFA_FATE_GONE, .metric = metrics[0], .sign = -1});
    print_list(to, &telling, &(choice_t){.title = "Worse scores", .metric = metrics[0], .worse = true});
    print_rest(to, comparison, PFA_FATE_UNSURE, "Not significant");
    print_rest(to, comparison, PFA_FATE_SAME, "The same");
    pfa_tell_notes(to, comparison);
    pfa_memory_free(telling.told);
}

typedef struct writing {
    const pfa_comparison_t *comparison;
    size_t top;
    const pfa_diff_metric_t *metrics;
    size_t metric_count;
    FILE *to;
} writing_t;

static void write_text(void *to)
{
    const writing_t *writing = to;
    print_all(writing->to, writing->comparison, writing->top, writing->metrics, writing->metric_count);
}

int pfa_diff_text(pfa_comparison_t *comparison, size_t top, const pfa_diff_metric_t *metrics, size_t metric_count,
                  FILE *to)
{
    writing_t writing = {
        .comparison = comparison, .top = top, .metrics = metrics, .metric_count = metric_count, .to = to};
    return pfa_comparison_work(comparison, write_text, &writing);
}
