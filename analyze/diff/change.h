/* Whether two sides of a comparison differ in a value, and how sure that is.
 *
 * Each side is one or several runs. The value of a side is the mean of its runs. What makes it unsure is that chunks were sampled,
 * and that runs differ from each other although nothing was changed; the latter is known if there are several. A difference is
 * significant if it is beyond the 95 % interval of both together (Welch's test; with several runs on one side only, the other's
 * are taken to be as far apart). Of single runs of which every chunk was recorded each difference is.
 *
 * Where many differences are looked at and one is enough, some are beyond their intervals by chance: then the intervals are wider,
 * so that with 95 % all are within (Bonferroni). */
#ifndef PFA_ANALYZE_DIFF_CHANGE_H
#define PFA_ANALYZE_DIFF_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

enum { PFA_BASE, PFA_NEW, PFA_SIDES };

/* Of one side. */
typedef struct pfa_side_mean {
    double mean;
    double least;
    double most;
    double spread;   /* standard deviation of its runs; 0 of a single one */
    double sampling; /* variance of the mean, as samples tell it */
    size_t runs;
} pfa_side_mean_t;

typedef struct pfa_change {
    pfa_side_mean_t of[PFA_SIDES];
    double variances[PFA_SIDES]; /* of the means, all together */
    double freedom[PFA_SIDES];   /* degrees of it; infinite where only samples are unsure */
    double difference;
    double margin; /* of the difference: 95 % of all such are within */
    bool differs;
    bool significant;
    bool sure; /* beyond the margin of all differences that were looked at with it */
} pfa_change_t;

pfa_side_mean_t pfa_side_mean_of(const double *values, const double *variances, size_t count);
/* The change from one to the other, one of so many that are looked at together. `unseen`: what the variance of each side's mean
 * would be if it had the other's chunks; a side whose samples missed a point has none of its own. */
pfa_change_t pfa_change_of(const pfa_side_mean_t *base, const pfa_side_mean_t *other, const double unseen[PFA_SIDES],
                           size_t together);
/* The margin of (new - factor * base), one of so many. */
double pfa_change_margin(const pfa_change_t *change, double factor, size_t together);
/* In percent of the base; infinite if there was nothing. */
double pfa_change_percent(const pfa_change_t *change);

#endif
