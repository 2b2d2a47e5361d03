/* Owns k-means: Lloyd's algorithm, begun several times by k-means++ (Arthur and Vassilvitskii, 2007), the cheapest end of
 * which counts. See analyze/excess/kmeans.h. */
#include "analyze/excess/kmeans.h"

#include "analyze/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { BEGINNINGS = 12, ROUNDS = 200, ROUNDS_OF_ALL = 50 };

uint64_t pfa_random_next(uint64_t *state)
{
    uint64_t word = *state += 0x9e3779b97f4a7c15u;
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
    word = (word ^ word >> 27) * 0x94d049bb133111ebu;
    return word ^ word >> 31;
}

/* From 0 to below 1. */
static double random_part(uint64_t *state)
{
    return (double)(pfa_random_next(state) >> 11) * 0x1p-53;
}

/* Selection sampling: one pass, and the order stays. */
uint32_t *pfa_random_choose(size_t count, size_t *wanted, uint64_t seed)
{
    size_t most = *wanted < count ? *wanted : count;
    uint32_t *chosen = pfa_memory_get(most != 0 ? most : 1, sizeof *chosen);
    size_t taken = 0;
    for (size_t i = 0; taken < most; i++) {
        if (random_part(&seed) * (double)(count - i) < (double)(most - taken)) {
            chosen[taken++] = (uint32_t)i;
        }
    }
    *wanted = taken;
    return chosen;
}

static double square_distance(pfa_spot_t a, pfa_spot_t b)
{
    double x = a.x - b.x;
    double y = a.y - b.y;
    return x * x + y * y;
}

/* The next centre is a point, the likelier the farther it is from all centres so far. False: each point is one. */
static bool add_centre(const pfa_spot_t *points, size_t count, double *nearest, pfa_clusters_t *clusters,
                       uint64_t *state)
{
    double sum = 0;
    size_t chosen = 0;
    for (size_t i = 0; i < count; i++) {
        sum += nearest[i];
    }
    if (sum <= 0) {
        return false;
    }
    double left = random_part(state) * sum;
    for (size_t i = 0; i < count; i++) {
        chosen = nearest[i] > 0 ? i : chosen;
        left -= nearest[i];
        if (left < 0 && nearest[i] > 0) {
            break;
        }
    }
    clusters->centres[clusters->count] = points[chosen];
    for (size_t i = 0; i < count; i++) {
        double distance = square_distance(points[i], points[chosen]);
        nearest[i] = distance < nearest[i] ? distance : nearest[i];
    }
    clusters->count++;
    return true;
}

static void begin(const pfa_spot_t *points, size_t count, unsigned wanted, double *nearest, pfa_clusters_t *clusters,
                  uint64_t *state)
{
    size_t first = (size_t)(random_part(state) * (double)count);
    clusters->count = 1;
    clusters->centres[0] = points[first];
    for (size_t i = 0; i < count; i++) {
        nearest[i] = square_distance(points[i], points[first]);
    }
    while (clusters->count < wanted && add_centre(points, count, nearest, clusters, state)) {
    }
}

/* Each point to the nearest centre, the first of equally near ones. Returns whether any went elsewhere. */
static bool assign(const pfa_spot_t *points, size_t count, uint32_t *labels, pfa_clusters_t *clusters)
{
    bool moved = false;
    clusters->cost = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t best = 0;
        double least = square_distance(points[i], clusters->centres[0]);
        for (uint32_t k = 1; k < clusters->count; k++) {
            double distance = square_distance(points[i], clusters->centres[k]);
            if (distance < least) {
                least = distance;
                best = k;
            }
        }
        moved = moved || labels[i] != best;
        labels[i] = best;
        clusters->cost += least;
    }
    return moved;
}

static size_t farthest(const pfa_spot_t *points, size_t count, const uint32_t *labels, const pfa_clusters_t *clusters)
{
    size_t worst = 0;
    double most = -1;
    for (size_t i = 0; i < count; i++) {
        double distance = square_distance(points[i], clusters->centres[labels[i]]);
        if (distance > most) {
            most = distance;
            worst = i;
        }
    }
    return worst;
}

/* Centres to the means of their points. A cluster that lost all of its own begins again at the point that fits worst; true
 * if there was one, since the cluster that the point leaves has then another mean. */
static bool move_centres(const pfa_spot_t *points, size_t count, uint32_t *labels, pfa_clusters_t *clusters)
{
    pfa_spot_t sums[PFA_KMEANS_MOST] = {{0, 0}};
    size_t members[PFA_KMEANS_MOST] = {0};
    for (size_t i = 0; i < count; i++) {
        sums[labels[i]].x += points[i].x;
        sums[labels[i]].y += points[i].y;
        members[labels[i]]++;
    }
    for (uint32_t k = 0; k < clusters->count; k++) {
        if (members[k] != 0) {
            clusters->centres[k] = (pfa_spot_t){sums[k].x / (double)members[k], sums[k].y / (double)members[k]};
        }
    }
    bool refilled = false;
    for (uint32_t k = 0; k < clusters->count; k++) {
        if (members[k] == 0) {
            size_t worst = farthest(points, count, labels, clusters);
            clusters->centres[k] = points[worst];
            labels[worst] = k;
            refilled = true;
        }
    }
    return refilled;
}

static void settle(const pfa_spot_t *points, size_t count, uint32_t *labels, pfa_clusters_t *clusters, unsigned rounds)
{
    memset(labels, 0xff, count * sizeof *labels);
    bool refilled = false;
    clusters->settled = false;
    for (unsigned round = 0; round < rounds; round++) {
        if (!assign(points, count, labels, clusters) && !refilled) {
            clusters->settled = true;
            return;
        }
        refilled = move_centres(points, count, labels, clusters);
    }
    assign(points, count, labels, clusters);
}

static void fit_few(const pfa_spot_t *points, size_t count, unsigned wanted, uint64_t seed, uint32_t *labels,
                    pfa_clusters_t *clusters)
{
    double *nearest = pfa_memory_get(count, sizeof *nearest);
    uint32_t *tried = pfa_memory_get(count, sizeof *tried);
    for (unsigned i = 0; i < BEGINNINGS; i++) {
        pfa_clusters_t now = {.count = 0};
        begin(points, count, wanted, nearest, &now, &seed);
        settle(points, count, tried, &now, ROUNDS);
        if (i == 0 || now.cost < clusters->cost) {
            *clusters = now;
            memcpy(labels, tried, count * sizeof *labels);
        }
    }
    pfa_memory_free(tried);
    pfa_memory_free(nearest);
}

void pfa_kmeans_fit(const pfa_spot_t *points, size_t count, unsigned wanted, uint64_t seed, uint32_t *labels,
                    pfa_clusters_t *clusters)
{
    wanted = wanted < 1 ? 1 : wanted > PFA_KMEANS_MOST ? PFA_KMEANS_MOST : wanted;
    if (count <= PFA_KMEANS_FIT) {
        fit_few(points, count, wanted, seed, labels, clusters);
        return;
    }
    size_t few = PFA_KMEANS_FIT;
    uint32_t *chosen = pfa_random_choose(count, &few, seed);
    pfa_spot_t *some = pfa_memory_get(few, sizeof *some);
    for (size_t i = 0; i < few; i++) {
        some[i] = points[chosen[i]];
    }
    fit_few(some, few, wanted, seed, labels, clusters);
    settle(points, count, labels, clusters, ROUNDS_OF_ALL);
    pfa_memory_free(some);
    pfa_memory_free(chosen);
}
