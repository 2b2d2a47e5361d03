/* Owns the comparing of two sides: the sums of each pair of points in each run, and what changed. See analyze/diff/compare.h. */
#include "analyze/diff/compare.h"
#include "analyze/base/memory.h"
#include "analyze/diff/match.h"
#include "analyze/names/identity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t count_runs(const pfa_comparison_t *comparison)
{
    return comparison->sides[PFA_BASE].count + comparison->sides[PFA_NEW].count;
}

static pfa_summary_t *run_of(const pfa_comparison_t *comparison, size_t number)
{
    size_t base = comparison->sides[PFA_BASE].count;
    return number < base ? &comparison->sides[PFA_BASE].runs[number] : &comparison->sides[PFA_NEW].runs[number - base];
}

/* What a metric of a run is multiplied with. */
static double scale_of(const pfa_comparison_t *comparison, size_t run, pfa_diff_metric_t metric)
{
    double seconds = run_of(comparison, run)->seconds;
    return comparison->per_second && pfa_diff_metrics[metric].flows && seconds > 0 ? 1 / seconds : 1;
}

static void add_point(pfa_comparison_t *comparison, pfa_pair_t *pair, const pfa_summary_point_t *point, size_t run)
{
    bool is_new = run >= comparison->sides[PFA_BASE].count;
    bool shown_is_new = pair->there[PFA_NEW] != 0;
    bool larger = pair->shown == NULL ||
                  point->sums.values[PFA_DIFF_METRIC_bytes] > pair->shown->sums.values[PFA_DIFF_METRIC_bytes];
    if (is_new == shown_is_new ? larger : is_new) {
        pair->shown = point;
    }
    pair->there[is_new ? PFA_NEW : PFA_BASE] += pair->sums[run].values[PFA_DIFF_METRIC_count] <= 0;
    pair->stacks = point->stacks > pair->stacks ? point->stacks : pair->stacks;
    pfa_sums_add(&pair->sums[run], &point->sums);
}

/* Had the other side's runs had the chunks of this run's point. */
static void fill_point_unseen(const pfa_comparison_t *comparison, size_t run, pfa_summary_point_t *point)
{
    size_t base = comparison->sides[PFA_BASE].count;
    const pfa_side_t *others = &comparison->sides[run < base ? PFA_NEW : PFA_BASE];
    double squared = (double)others->count * (double)others->count;
    for (size_t i = 0; i < others->count; i++) {
        double variances[PFA_DIFF_METRICS];
        pfa_summary_variances(point, others->runs[i].sample, variances);
        for (unsigned j = 0; j < PFA_DIFF_METRICS; j++) {
            pfa_diff_metric_t metric = (pfa_diff_metric_t)j;
            double scale = scale_of(comparison, run, metric) * scale_of(comparison, run < base ? base + i : i, metric);
            point->sums.unseen[j] += variances[j] * scale / squared;
        }
    }
}

static void fill_unseen(pfa_comparison_t *comparison)
{
    for (size_t run = 0; run < count_runs(comparison); run++) {
        pfa_summary_t *summary = run_of(comparison, run);
        for (size_t i = 0; i < summary->count; i++) {
            pfa_summary_point_t *point = &summary->points[i];
            fill_point_unseen(comparison, run, point);
            for (size_t j = 0; j < PFA_DIFF_METRICS; j++) {
                summary->totals.unseen[j] += point->sums.unseen[j];
            }
        }
    }
}

static void fill_pairs(pfa_comparison_t *comparison)
{
    pfa_match_t match;
    size_t runs = count_runs(comparison);
    pfa_match_make(&match, comparison->sides);
    comparison->count = match.count;
    comparison->pairs = pfa_memory_get(match.count, sizeof *comparison->pairs);
    for (size_t i = 0; i < match.count; i++) {
        comparison->pairs[i].loose = match.loose[i];
        comparison->pairs[i].sums = pfa_memory_get(runs, sizeof *comparison->pairs[i].sums);
    }
    for (size_t run = 0; run < runs; run++) {
        const pfa_summary_t *summary = run_of(comparison, run);
        for (size_t i = 0; i < summary->count; i++) {
            add_point(comparison, &comparison->pairs[match.pair_of[run][i]], &summary->points[i], run);
        }
    }
    pfa_match_free(&match, comparison->sides);
}

