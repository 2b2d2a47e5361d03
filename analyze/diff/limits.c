/* Owns limits: how they are written, and whether they hold. See analyze/diff/gate.h. */
#include "analyze/diff/gate.h"
#include "analyze/base/memory.h"
#include "analyze/base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const pfa_limit_facts_t pfa_limits[PFA_LIMITS] = {
#define PFA_LIMIT(id, option, metric, scope, meaning) {option, meaning, PFA_DIFF_METRIC_##metric, PFA_SCOPE_##scope},
#include "analyze/diff/limits.def"
#undef PFA_LIMIT
};

const char *pfa_judgement_name(pfa_judgement_t verdict)
{
    static const char *const names[] = {
        [PFA_JUDGED_WITHIN] = "within", [PFA_JUDGED_UNSURE] = "not significant", [PFA_JUDGED_EXCEEDED] = "exceeded"};
    return names[verdict];
}

bool pfa_limit_parse(pfa_limit_t *limit, const char *text, bool is_bytes)
{
    *limit = (pfa_limit_t){.text = text, .is_share = strchr(text, '%') != NULL};
    pfa_units_t units = limit->is_share ? PFA_UNITS_SHARE : is_bytes ? PFA_UNITS_BYTES : PFA_UNITS_COUNT;
    return pfa_units_read(units, text, NULL, 0, HUGE_VAL, &limit->value);
}

static double allowed_of(const pfa_limit_t *limit, double base)
{
    return limit->is_share ? base * limit->value : limit->value;
}

static pfa_judgement_t judge(const pfa_limit_t *limit, const pfa_change_t *change, size_t together, double *margin)
{
    static const double rounding = 1e-9;
    double beyond = change->difference - allowed_of(limit, change->of[PFA_BASE].mean);
    *margin = pfa_change_margin(change, limit->is_share ? 1 + limit->value : 1, together);
    if (beyond <= rounding * change->of[PFA_NEW].mean) {
        return PFA_JUDGED_WITHIN;
    }
    return beyond > *margin ? PFA_JUDGED_EXCEEDED : PFA_JUDGED_UNSURE;
}

/* Those that grew, the most first. */
static void find_worst(const pfa_gate_t *gate, pfa_outcome_t *outcome, pfa_diff_metric_t metric)
{
    const pfa_comparison_t *comparison = gate->comparison;
    outcome->points = pfa_comparison_order(comparison, metric, 1);
    while (outcome->point_count < comparison->count) {
        const pfa_change_t *change = &comparison->pairs[outcome->points[outcome->point_count]].changes[metric];
        if (change->difference <= 0) {
            return;
        }
        outcome->point_count++;
    }
}

static void judge_total(const pfa_gate_t *gate, pfa_outcome_t *outcome)
{
    pfa_diff_metric_t metric = pfa_limits[outcome->number].metric;
    const pfa_limit_t *limit = &gate->limits[outcome->number];
    const pfa_change_t *change = &gate->comparison->totals[metric];
    outcome->base = change->of[PFA_BASE].mean;
    outcome->now = change->of[PFA_NEW].mean;
    outcome->difference = change->difference;
    outcome->allowed = allowed_of(limit, outcome->base);
    outcome->verdict = judge(limit, change, 1, &outcome->margin);
    if (outcome->verdict != PFA_JUDGED_WITHIN) {
        find_worst(gate, outcome, metric);
    }
}

/* Only what is sure at its point was added up: there is no margin left. */
static void judge_growth(const pfa_gate_t *gate, pfa_outcome_t *outcome)
{
    const pfa_change_t *live = &gate->comparison->totals[PFA_DIFF_METRIC_live];
    outcome->base = live->of[PFA_BASE].mean;
    outcome->now = live->of[PFA_NEW].mean;
    outcome->difference = gate->comparison->live_growth;
    outcome->allowed = allowed_of(&gate->limits[outcome->number], outcome->base);
    if (outcome->difference > outcome->allowed) {
        outcome->verdict = PFA_JUDGED_EXCEEDED;
        find_worst(gate, outcome, PFA_DIFF_METRIC_live);
    }
}

static int compare_leaks(const void *a, const void *b, void *to)
{
    const pfa_pair_t *pairs = to;
    double left = pairs[*(const uint32_t *)a].leak_growth;
    double right = pairs[*(const uint32_t *)b].leak_growth;
    return left > right ? -1 : left < right;
}

