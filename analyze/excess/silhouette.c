/* Owns the silhouette (Rousseeuw, 1987): how much nearer points are to their own cluster than to the next. Its cost grows
 * with the square of the points, so of many only some are asked, and about each other. See analyze/excess/kmeans.h. */
#include "analyze/excess/kmeans.h"

#include "analyze/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 1 };

typedef struct sample {
    pfa_spot_t *points;
    uint32_t *labels;
    size_t count;
    size_t members[PFA_KMEANS_MOST];
    unsigned clusters;
} sample_t;

static sample_t take(const pfa_spot_t *points, size_t count, const uint32_t *labels, unsigned clusters)
{
    sample_t sample = {.count = PFA_SILHOUETTE_MOST, .clusters = clusters};
    uint32_t *chosen = pfa_random_choose(count, &sample.count, SEED);
    sample.points = pfa_memory_get(sample.count + 1, sizeof *sample.points);
    sample.labels = pfa_memory_get(sample.count + 1, sizeof *sample.labels);
    for (size_t i = 0; i < sample.count; i++) {
        sample.points[i] = points[chosen[i]];
        sample.labels[i] = labels[chosen[i]];
        sample.members[sample.labels[i]]++;
    }
    pfa_memory_free(chosen);
    return sample;
}

static double silhouette_of(const sample_t *sample, size_t at)
{
    double sums[PFA_KMEANS_MOST] = {0};
    uint32_t own = sample->labels[at];
    double next = INFINITY;
    if (sample->members[own] < 2) {
        return 0;
    }
    for (size_t i = 0; i < sample->count; i++) {
        double x = sample->points[i].x - sample->points[at].x;
        double y = sample->points[i].y - sample->points[at].y;
        sums[sample->labels[i]] += sqrt(x * x + y * y);
    }
    for (unsigned k = 0; k < sample->clusters; k++) {
        if (k != own && sample->members[k] != 0) {
            next = fmin(next, sums[k] / (double)sample->members[k]);
        }
    }
    double within = sums[own] / (double)(sample->members[own] - 1);
    double most = fmax(within, next);
    return isinf(next) || most <= 0 ? 0 : (next - within) / most;
}

double pfa_silhouette(const pfa_spot_t *points, size_t count, const uint32_t *labels, unsigned clusters)
{
    sample_t sample = take(points, count, labels, clusters);
    double sum = 0;
    for (size_t i = 0; i < sample.count; i++) {
        sum += silhouette_of(&sample, i);
    }
    pfa_memory_free(sample.points);
    pfa_memory_free(sample.labels);
    return sample.count != 0 ? sum / (double)sample.count : 0;
}
