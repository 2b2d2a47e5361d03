/* Owns the scores of points and of the whole run, and which inferences are said. See analyze/points/memoro.h. */
#include "analyze/points/memoro.h"
#include "analyze/base/memory.h"

#include <math.h>
#include <stdlib.h>

const char *const pfa_score_names[PFA_SCORES] = {
    [PFA_SCORE_LIFETIME] = "lifetime", [PFA_SCORE_USAGE] = "usage", [PFA_SCORE_USEFUL] = "useful_lifetime"};

const pfa_inference_text_t pfa_inference_texts[PFA_INFERENCES] = {
#define PFA_INFERENCE(name, accesses, title, meaning) {#name, title, meaning, accesses},
#include "analyze/points/inferences.def"
#undef PFA_INFERENCE
};

double pfa_memoro_mean(const pfa_memoro_point_t *point)
{
    double logs = 0;
    unsigned known = 0;
    for (int i = 0; i < PFA_SCORES && point->rows > 0; i++) {
        if (!isnan(point->scores[i])) {
            logs += log(fmax(point->scores[i], PFA_SCORE_LEAST));
            known++;
        }
    }
    return known != 0 ? exp(logs / known) : (double)NAN;
}

double pfa_memoro_severity(const pfa_memoro_point_t *point)
{
    double mean = pfa_memoro_mean(point);
    return isnan(mean) ? mean : fmin(floor((1 - mean) * PFA_SEVERITIES) + 1, PFA_SEVERITIES);
}

const char *pfa_severity_colour(unsigned severity)
{
    static const char *const colours[PFA_SEVERITIES] = {"#2b6cb8", "#2b8fb8", "#2bb0a8", "#2fb37c",
                                                        "#45b24a", "#7ab83a", "#a9bf2f", "#d6c229",
                                                        "#edae27", "#f08c28", "#ea632b", "#d92f2f"};
    return colours[severity >= 1 && severity <= PFA_SEVERITIES ? severity - 1 : 0];
}

static void score_point(pfa_memoro_point_t *point)
{
    /* Without a short-lived chunk there is nothing bad about it. */
    point->scores[PFA_SCORE_LIFETIME] = point->bursts.closed.groups == 0 ? 1 : pfa_bursts_score(&point->bursts);
    point->scores[PFA_SCORE_USAGE] = point->told_bytes > 0 ? point->used_bytes / point->told_bytes : (double)NAN;
    point->scores[PFA_SCORE_USEFUL] = point->told_chunks > 0 ? point->useful / point->told_chunks : (double)NAN;
}

/* Bursts are known once all chunks are. */
static void infer_bursts(const pfa_memoro_t *memoro, pfa_memoro_point_t *point)
{
    pfa_burst_terms_t terms = pfa_memoro_burst_terms(memoro, point);
    pfa_bursts_close(&point->bursts, &terms, NULL, NULL);
    pfa_burst_share_t share = pfa_bursts_short_lived(&point->bursts, &terms);
    point->inferred[PFA_INFER_short_lived] = (pfa_share_t){share.chunks, share.bytes};
    point->inferred_variance[PFA_INFER_short_lived] = share.chunks_variance;
    pfa_bursts_free(&point->bursts);
}

static int compare_numbers(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return left < right ? -1 : left > right;
}

/* The least value of those above this share of points: of 100 points and 0.9, the tenth from above; of few points, the highest. */
static double percentile_of(const pfa_memoro_t *memoro, double value(const pfa_memoro_point_t *))
{
    double *values = pfa_memory_get(memoro->point_count, sizeof *values);
    size_t count = 0;
    for (size_t i = 0; i < memoro->point_count; i++) {
        if (memoro->points[i].rows > 0) {
            values[count++] = value(&memoro->points[i]);
        }
    }
    qsort(values, count, sizeof *values, compare_numbers);
    size_t at = (size_t)floor(memoro->thresholds.percentile * (double)count + 1e-9);
    double result = count != 0 ? values[at < count ? at : count - 1] : 0;
    pfa_memory_free(values);
    return result;
}

static double peak_of(const pfa_memoro_point_t *point)
{
    return point->own_peak.least;
}

static double chunks_of(const pfa_memoro_point_t *point)
{
    return point->chunks;
}

static void mark_top(pfa_memoro_t *memoro)
{
    double peak = percentile_of(memoro, peak_of);
    double chunks = percentile_of(memoro, chunks_of);
    for (size_t i = 0; i < memoro->point_count; i++) {
        pfa_memoro_point_t *point = &memoro->points[i];
        point->top_bytes = point->rows > 0 && point->own_peak.least >= peak;
        point->top_chunks = point->rows > 0 && point->chunks >= chunks;
    }
}

static pfa_score_total_t sum_scores(const pfa_memoro_t *memoro, pfa_score_t score)
{
    pfa_score_total_t total = {.points = 0};
    double sum = 0;
    double squares = 0;
    double logs = 0;
    for (size_t i = 0; i < memoro->point_count; i++) {
        double value = memoro->points[i].scores[score];
        if (memoro->points[i].rows <= 0 || isnan(value)) {
            continue;
        }
        total.points++;
        total.least += value < PFA_SCORE_LEAST;
        sum += value;
        squares += value * value;
        logs += log(fmax(value, PFA_SCORE_LEAST));
    }
    double count = (double)total.points;
    total.mean = count > 0 ? sum / count : (double)NAN;
    total.geometric = count > 0 ? exp(logs / count) : (double)NAN;
    total.variance = count > 0 ? fmax(squares / count - total.mean * total.mean, 0) : (double)NAN;
    return total;
}

