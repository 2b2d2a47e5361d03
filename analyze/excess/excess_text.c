/* Owns the answer of `profalloc excess` as text, for people. */
#include "analyze/excess/calltree.h"
#include "analyze/base/memory.h"
#include "analyze/base/text.h"
#include "analyze/excess/excess.h"
#include "analyze/names/place.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { USUAL_TOP = 10 };

static void print_clusters(FILE *to, const pfa_excess_t *excess)
{
    fprintf(to, "\n  k-means, k = %u, %s scale", excess->k,
            excess->options->scale == PFA_SCALE_LOG ? "logarithmic" : "linear");
    for (unsigned k = 2; k <= PFA_KMEANS_MOST; k++) {
        if (!isnan(excess->silhouettes[k])) {
            fprintf(to, "; silhouette of %u: %.3f", k, excess->silhouettes[k]);
        }
    }
    fprintf(to, "%s\n", excess->settled ? "" : "; points still moved when it was stopped");
    fprintf(to, "  %-9s %10s %18s %16s %10s\n", "cluster", "objects", "mean frequency", "mean lifetime", "within");
    for (unsigned k = 0; k < excess->k; k++) {
        const pfa_excess_cluster_t *cluster = &excess->clusters[k];
        char texts[4][PFA_NUMBER_TEXT];
        fprintf(to, "  %-9u %10s %18s %16s %10s%s%s\n", k + 1, pfa_text_count(texts[0], (double)cluster->members),
                pfa_text_count(texts[1], round(cluster->frequency)), pfa_text_duration(texts[2], cluster->lifetime),
                pfa_text_duration(texts[3], cluster->within), k == excess->most_frequent ? "  most frequent" : "",
                k == excess->shortest ? "  shortest-lived" : "");
    }
}

static void print_quartiles(FILE *to, const pfa_excess_t *excess)
{
    const char *unit = excess->unit->name;
    fprintf(to, "\n  ratios of frequency and mean lifetime, per %s\n", unit);
    fprintf(to, "  Q1 %.6g, Q3 %.6g, IQR %.6g, mu %.6g%s; threshold Q3 + mu IQR = %.6g\n", excess->quartiles.first,
            excess->quartiles.third, excess->quartiles.range, excess->mu,
            excess->options->mu < 0 ? " (the IQR itself)" : "", excess->threshold);
}

typedef struct printing {
    FILE *to;
    const pfa_excess_t *excess;
} printing_t;

static void print_call(void *with, const pfa_call_t *call, size_t level)
{
    const printing_t *printing = with;
    const pfa_excess_t *excess = printing->excess;
    FILE *to = printing->to;
    char text[PFA_NUMBER_TEXT];
    fprintf(to, "      %12s  %*s", pfa_text_count(text, round(call->chunks)), (int)(2 * (level < 20 ? level : 20)), "");
    pfa_place_function(to, excess->callers.routines.list[call->routine].name);
    fputc('\n', to);
}

static void print_tree(FILE *to, pfa_excess_t *excess, const pfa_hit_t *hit)
{
    pfa_calltree_t tree;
    pfa_calltree_make(&tree, excess, hit);
    printing_t printing = {.to = to, .excess = excess};
    size_t left = pfa_calltree_walk(&tree, excess->options->lines, print_call, &printing);
    if (left != 0) {
        fprintf(to, "      %12s  and %zu more call%s\n", "", left, pfa_text_plural((double)left));
    }
    pfa_calltree_free(&tree);
}

static void print_routine(FILE *to, const pfa_excess_t *excess, const char *role, uint32_t number)
{
    const pfa_routine_t *routine = &excess->callers.routines.list[number];
    fprintf(to, "      %s ", role);
    pfa_place_function(to, routine->name);
    if (routine->file != NULL) {
        fprintf(to, "  (%s)", pfa_place_base_name(routine->file));
    }
    if (routine->module != NULL) {
        fprintf(to, "  [%s]", pfa_place_base_name(routine->module));
    }
    fputc('\n', to);
}

static void print_sizes(FILE *to, const pfa_excess_t *excess, const pfa_hit_t *hit)
{
    char range[PFA_SIZES_TEXT];
    char text[PFA_NUMBER_TEXT];
    fprintf(to, "%s", pfa_text_sizes(range, hit->low, hit->high));
    if (hit->low != hit->high) {
        fprintf(to, ", %s %s", pfa_text_count(text, (double)hit->count),
                excess->objects.classes == PFA_SIZE_EXACT ? "sizes"
                : hit->count == 1                         ? "class of sizes"
                                                          : "classes of sizes");
    }
}

static void print_figures(FILE *to, const pfa_excess_t *excess, const pfa_hit_t *hit)
{
    char texts[2][PFA_NUMBER_TEXT];
    double cost = pfa_excess_cost(excess, hit->sum.chunks);
    double within = pfa_object_sum_lifetime_within(&hit->sum);
    fprintf(to, "%s%s times ", pfa_text_count(texts[0], round(hit->sum.chunks)),
            pfa_text_within(texts[1], hit->sum.chunks, hit->sum.variance));
    print_sizes(to, excess, hit);
    fprintf(to, ", alive for %s", pfa_text_duration(texts[0], hit->lifetime));
    if (within > 0) {
        fprintf(to, " ±%s", pfa_text_duration(texts[0], within));
    }
    fprintf(to, " on average; calls take about %s, %.3g %% of the run\n", pfa_text_duration(texts[1], cost),
            excess->run_ns > 0 ? 100 * cost / excess->run_ns : 0);
    if (excess->options->method == PFA_EXCESS_IQR) {
        fprintf(to, "      ratio %.6g per %s\n", hit->ratio * excess->unit->ns, excess->unit->name);
    }
}

