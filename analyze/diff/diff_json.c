/* Owns the comparison as JSON, for programs. docs/gate.md describes it; a change of meaning is a new version. */
#include "analyze/diff/diff.h"
#include "analyze/base/json.h"
#include "analyze/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { VERSION = 2 };

/* Points of which nothing differs, in one. */
static void put_same(pfa_json_t *json, const pfa_comparison_t *comparison)
{
    pfa_json_begin(json, "same", '{');
    pfa_json_whole(json, "points", comparison->fates[PFA_FATE_SAME]);
    for (unsigned i = 0; i < PFA_DIFF_METRICS; i++) {
        double sum = 0;
        for (size_t j = 0; j < comparison->count; j++) {
            sum += comparison->pairs[j].fate == PFA_FATE_SAME ? comparison->pairs[j].changes[i].of[PFA_NEW].mean : 0;
        }
        pfa_json_number(json, pfa_diff_metrics[i].name, sum);
    }
    pfa_json_end(json, '}');
}

typedef struct ranked {
    double size;
    uint32_t number;
} ranked_t;

static int compare_ranked(const void *a, const void *b)
{
    const ranked_t *left = a;
    const ranked_t *right = b;
    if (left->size != right->size) {
        return left->size > right->size ? -1 : 1;
    }
    return left->number < right->number ? -1 : left->number > right->number;
}

/* The largest difference first, whichever way it goes. */
static void put_points(pfa_json_t *json, const pfa_comparison_t *comparison, size_t top, pfa_diff_metric_t metric)
{
    uint32_t *numbers = pfa_comparison_order(comparison, metric, 0);
    ranked_t *list = pfa_memory_get(comparison->count, sizeof *list);
    for (uint32_t i = 0; i < comparison->count; i++) {
        list[i] = (ranked_t){.size = fabs(comparison->pairs[numbers[i]].changes[metric].difference), .number = i};
    }
    qsort(list, comparison->count, sizeof *list, compare_ranked);
    pfa_json_begin(json, "points", '[');
    for (size_t i = 0, told = 0; i < comparison->count && told < top; i++) {
        const pfa_pair_t *pair = &comparison->pairs[numbers[list[i].number]];
        if (pair->fate != PFA_FATE_SAME) {
            pfa_json_begin(json, NULL, '{');
            pfa_tell_pair_json(json, pair);
            pfa_json_end(json, '}');
            told++;
        }
    }
    pfa_json_end(json, ']');
    pfa_memory_free(list);
    pfa_memory_free(numbers);
}

static void put_all(FILE *to, const pfa_comparison_t *comparison, size_t top, pfa_diff_metric_t metric)
{
    pfa_json_t json = {.to = to};
    pfa_json_begin(&json, NULL, '{');
    pfa_json_text(&json, "schema", "profalloc-diff");
    pfa_json_whole(&json, "version", VERSION);
    pfa_tell_sides_json(&json, comparison);
    pfa_json_begin(&json, "totals", '{');
    for (unsigned i = 0; i < PFA_DIFF_METRICS; i++) {
        pfa_tell_change_json(&json, pfa_diff_metrics[i].name, &comparison->totals[i]);
    }
    pfa_json_end(&json, '}');
    pfa_tell_scores_json(&json, comparison->scores);
    pfa_json_number(&json, "live_growth", comparison->live_growth);
    put_same(&json, comparison);
    put_points(&json, comparison, top, metric);
    pfa_json_end(&json, '}');
}

typedef struct writing {
    const pfa_comparison_t *comparison;
    size_t top;
    pfa_diff_metric_t metric;
    FILE *to;
} writing_t;

static void write_json(void *to)
{
    const writing_t *writing = to;
    put_all(writing->to, writing->comparison, writing->top, writing->metric);
}

int pfa_diff_json(pfa_comparison_t *comparison, size_t top, pfa_diff_metric_t metric, FILE *to)
{
    writing_t writing = {.comparison = comparison, .top = top, .metric = metric, .to = to};
    return pfa_comparison_work(comparison, write_json, &writing);
}
