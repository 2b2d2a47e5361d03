/* Owns the answer of `profalloc excess` as JSON. docs/excess.md tells what it means. */
#include "analyze/excess/calltree.h"
#include "analyze/base/json.h"
#include "analyze/base/memory.h"
#include "analyze/excess/excess.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void put_clusters(const pfa_excess_t *excess, pfa_json_t *json)
{
    pfa_json_begin(json, "clusters", '[');
    for (unsigned k = 0; k < excess->k; k++) {
        const pfa_excess_cluster_t *cluster = &excess->clusters[k];
        pfa_json_begin(json, NULL, '{');
        pfa_json_whole(json, "number", k + 1);
        pfa_json_whole(json, "objects", cluster->members);
        pfa_json_number(json, "frequency", cluster->frequency);
        pfa_json_number(json, "lifetime_ns", cluster->lifetime);
        pfa_json_number(json, "lifetime_within_ns", cluster->within);
        pfa_json_bool(json, "most_frequent", k == excess->most_frequent);
        pfa_json_bool(json, "shortest", k == excess->shortest);
        pfa_json_end(json, '}');
    }
    pfa_json_end(json, ']');
    pfa_json_begin(json, "silhouettes", '[');
    for (unsigned k = 2; k <= PFA_KMEANS_MOST; k++) {
        if (!isnan(excess->silhouettes[k])) {
            pfa_json_begin(json, NULL, '{');
            pfa_json_whole(json, "k", k);
            pfa_json_number(json, "mean", excess->silhouettes[k]);
            pfa_json_end(json, '}');
        }
    }
    pfa_json_end(json, ']');
}

static void put_kmeans(const pfa_excess_t *excess, pfa_json_t *json)
{
    pfa_json_begin(json, "kmeans", '{');
    pfa_json_whole(json, "k", excess->k);
    pfa_json_bool(json, "k_given", excess->options->clusters != 0);
    pfa_json_text(json, "scale", excess->options->scale == PFA_SCALE_LOG ? "log" : "linear");
    pfa_json_whole(json, "seed", excess->options->seed);
    pfa_json_bool(json, "settled", excess->settled);
    put_clusters(excess, json);
    pfa_json_end(json, '}');
}

static void put_iqr(const pfa_excess_t *excess, pfa_json_t *json)
{
    pfa_json_begin(json, "iqr", '{');
    pfa_json_text(json, "unit", excess->unit->name);
    pfa_json_number(json, "q1", excess->quartiles.first);
    pfa_json_number(json, "q3", excess->quartiles.third);
    pfa_json_number(json, "iqr", excess->quartiles.range);
    pfa_json_number(json, "mu", excess->mu);
    pfa_json_number(json, "threshold", excess->threshold);
    pfa_json_end(json, '}');
}

static void put_routine(const pfa_excess_t *excess, pfa_json_t *json, const char *key, uint32_t number)
{
    const pfa_routine_t *routine = &excess->callers.routines.list[number];
    pfa_json_begin(json, key, '{');
    pfa_json_text(json, "function", number < PFA_ROUTINE_FIRST ? NULL : routine->name);
    pfa_json_text(json, "module", routine->module);
    pfa_json_text(json, "file", routine->file);
    pfa_json_bool(json, "wrapper", routine->wrapper);
    pfa_json_end(json, '}');
}

static void put_caller(const pfa_excess_t *excess, pfa_json_t *json, uint32_t number)
{
    if (pfa_callers_are_routines(&excess->callers)) {
        put_routine(excess, json, "caller", number);
        return;
    }
    pfa_json_begin(json, "caller", '{');
    pfa_json_text(json, pfa_callers_kind(&excess->callers), pfa_callers_name(&excess->callers, number));
    pfa_json_whole(json, "number", number);
    pfa_json_end(json, '}');
}

/* Who made chunks, who freed them, how often, and for how long; of an object or of a hit. */
static void put_figures(const pfa_excess_t *excess, pfa_json_t *json, const pfa_hit_t *hit)
{
    put_caller(excess, json, hit->caller);
    put_routine(excess, json, "destroyer", hit->destroyer);
    pfa_json_whole(json, "size_low", hit->low);
    pfa_json_whole(json, "size_high", hit->high);
    pfa_json_number(json, "frequency", hit->sum.chunks);
    pfa_json_number(json, "bytes", hit->sum.bytes);
    pfa_json_number(json, "moved", hit->sum.moved);
    pfa_json_number(json, "lifetime_ns", hit->lifetime);
    pfa_json_number(json, "life_ns", hit->sum.life);
    pfa_json_number(json, "step_ns", hit->sum.step);
    pfa_json_number(json, "own_run_ns", hit->sum.run / hit->sum.chunks);
    pfa_json_begin(json, "within", '{');
    pfa_json_number(json, "frequency", pfa_object_sum_within(&hit->sum));
    pfa_json_number(json, "lifetime_ns", pfa_object_sum_lifetime_within(&hit->sum));
    pfa_json_end(json, '}');
    pfa_json_number(json, "ratio_per_ms", hit->ratio * 1e6);
}

static void put_object(const pfa_excess_t *excess, pfa_json_t *json, size_t number)
{
    pfa_hit_t alone = pfa_excess_hit_of(excess, number);
    bool freed = number < excess->objects.freed;
    pfa_json_begin(json, NULL, '{');
    put_figures(excess, json, &alone);
    pfa_json_bool(json, "never_freed", !freed);
    pfa_json_number(json, "cluster",
                    excess->k != 0 && freed ? (double)excess->objects.list[number].cluster + 1 : (double)NAN);
    pfa_json_bool(json, "suspect", excess->suspect[number]);
    pfa_json_bool(json, "reported", excess->reported[number]);
    pfa_json_end(json, '}');
}

