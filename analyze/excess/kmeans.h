/* Clusters of points in the plane: k-means with seeds by k-means++, and how well clusters are apart. Arrays in, results out:
 * nothing here knows what the points stand for. The same points, numbers and seed give the same answer everywhere. */
#ifndef PFA_ANALYZE_EXCESS_KMEANS_H
#define PFA_ANALYZE_EXCESS_KMEANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pfa_spot {
    double x;
    double y;
} pfa_spot_t;

enum {
    PFA_KMEANS_MOST = 64,       /* clusters */
    PFA_KMEANS_FIT = 20000,     /* of more points, centres are found among so many and then moved by all */
    PFA_SILHOUETTE_MOST = 2000, /* of more points, so many are asked */
};

typedef struct pfa_clusters {
    unsigned count; /* at most as many as there are different points */
    pfa_spot_t centres[PFA_KMEANS_MOST];
    double cost;  /* the sum of squared distances to the centres */
    bool settled; /* no point is nearer to the centre of another cluster */
} pfa_clusters_t;

/* A generator of random numbers: splitmix64. */
uint64_t pfa_random_next(uint64_t *state);

/* Puts `count` points (at least one) into at most `wanted` clusters: labels[i] is that of points[i]. */
void pfa_kmeans_fit(const pfa_spot_t *points, size_t count, unsigned wanted, uint64_t seed, uint32_t *labels,
                    pfa_clusters_t *clusters);

/* The mean silhouette of points in at least two clusters, from -1 to 1; of a point that is alone it is 0. */
double pfa_silhouette(const pfa_spot_t *points, size_t count, const uint32_t *labels, unsigned clusters);

/* `wanted` of `count` numbers, each at most once, all if there are no more; in rising order. The caller frees them. */
uint32_t *pfa_random_choose(size_t count, size_t *wanted, uint64_t seed);

#endif
