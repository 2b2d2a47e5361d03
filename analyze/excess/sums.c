/* Owns what is told of sums of chunks. See analyze/excess/objects.h. */
#include "analyze/excess/objects.h"

#include <math.h>

#define WIDE 1.96 /* standard deviations on either side of 95 % */

void pfa_sum_add(pfa_sum_t *sum, const pfa_sum_t *other)
{
    sum->chunks += other->chunks;
    sum->variance += other->variance;
    sum->life += other->life;
    sum->step = fmax(sum->step, other->step);
}

double pfa_sum_lifetime(const pfa_sum_t *sum, double least)
{
    return fmax(fmax(sum->life, sum->step) / sum->chunks, least);
}

double pfa_sum_lifetime_spread(const pfa_sum_t *sum)
{
    double each = (sum->variance + sum->chunks) / sum->chunks; /* the mean of w w by that of w */
    double variance = each * sum->step * fmin(fmax(sum->life, sum->step), sum->chunks * sum->step / 4);
    return fmin(WIDE * sqrt(variance) / sum->chunks, sum->step);
}

double pfa_sum_spread(const pfa_sum_t *sum)
{
    return WIDE * sqrt(sum->variance);
}