typedef struct calls {
    const pfa_excess_t *excess;
    pfa_json_t *json;
} calls_t;

static void put_call(void *to, const pfa_call_t *call, size_t level)
{
    const calls_t *calls = to;
    pfa_json_begin(calls->json, NULL, '{');
    pfa_json_text(calls->json, "function", calls->excess->callers.routines.list[call->routine].name);
    pfa_json_number(calls->json, "chunks", call->chunks);
    pfa_json_whole(calls->json, "level", level);
    pfa_json_end(calls->json, '}');
}

static void put_hit(pfa_excess_t *excess, pfa_json_t *json, const pfa_hit_t *hit)
{
    calls_t calls = {.excess = excess, .json = json};
    pfa_calltree_t tree;
    char *advice = pfa_excess_advice(excess, hit);
    double cost = pfa_excess_cost(excess, hit->sum.chunks);
    pfa_json_begin(json, NULL, '{');
    put_figures(excess, json, hit);
    pfa_json_whole(json, "sizes", hit->count);
    pfa_json_number(json, "cost_ns", cost);
    pfa_json_number(json, "share", excess->run_ns > 0 ? cost / excess->run_ns : (double)NAN);
    pfa_json_number(json, "alive", pfa_excess_alive(excess, hit));
    pfa_json_text(json, "advice", advice);
    pfa_json_begin(json, "calls", '[');
    pfa_calltree_make(&tree, excess, hit);
    size_t left = pfa_calltree_walk(&tree, excess->options->lines, put_call, &calls);
    pfa_json_end(json, ']');
    pfa_json_whole(json, "calls_left_out", left);
    pfa_json_end(json, '}');
    pfa_calltree_free(&tree);
    pfa_memory_free(advice);
}

static void put_lists(pfa_excess_t *excess, pfa_json_t *json)
{
    size_t top = excess->options->top != 0 ? excess->options->top : SIZE_MAX;
    pfa_json_begin(json, "hits", '[');
    for (size_t i = 0; i < excess->hit_count && i < top; i++) {
        put_hit(excess, json, &excess->hits[i]);
    }
    pfa_json_end(json, ']');
    if (!excess->options->all_objects) {
        return;
    }
    pfa_json_begin(json, "objects", '[');
    for (size_t i = 0; i < excess->objects.count; i++) {
        put_object(excess, json, i);
    }
    pfa_json_end(json, ']');
}

static void put_verdict(const pfa_excess_t *excess, pfa_json_t *json)
{
    static const char *const verdicts[] = {
        [PFA_EXCESS_FOUND] = "excessive",       [PFA_EXCESS_NOTHING] = "no chunks",
        [PFA_EXCESS_NO_FREE] = "nothing freed", [PFA_EXCESS_FEW] = "too few",
        [PFA_EXCESS_NO_CLUSTER] = "no cluster", [PFA_EXCESS_NO_OUTLIER] = "no outlier",
        [PFA_EXCESS_LITTLE] = "too little"};
    char *reason = pfa_excess_reason(excess);
    pfa_json_bool(json, "excessive", excess->verdict == PFA_EXCESS_FOUND);
    pfa_json_text(json, "verdict", verdicts[excess->verdict]);
    pfa_json_text(json, "reason", reason);
    pfa_memory_free(reason);
}

static void put_sums(const pfa_excess_t *excess, pfa_json_t *json)
{
    static const char *const size_classes[] = {
        [PFA_SIZE_EXACT] = "exact", [PFA_SIZE_EIGHTHS] = "eighths", [PFA_SIZE_POWERS] = "powers"};
    static const char *const pair_from[] = {
        [PFA_PAIR_ASSUMED] = "assumed", [PFA_PAIR_MEASURED] = "measured", [PFA_PAIR_GIVEN] = "given"};
    pfa_json_number(json, "run_ns", excess->run_ns);
    pfa_json_number(json, "pair_ns", excess->pair_ns);
    pfa_json_text(json, "pair_from", pair_from[excess->pair_from]);
    pfa_json_number(json, "min_share", excess->options->min_share);
    pfa_json_number(json, "max_life", excess->options->max_life);
    pfa_json_whole(json, "object_count", excess->objects.count);
    pfa_json_number(json, "chunks", excess->objects.chunks);
    pfa_json_number(json, "never_freed", excess->objects.live);
    pfa_json_whole(json, "objects_left_out", excess->objects.count - excess->objects.freed);
    pfa_json_number(json, "folded", excess->folded);
    pfa_json_text(json, "size_classes", size_classes[excess->objects.classes]);
    pfa_json_whole(json, "suspects", excess->suspect_count);
    pfa_json_number(json, "suspects_ns", excess->suspect_ns);
}

static void put_all(void *answer, void *to)
{
    pfa_excess_t *excess = answer;
    pfa_json_t json = {.to = to};
    pfa_json_begin(&json, NULL, '{');
    pfa_json_text(&json, "schema", "profalloc-excess");
    pfa_json_whole(&json, "version", 2);
    pfa_json_text(&json, "method", excess->options->method == PFA_EXCESS_IQR ? "iqr" : "kmeans");
    pfa_json_text(&json, "by", pfa_callers_kind(&excess->callers));
    pfa_json_text(&json, "sort", pfa_excess_order_names[excess->options->order]);
    put_verdict(excess, &json);
    put_sums(excess, &json);
    if (excess->k != 0) {
        put_kmeans(excess, &json);
    } else if (excess->unit != NULL) {
        put_iqr(excess, &json);
    }
    put_lists(excess, &json);
    pfa_query_tell_json(excess->query, &json);
    pfa_json_end(&json, '}');
}

int pfa_excess_json(pfa_excess_t *excess, FILE *to)
{
    return pfa_answer_write(excess, put_all, to);
}
