/* Owns the sentences of `profalloc excess`: why the verdict is so, and what to do about a hit. */
#include "analyze/excess/excess.h"
#include "analyze/base/memory.h"
#include "analyze/base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW_BYTES = 1024 }; /* that a stack has room for in any function */

const char *pfa_text_duration(char text[PFA_NUMBER_TEXT], double ns)
{
    static const char *const names[] = {"ns", "us", "ms", "s"};
    size_t unit = 0;
    for (; unit < 3 && ns >= 999.5; unit++) {
        ns /= 1000;
    }
    snprintf(text, PFA_NUMBER_TEXT, ns >= 999.5 ? "%.0f %s" : "%.3g %s", ns, names[unit]);
    return text;
}

const char *pfa_text_sizes(char text[PFA_SIZES_TEXT], uint64_t low, uint64_t high)
{
    char texts[2][PFA_NUMBER_TEXT];
    pfa_text_count(texts[0], (double)low);
    if (low == high) {
        snprintf(text, PFA_SIZES_TEXT, "%s byte%s", texts[0], pfa_text_plural((double)low));
    } else {
        snprintf(text, PFA_SIZES_TEXT, "%s to %s bytes", texts[0], pfa_text_count(texts[1], (double)high));
    }
    return text;
}

__attribute__((format(printf, 1, 2))) static char *make_text(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = pfa_memory_vformat(format, arguments);
    va_end(arguments);
    return text;
}

/* Room for a pool: twice the mean, and some. */
static double slots_for(double alive)
{
    return ceil(2 * alive) + 1;
}

static char *advice_of_own(const pfa_hit_t *hit)
{
    char text[PFA_NUMBER_TEXT];
    const char *instead = hit->high <= FEW_BYTES ? "use a local array" : "move the allocation out of its loop";
    return hit->count == 1
               ? make_text("The same function allocates and frees it: %s, or keep one chunk from call to call.",
                           instead)
               : make_text(
                     "The same function allocates and frees them: %s, or keep one chunk of %s bytes from call to call.",
                     instead, pfa_text_count(text, (double)hit->high));
}

bool pfa_excess_is_moved(const pfa_hit_t *hit)
{
    return 2 * hit->sum.moved > hit->sum.chunks;
}

char *pfa_excess_advice(const pfa_excess_t *excess, const pfa_hit_t *hit)
{
    char texts[2][PFA_NUMBER_TEXT];
    double alive = pfa_excess_alive(excess, hit);
    if (hit->high == 0) {
        return make_text("Nothing is asked for: return before allocating when the length is 0.");
    }
    if (pfa_excess_is_moved(hit)) {
        return make_text(
            "Most are moved by realloc, not freed: if they grow, reserve at once what is needed in the end, at "
            "least %s byte%s.",
            pfa_text_count(texts[0], (double)hit->high), pfa_text_plural((double)hit->high));
    }
    if (hit->routine == hit->destroyer && hit->routine != PFA_ROUTINE_UNKNOWN) {
        return advice_of_own(hit);
    }
    if (excess->callers.routines.list[hit->destroyer].wrapper || hit->destroyer == PFA_ROUTINE_UNKNOWN) {
        return make_text(
            "Keep freed chunks for the next call instead of giving them back; to see who frees them, record with "
            "--conf free_depth:8.");
    }
    return make_text(
        "Keep freed chunks in a free list or take them from a pool: about %s %s alive at a time on average, "
        "so about %s slots should do.",
        alive < 1 ? "1" : pfa_text_count(texts[0], round(alive)), alive < 2 ? "is" : "are",
        pfa_text_count(texts[1], slots_for(alive)));
}

static char *reason_of_clusters(const pfa_excess_t *excess)
{
    char texts[3][PFA_NUMBER_TEXT];
    const pfa_excess_cluster_t *frequent = &excess->clusters[excess->most_frequent];
    if (excess->most_frequent == excess->shortest) {
        return make_text(
            "the most frequent and shortest-lived objects live for more than %.3g %% of the run time (--max-life)",
            100 * excess->options->max_life);
    }
    return make_text("the cluster with the highest mean frequency (%s) lives for %s on average, and another for %s",
                     pfa_text_count(texts[0], round(frequent->frequency)),
                     pfa_text_duration(texts[1], frequent->lifetime),
                     pfa_text_duration(texts[2], excess->clusters[excess->shortest].lifetime));
}

static char *reason_of_few(const pfa_excess_t *excess)
{
    const pfa_objects_t *objects = &excess->objects;
    double cost = pfa_excess_cost(excess, objects->chunks - objects->live);
    return make_text(
        "%zu object%s freed, and it takes %zu to tell the frequent and short-lived from the others; calls for all take "
        "about %.3g %% of the run time, and --method kmeans --clusters 1 judges them together",
        objects->freed, objects->freed == 1 ? " was" : "s were", pfa_excess_needed(excess->options),
        excess->run_ns > 0 ? 100 * cost / excess->run_ns : 0);
}

/* Together or each caller and destroyer by itself. */
static char *reason_of_little(const pfa_excess_t *excess, double share)
{
    char text[PFA_NUMBER_TEXT];
    double wanted = excess->options->min_share;
    pfa_text_count(text, (double)excess->suspect_count);
    if (share >= wanted) {
        return make_text(
            "calls for %s objects take about %.3g %% of the run time, and for those of any one caller and destroyer "
            "less than %.3g %% (a tenth of --min-share)",
            text, 100 * share, 10 * wanted);
    }
    return make_text(
        "%s object%s could be meant, and calls for %s take about %.3g %% of the run time: less than %.3g %% "
        "(--min-share)",
        text, pfa_text_plural((double)excess->suspect_count), excess->suspect_count == 1 ? "it" : "them", 100 * share,
        100 * wanted);
}

char *pfa_excess_reason(const pfa_excess_t *excess)
{
    double share = excess->run_ns > 0 ? excess->suspect_ns / excess->run_ns : 0;
    switch (excess->verdict) {
    case PFA_EXCESS_NOTHING:
        return make_text("there are no chunks");
    case PFA_EXCESS_NO_FREE:
        return make_text("no chunk was freed");
    case PFA_EXCESS_FEW:
        return reason_of_few(excess);
    case PFA_EXCESS_NO_CLUSTER:
        return reason_of_clusters(excess);
    case PFA_EXCESS_NO_OUTLIER:
        return make_text("no object that was freed within %.3g %% of the run time (--max-life) has a ratio above the "
                         "threshold",
                         100 * excess->options->max_life);
    case PFA_EXCESS_LITTLE:
        return reason_of_little(excess, share);
    case PFA_EXCESS_FOUND:
        break;
    }
    return excess->options->method == PFA_EXCESS_KMEANS
               ? make_text("one cluster has both the highest mean frequency and the lowest mean lifetime%s; calls for "
                           "its objects take about %.3g %% of the run time",
                           excess->equally_short ? " (within what can be told, or below 1 us)" : "", 100 * share)
               : make_text("objects have ratios above the threshold; calls for them take about %.3g %% of the run time",
                           100 * share);
}