static int compare_costs(const void *a, const void *b)
{
    const pfa_memoro_point_t *left = *(pfa_memoro_point_t *const *)a;
    const pfa_memoro_point_t *right = *(pfa_memoro_point_t *const *)b;
    return left->own_peak.event_count < right->own_peak.event_count
               ? -1
               : left->own_peak.event_count > right->own_peak.event_count;
}

/* As many points as there is room for have an exact peak. */
static void want_events(pfa_memoro_t *memoro)
{
    pfa_memoro_point_t **cheap = pfa_memory_get(memoro->point_count, sizeof(pfa_memoro_point_t *));
    size_t count = 0;
    uint64_t events = 0;
    for (size_t i = 0; i < memoro->point_count; i++) {
        cheap[count] = &memoro->points[i];
        count += memoro->points[i].own_peak.event_count != 0;
    }
    qsort(cheap, count, sizeof *cheap, compare_costs);
    for (size_t i = 0; i < count; i++) {
        events += cheap[i]->own_peak.event_count;
        if ((double)events > memoro->thresholds.peak_events) {
            break;
        }
        pfa_own_peak_want(&cheap[i]->own_peak);
    }
    pfa_memory_free(cheap);
}

void pfa_memoro_settle(pfa_memoro_t *memoro)
{
    for (size_t i = 0; i < memoro->point_count; i++) {
        pfa_memoro_point_t *point = &memoro->points[i];
        pfa_own_peak_settle(&point->own_peak);
        if (point->rows > 0) {
            infer_bursts(memoro, point);
            score_point(point);
        }
    }
    for (int i = 0; i < PFA_SCORES; i++) {
        memoro->totals[i] = sum_scores(memoro, (pfa_score_t)i);
    }
    mark_top(memoro);
}

void pfa_memoro_end(pfa_memoro_t *memoro)
{
    for (size_t i = 0; memoro->growths != NULL && i < memoro->point_count; i++) {
        pfa_growth_flush(memoro->growths, &memoro->points[i].growth);
    }
    if (memoro->growths != NULL) {
        pfa_growths_end(memoro->growths);
    }
    for (size_t i = 0; i < memoro->point_count; i++) {
        pfa_memoro_point_t *point = &memoro->points[i];
        memoro->has_accesses = memoro->has_accesses || point->told_chunks > 0;
        if (point->rows > 0) {
            pfa_growth_judge(&point->growth);
            point->inferred[PFA_INFER_growing] = (pfa_share_t){point->growth.own_chunks, point->growth.own_bytes};
            pfa_own_peak_bound(&point->own_peak, (double)point->largest);
            memoro->blind_points += point->blind > 0 && point->told_chunks <= 0;
        }
    }
    want_events(memoro);
    memoro->batch = 0;
}

/* A sampled chunk lives longer by what recording it takes, and those that it stands for do not. */
static const double recording_ns = 100;

double pfa_memoro_life_cap(const pfa_memoro_t *memoro, const pfa_memoro_point_t *point)
{
    /* A chunk that is there when a step ends stands for many that are not. */
    return pfa_lives_cap(&point->burst_lives, 2 * memoro->life_step_ns);
}

pfa_churn_t pfa_memoro_churn(const pfa_memoro_t *memoro, const pfa_memoro_point_t *point)
{
    const pfa_burst_sums_t *bursts = &point->bursts.closed;
    double lives = pfa_lives_capped(&point->burst_lives, pfa_memoro_life_cap(memoro, point));
    double chunks = pfa_lives_chunks(&point->burst_lives);
    double time = memoro->sampled ? bursts->last - bursts->first : bursts->busy;
    double known = memoro->sampled ? fmax(lives - recording_ns * chunks, 0) : lives;
    return (pfa_churn_t){.alive = time > 0 ? known / time : 0,
                         .per_second = time > 0 ? chunks / time * 1e9 : 0,
                         .life_ns = chunks > 0 ? lives / chunks : 0};
}

pfa_share_t pfa_memoro_share(const pfa_memoro_point_t *point, pfa_inference_t inference)
{
    bool accesses = pfa_inference_texts[inference].accesses;
    double chunks = accesses ? point->told_chunks : point->chunks;
    double bytes = accesses ? point->told_bytes : point->bytes;
    const pfa_share_t *sum = &point->inferred[inference];
    return (pfa_share_t){.chunks = chunks > 0 ? sum->chunks / chunks : (double)NAN,
                         .bytes = bytes > 0    ? sum->bytes / bytes
                                  : chunks > 0 ? 0
                                               : (double)NAN};
}

bool pfa_memoro_is_flagged(const pfa_memoro_t *memoro, const pfa_memoro_point_t *point, pfa_inference_t inference)
{
    pfa_share_t share = pfa_memoro_share(point, inference);
    double least = memoro->thresholds.flag;
    /* Of a sampled point, one sample stands for many and is one chunk all the same. */
    double mean_weight = point->rows > 0 ? point->chunks / point->rows : 1;
    bool several = point->inferred[inference].chunks > 1.5 * mean_weight;
    return several && (share.chunks >= least || share.bytes >= least);
}
