/* Owns the detection by clusters: objects as points of frequency and lifetime, the number of clusters, and the cluster with
 * the highest mean frequency and the lowest mean lifetime of all. Objects that were never freed have no lifetime yet: as
 * points at the far end of the scale they would only push all others together.
 *
 * Both axes are scaled to 0..1, so that neither unit decides. That is linear unless asked otherwise: a logarithmic scale sets
 * objects that are rare and live even shorter apart from the frequent ones, which then are not the shortest. How often that
 * happens depends on how finely times were recorded (docs/excess.md has figures). */
#include "analyze/excess/excess.h"
#include "analyze/base/memory.h"

#include <math.h>
#include <stdlib.h>

/* Hardly more than the calls themselves take: lives below are equally short. */
#define SHORT_NS 1000.0

typedef struct span {
    double low;
    double high;
} span_t;

static double scaled(const pfa_excess_t *excess, double value)
{
    return excess->options->scale == PFA_SCALE_LOG ? log(value) : value;
}

static void widen(span_t *span, double value)
{
    span->low = fmin(span->low, value);
    span->high = fmax(span->high, value);
}

static double place(const span_t *span, double value)
{
    return span->high > span->low ? (value - span->low) / (span->high - span->low) : 0;
}

static pfa_spot_t *make_points(const pfa_excess_t *excess)
{
    const pfa_objects_t *objects = &excess->objects;
    pfa_spot_t *points = pfa_memory_get(objects->freed, sizeof *points);
    span_t x = {.low = INFINITY, .high = -INFINITY};
    span_t y = x;
    for (size_t i = 0; i < objects->freed; i++) {
        points[i] =
            (pfa_spot_t){scaled(excess, objects->list[i].sum.chunks), scaled(excess, objects->list[i].lifetime)};
        widen(&x, points[i].x);
        widen(&y, points[i].y);
    }
    for (size_t i = 0; i < objects->freed; i++) {
        points[i] = (pfa_spot_t){place(&x, points[i].x), place(&y, points[i].y)};
    }
    return points;
}

/* The number of clusters with the best silhouette, the smaller of equals; 1 if all points are the same. Of many points, those
 * that it is asked of are a sample, and so are those that the clusters are made of. */
static unsigned choose_k(pfa_excess_t *excess, const pfa_spot_t *points, size_t count)
{
    size_t few = PFA_KMEANS_FIT;
    uint32_t *chosen = pfa_random_choose(count, &few, excess->options->seed);
    pfa_spot_t *some = pfa_memory_get(few, sizeof *some);
    uint32_t *labels = pfa_memory_get(few, sizeof *labels);
    unsigned best = 1;
    for (size_t i = 0; i < few; i++) {
        some[i] = points[chosen[i]];
    }
    for (unsigned k = PFA_EXCESS_LEAST_K; k <= PFA_EXCESS_MOST_K; k++) {
        pfa_clusters_t clusters;
        pfa_kmeans_fit(some, few, k, excess->options->seed, labels, &clusters);
        if (clusters.count < k) {
            break;
        }
        excess->silhouettes[k] = pfa_silhouette(some, few, labels, k);
        best = best == 1 || excess->silhouettes[k] > excess->silhouettes[best] ? k : best;
    }
    pfa_memory_free(labels);
    pfa_memory_free(some);
    pfa_memory_free(chosen);
    return best;
}

static void sum_clusters(pfa_excess_t *excess, const uint32_t *labels)
{
    pfa_objects_t *objects = &excess->objects;
    for (size_t i = 0; i < objects->freed; i++) {
        pfa_excess_cluster_t *cluster = &excess->clusters[labels[i]];
        objects->list[i].cluster = labels[i];
        cluster->members++;
        cluster->frequency += objects->list[i].sum.chunks;
        cluster->lifetime += objects->list[i].lifetime;
        cluster->within = hypot(cluster->within, pfa_object_sum_lifetime_within(&objects->list[i].sum));
    }
    for (unsigned k = 0; k < excess->k; k++) {
        excess->clusters[k].frequency /= (double)excess->clusters[k].members;
        excess->clusters[k].lifetime /= (double)excess->clusters[k].members;
        excess->clusters[k].within /= (double)excess->clusters[k].members;
    }
}

/* Whether it cannot be said that it lives longer than the shortest, or is not worth saying. */
static bool is_as_short(const pfa_excess_cluster_t *cluster, const pfa_excess_cluster_t *shortest)
{
    return cluster->lifetime - cluster->within <= shortest->lifetime + shortest->within ||
           cluster->lifetime <= SHORT_NS;
}

/* The paper's two conditions. A single cluster has both. */
static void find_extremes(pfa_excess_t *excess)
{
    excess->most_frequent = excess->shortest = 0;
    for (unsigned k = 1; k < excess->k; k++) {
        if (excess->clusters[k].frequency > excess->clusters[excess->most_frequent].frequency) {
            excess->most_frequent = k;
        }
        if (excess->clusters[k].lifetime < excess->clusters[excess->shortest].lifetime) {
            excess->shortest = k;
        }
    }
    if (excess->shortest != excess->most_frequent &&
        is_as_short(&excess->clusters[excess->most_frequent], &excess->clusters[excess->shortest])) {
        excess->shortest = excess->most_frequent;
        excess->equally_short = true;
    }
}

void pfa_excess_cluster(pfa_excess_t *excess)
{
    const pfa_objects_t *objects = &excess->objects;
    pfa_spot_t *points = make_points(excess);
    uint32_t *labels = pfa_memory_get(objects->freed, sizeof *labels);
    pfa_clusters_t clusters;
    unsigned wanted = excess->options->clusters;
    wanted = wanted != 0 ? wanted : choose_k(excess, points, objects->freed);
    pfa_kmeans_fit(points, objects->freed, wanted, excess->options->seed, labels, &clusters);
    excess->k = clusters.count;
    excess->settled = clusters.settled;
    if (excess->k > 1 && isnan(excess->silhouettes[excess->k])) {
        excess->silhouettes[excess->k] = pfa_silhouette(points, objects->freed, labels, excess->k);
    }
    sum_clusters(excess, labels);
    find_extremes(excess);
    for (size_t i = 0; i < objects->freed; i++) {
        excess->suspect[i] = excess->most_frequent == excess->shortest && labels[i] == excess->shortest &&
                             pfa_excess_may_be(excess, &objects->list[i]);
    }
    pfa_memory_free(labels);
    pfa_memory_free(points);
}