static void print_hit(FILE *to, pfa_excess_t *excess, const pfa_hit_t *hit, size_t rank)
{
    fprintf(to, "\n  #%zu  ", rank);
    print_figures(to, excess, hit);
    if (pfa_callers_are_routines(&excess->callers)) {
        print_routine(to, excess, "allocated by", hit->caller);
    } else {
        fprintf(to, "      allocated by %s ", pfa_callers_kind(&excess->callers));
        pfa_place_function(to, pfa_callers_name(&excess->callers, hit->caller));
        fputc('\n', to);
    }
    print_routine(to, excess, pfa_excess_is_moved(hit) ? "realloced by" : "freed by    ", hit->destroyer);
    print_tree(to, excess, hit);
    char *advice = pfa_excess_advice(excess, hit);
    fprintf(to, "      %s\n", advice);
    pfa_memory_free(advice);
}

static void print_hits(FILE *to, pfa_excess_t *excess)
{
    size_t top = excess->options->top != 0 ? excess->options->top : USUAL_TOP;
    top = top < excess->hit_count ? top : excess->hit_count;
    fprintf(to, "\nExcessive allocation: %zu of %zu pair%s of %s and destroyer, by %s\n", top, excess->hit_count,
            pfa_text_plural((double)excess->hit_count), pfa_callers_kind(&excess->callers),
            pfa_excess_order_names[excess->options->order]);
    for (size_t i = 0; i < top; i++) {
        print_hit(to, excess, &excess->hits[i], i + 1);
    }
}

static void print_verdict(FILE *to, const pfa_excess_t *excess)
{
    static const char *const pair_from[] = {[PFA_PAIR_ASSUMED] = "a guess, since none was measured; see --pair-cost",
                                            [PFA_PAIR_MEASURED] = "measured in the run; see --pair-cost",
                                            [PFA_PAIR_GIVEN] = "--pair-cost"};
    bool found = excess->verdict == PFA_EXCESS_FOUND;
    bool few = excess->verdict == PFA_EXCESS_FEW;
    char *reason = pfa_excess_reason(excess);
    fprintf(to, "\n%s: %s", found ? "Why" : few ? "Too few objects to tell" : "No excessive allocation", reason);
    if (found || few || excess->verdict == PFA_EXCESS_LITTLE) { /* it speaks of time */
        fprintf(to, ",\n  at %.3g ns for an allocation and its free (%s)", excess->pair_ns,
                pair_from[excess->pair_from]);
    }
    fputs(".\n", to);
    pfa_memory_free(reason);
}

typedef void charts_t(FILE *to, const pfa_excess_t *excess);

static void print_all(FILE *to, pfa_excess_t *excess, charts_t *charts)
{
    char texts[3][PFA_NUMBER_TEXT];
    const pfa_objects_t *objects = &excess->objects;
    fprintf(to, "%s allocation object%s (%s, size, destroyer) of %s chunks in %s",
            pfa_text_count(texts[0], (double)objects->count), pfa_text_plural((double)objects->count),
            pfa_callers_kind(&excess->callers), pfa_text_count(texts[1], round(objects->chunks)),
            pfa_text_duration(texts[2], excess->run_ns));
    if (objects->live > 0) {
        size_t kept = objects->count - objects->freed;
        fprintf(to, "; %s object%s with %s chunks left out: never freed", pfa_text_count(texts[0], (double)kept),
                pfa_text_plural((double)kept), pfa_text_count(texts[1], round(objects->live)));
    }
    fputc('\n', to);
    if (excess->k != 0) {
        print_clusters(to, excess);
    } else if (excess->unit != NULL) {
        print_quartiles(to, excess);
    }
    if (charts != NULL && objects->freed != 0) {
        charts(to, excess);
    }
    if (excess->verdict == PFA_EXCESS_FOUND) {
        print_hits(to, excess);
    }
    print_verdict(to, excess);
    pfa_query_tell(excess->query, to);
}

typedef struct writing {
    FILE *to;
    charts_t *charts;
} writing_t;

static void write_text(void *answer, void *to)
{
    const writing_t *writing = to;
    print_all(writing->to, answer, writing->charts);
}

int pfa_excess_text(pfa_excess_t *excess, charts_t *charts, FILE *to)
{
    writing_t writing = {.to = to, .charts = charts};
    return pfa_answer_write(excess, write_text, &writing);
}

static void write_notes(void *answer, void *to)
{
    pfa_query_tell(((pfa_excess_t *)answer)->query, to);
}

int pfa_excess_notes(pfa_excess_t *excess, FILE *to)
{
    return pfa_answer_write(excess, write_notes, to);
}