/* Of `sums` by run: those of one side. */
static pfa_side_mean_t estimate(const pfa_comparison_t *comparison, const pfa_sums_t *sums, pfa_diff_metric_t metric,
                                unsigned side)
{
    size_t count = comparison->sides[side].count;
    size_t first = side == PFA_BASE ? 0 : comparison->sides[PFA_BASE].count;
    double *values = pfa_memory_get(2 * count, sizeof *values);
    for (size_t i = 0; i < count; i++) {
        double scale = scale_of(comparison, first + i, metric);
        values[i] = sums[first + i].values[metric] * scale;
        values[count + i] = sums[first + i].variances[metric] * scale * scale;
    }
    pfa_side_mean_t found = pfa_side_mean_of(values, values + count, count);
    pfa_memory_free(values);
    return found;
}

/* Of `sums` by run: the variance that a side's mean would have if it had the other's chunks. */
static double unseen_variance(const pfa_comparison_t *comparison, const pfa_sums_t *sums, pfa_diff_metric_t metric,
                              unsigned side)
{
    size_t count = comparison->sides[1 - side].count;
    size_t first = side == PFA_BASE ? comparison->sides[PFA_BASE].count : 0;
    double sum = 0;
    for (size_t i = first; i < first + count; i++) {
        sum += sums[i].unseen[metric];
    }
    return sum / (double)count;
}

static void fill_changes(const pfa_comparison_t *comparison, const pfa_sums_t *sums,
                         pfa_change_t changes[PFA_DIFF_METRICS])
{
    for (unsigned i = 0; i < PFA_DIFF_METRICS; i++) {
        pfa_diff_metric_t metric = (pfa_diff_metric_t)i;
        pfa_side_mean_t base = estimate(comparison, sums, metric, PFA_BASE);
        pfa_side_mean_t other = estimate(comparison, sums, metric, PFA_NEW);
        double unseen[PFA_SIDES] = {unseen_variance(comparison, sums, metric, PFA_BASE),
                                    unseen_variance(comparison, sums, metric, PFA_NEW)};
        changes[i] = pfa_change_of(&base, &other, unseen, PFA_DIFF_METRICS);
    }
}

/* The mean of those runs that know it. */
static pfa_side_mean_t estimate_score(const pfa_comparison_t *comparison, const pfa_sums_t *sums, pfa_score_t score,
                                      unsigned side)
{
    size_t count = comparison->sides[side].count;
    size_t first = side == PFA_BASE ? 0 : comparison->sides[PFA_BASE].count;
    double *values = pfa_memory_get(2 * count, sizeof *values);
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        double value = pfa_sums_score(&sums[first + i], score);
        if (!isnan(value)) {
            values[known++] = value;
        }
    }
    memset(values + known, 0, (2 * count - known) * sizeof *values);
    pfa_side_mean_t found = pfa_side_mean_of(values, values + known, known);
    found.mean = known != 0 ? found.mean : (double)NAN;
    pfa_memory_free(values);
    return found;
}

static void fill_scores(const pfa_comparison_t *comparison, const pfa_sums_t *sums, pfa_change_t scores[PFA_SCORES])
{
    static const double unseen[PFA_SIDES] = {0, 0};
    for (unsigned i = 0; i < PFA_SCORES; i++) {
        pfa_side_mean_t base = estimate_score(comparison, sums, (pfa_score_t)i, PFA_BASE);
        pfa_side_mean_t other = estimate_score(comparison, sums, (pfa_score_t)i, PFA_NEW);
        scores[i] = pfa_change_of(&base, &other, unseen, 1);
    }
}

bool pfa_pair_is_worse(const pfa_pair_t *pair)
{
    for (size_t i = 0; i < PFA_SCORES; i++) {
        if (pair->scores[i].significant && pair->scores[i].difference <= -PFA_SCORE_TELLING) {
            return true;
        }
    }
    return false;
}

static pfa_fate_t find_fate(const pfa_pair_t *pair)
{
    bool differs = false;
    bool sure = false;
    for (unsigned i = 0; i < PFA_DIFF_METRICS; i++) {
        differs = differs || pair->changes[i].differs;
        sure = sure || pair->changes[i].sure;
    }
    if (!sure) {
        return differs ? PFA_FATE_UNSURE : PFA_FATE_SAME;
    }
    return pair->there[PFA_BASE] == 0 ? PFA_FATE_NEW : pair->there[PFA_NEW] == 0 ? PFA_FATE_GONE : PFA_FATE_CHANGED;
}