static void find_leaks(const pfa_gate_t *gate, pfa_outcome_t *outcome)
{
    find_worst(gate, outcome, PFA_DIFF_METRIC_live);
    size_t count = 0;
    for (size_t i = 0; i < outcome->point_count; i++) {
        if (gate->comparison->pairs[outcome->points[i]].leak_growth > 0) {
            outcome->points[count++] = outcome->points[i];
        }
    }
    outcome->point_count = count;
    qsort_r(outcome->points, count, sizeof *outcome->points, compare_leaks, gate->comparison->pairs);
}

static void judge_leak(const pfa_gate_t *gate, pfa_outcome_t *outcome)
{
    outcome->base = gate->comparison->leaked[PFA_BASE];
    outcome->now = gate->comparison->leaked[PFA_NEW];
    outcome->difference = gate->comparison->leak_growth;
    outcome->allowed = allowed_of(&gate->limits[outcome->number], outcome->base);
    if (outcome->difference > outcome->allowed) {
        outcome->verdict = PFA_JUDGED_EXCEEDED;
        find_leaks(gate, outcome);
    }
}

/* A small point doubles easily: percents count from some growth on. */
static bool is_small(const pfa_gate_t *gate, const pfa_limit_t *limit, pfa_diff_metric_t metric, double difference)
{
    return limit->is_share && difference < (pfa_diff_metrics[metric].is_bytes ? gate->min_bytes : gate->min_count);
}

static void judge_points(const pfa_gate_t *gate, pfa_outcome_t *outcome)
{
    pfa_diff_metric_t metric = pfa_limits[outcome->number].metric;
    const pfa_limit_t *limit = &gate->limits[outcome->number];
    uint32_t *numbers = pfa_comparison_order(gate->comparison, metric, 1);
    size_t count = 0;
    for (size_t i = 0; i < gate->comparison->count; i++) {
        const pfa_change_t *change = &gate->comparison->pairs[numbers[i]].changes[metric];
        double margin;
        pfa_judgement_t verdict = is_small(gate, limit, metric, change->difference)
                                      ? PFA_JUDGED_WITHIN
                                      : judge(limit, change, gate->comparison->count, &margin);
        outcome->verdict = verdict > outcome->verdict ? verdict : outcome->verdict;
        if (verdict == PFA_JUDGED_EXCEEDED) {
            numbers[count++] = numbers[i];
        }
    }
    outcome->points = numbers;
    outcome->point_count = count;
    outcome->difference = (double)count;
    outcome->allowed = limit->is_share ? 100 * limit->value : limit->value;
}

/* The points of an outcome in the order of another metric. */
static void sort_points(const pfa_gate_t *gate, pfa_outcome_t *outcome)
{
    uint32_t *numbers = pfa_comparison_order(gate->comparison, *gate->sort, 1);
    bool *in = pfa_memory_get(gate->comparison->count, sizeof *in);
    size_t count = 0;
    for (size_t i = 0; i < outcome->point_count; i++) {
        in[outcome->points[i]] = true;
    }
    for (size_t i = 0; i < gate->comparison->count; i++) {
        if (in[numbers[i]]) {
            outcome->points[count++] = numbers[i];
        }
    }
    pfa_memory_free(numbers);
    pfa_memory_free(in);
}

static void judge_all(void *to)
{
    pfa_gate_t *gate = to;
    static void (*const judges[])(const pfa_gate_t *, pfa_outcome_t *) = {[PFA_SCOPE_TOTAL] = judge_total,
                                                                          [PFA_SCOPE_POINT] = judge_points,
                                                                          [PFA_SCOPE_GROWTH] = judge_growth,
                                                                          [PFA_SCOPE_LEAK] = judge_leak};
    for (unsigned i = 0; i < PFA_LIMITS; i++) {
        if (gate->limits[i].text != NULL) {
            pfa_outcome_t *outcome = &gate->outcomes[gate->outcome_count++];
            *outcome = (pfa_outcome_t){.number = (pfa_limit_number_t)i};
            judges[pfa_limits[i].scope](gate, outcome);
            if (gate->sort != NULL && outcome->point_count != 0) {
                sort_points(gate, outcome);
            }
            gate->exceeded = gate->exceeded || outcome->verdict == PFA_JUDGED_EXCEEDED;
        }
    }
}

int pfa_gate_judge(pfa_gate_t *gate)
{
    return pfa_comparison_work(gate->comparison, judge_all, gate);
}