static void fill_totals(pfa_comparison_t *comparison)
{
    size_t runs = count_runs(comparison);
    pfa_sums_t *sums = pfa_memory_get(runs, sizeof *sums);
    for (size_t i = 0; i < runs; i++) {
        sums[i] = run_of(comparison, i)->totals;
    }
    fill_changes(comparison, sums, comparison->totals);
    fill_scores(comparison, sums, comparison->scores);
    pfa_memory_free(sums);
}

static void fill_leaks(pfa_comparison_t *comparison, pfa_pair_t *pair)
{
    const pfa_change_t *live = &pair->changes[PFA_DIFF_METRIC_live];
    size_t base = comparison->sides[PFA_BASE].count;
    for (size_t i = 0; i < count_runs(comparison); i++) {
        unsigned side = i < base ? PFA_BASE : PFA_NEW;
        pair->leaked[side] += pair->sums[i].leaked / (double)comparison->sides[side].count;
    }
    /* One of all points that are looked at. */
    if (live->sure && live->difference > pfa_change_margin(live, 1, comparison->count)) {
        comparison->live_growth += live->difference;
        pair->leak_growth = fmax(fmin(pair->leaked[PFA_NEW] - pair->leaked[PFA_BASE], live->difference), 0);
    }
    comparison->leaked[PFA_BASE] += pair->leaked[PFA_BASE];
    comparison->leaked[PFA_NEW] += pair->leaked[PFA_NEW];
    comparison->leak_growth += pair->leak_growth;
}

static void count_nameless(pfa_comparison_t *comparison, const pfa_pair_t *pair)
{
    bool single = pair->there[PFA_BASE] == 0 || pair->there[PFA_NEW] == 0;
    if (single && !pfa_identity_is_lasting(&pair->shown->lines)) {
        comparison->nameless[pair->there[PFA_NEW] != 0 ? PFA_NEW : PFA_BASE]++;
    }
}

void pfa_comparison_make(pfa_comparison_t *comparison)
{
    fill_unseen(comparison);
    fill_pairs(comparison);
    fill_totals(comparison);
    for (size_t i = 0; i < comparison->count; i++) {
        pfa_pair_t *pair = &comparison->pairs[i];
        fill_changes(comparison, pair->sums, pair->changes);
        fill_scores(comparison, pair->sums, pair->scores);
        pair->fate = find_fate(pair);
        comparison->fates[pair->fate]++;
        fill_leaks(comparison, pair);
        count_nameless(comparison, pair);
    }
}

typedef struct ordering {
    const pfa_comparison_t *comparison;
    pfa_diff_metric_t metric;
    int sign;
} ordering_t;

static double rank_of(const ordering_t *ordering, uint32_t number)
{
    const pfa_change_t *change = &ordering->comparison->pairs[number].changes[ordering->metric];
    return ordering->sign != 0 ? ordering->sign * change->difference
                               : fmax(change->of[PFA_BASE].mean, change->of[PFA_NEW].mean);
}

static int compare_pairs(const void *a, const void *b, void *to)
{
    const ordering_t *ordering = to;
    const pfa_pair_t *pairs = ordering->comparison->pairs;
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    double difference = rank_of(ordering, right) - rank_of(ordering, left);
    if (difference != 0) {
        return difference > 0 ? 1 : -1;
    }
    int names = strcmp(pairs[left].shown->name, pairs[right].shown->name);
    return names != 0 ? names : left < right ? -1 : left > right;
}

uint32_t *pfa_comparison_order(const pfa_comparison_t *comparison, pfa_diff_metric_t metric, int sign)
{
    ordering_t ordering = {.comparison = comparison, .metric = metric, .sign = sign};
    uint32_t *numbers = pfa_memory_get(comparison->count, sizeof *numbers);
    for (uint32_t i = 0; i < comparison->count; i++) {
        numbers[i] = i;
    }
    qsort_r(numbers, comparison->count, sizeof *numbers, compare_pairs, &ordering);
    return numbers;
}

const char *pfa_fate_name(pfa_fate_t fate)
{
    static const char *const names[PFA_FATES] = {[PFA_FATE_SAME] = "same",
                                                 [PFA_FATE_UNSURE] = "not significant",
                                                 [PFA_FATE_CHANGED] = "changed",
                                                 [PFA_FATE_NEW] = "new",
                                                 [PFA_FATE_GONE] = "gone"};
    return names[fate];
}
