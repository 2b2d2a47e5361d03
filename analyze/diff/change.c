/* Owns the statistics of comparisons. See analyze/diff/change.h. */
#include "analyze/diff/change.h"

#include <math.h>

/* The quantile of Student's distribution that 97.5 % are below. */
static double student(double freedom)
{
    static const double table[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                   2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                   2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
    enum { KNOWN = sizeof table / sizeof table[0] };
    static const double z = 1.959964;
    if (freedom <= KNOWN) {
        return table[freedom < 1 ? 0 : (size_t)freedom - 1]; /* rounded to the surer side */
    }
    return z + (z * z * z + z) / (4 * freedom);
}

pfa_estimate_t pfa_estimate_of(const double *values, const double *variances, size_t count)
{
    pfa_estimate_t estimate = {.runs = count, .least = INFINITY, .most = -INFINITY};
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        estimate.mean += values[i] / (double)count;
        estimate.sampling += variances[i] / (double)count / (double)count;
        estimate.least = fmin(estimate.least, values[i]);
        estimate.most = fmax(estimate.most, values[i]);
    }
    for (size_t i = 0; i < count; i++) {
        squares += (values[i] - estimate.mean) * (values[i] - estimate.mean);
    }
    bool same = count < 2 || estimate.least >= estimate.most; /* rounding is no spread */
    estimate.spread = same ? 0 : sqrt(squares / (double)(count - 1));
    return estimate;
}

double pfa_change_margin(const pfa_change_t *change, double factor)
{
    double base = change->variances[PFA_BASE] * factor * factor;
    double other = change->variances[PFA_NEW];
    if (base + other <= 0) {
        return 0;
    }
    bool shared = (change->of[PFA_BASE].runs < 2) != (change->of[PFA_NEW].runs < 2);
    double freedom = change->of[PFA_BASE].runs < 2 ? change->freedom[PFA_NEW] : change->freedom[PFA_BASE];
    if (!shared) {
        double parts = base * base / change->freedom[PFA_BASE] + other * other / change->freedom[PFA_NEW];
        freedom = parts > 0 ? (base + other) * (base + other) / parts : (double)INFINITY;
    }
    return student(freedom) * sqrt(base + other);
}

double pfa_change_percent(const pfa_change_t *change)
{
    double base = change->of[PFA_BASE].mean;
    if (!change->differs) {
        return 0;
    }
    return base > 0 ? 100 * change->difference / base : (double)INFINITY;
}

static void fill_variance(pfa_change_t *change, unsigned side, double unseen)
{
    const pfa_estimate_t *own = &change->of[side];
    const pfa_estimate_t *other = &change->of[1 - side];
    double between = own->runs >= 2     ? own->spread * own->spread / (double)own->runs
                     : other->runs >= 2 ? other->spread * other->spread
                                        : 0;
    size_t known = own->runs >= 2 ? own->runs : other->runs;
    /* The spread of sampled runs has the samples' own in it: the larger of the two is both. */
    change->variances[side] = fmax(between, fmax(own->sampling, unseen));
    change->freedom[side] = between > 0 ? (double)(known - 1) : (double)INFINITY;
}

pfa_change_t pfa_change_of(const pfa_estimate_t *base, const pfa_estimate_t *other, const double unseen[PFA_SIDES])
{
    static const double same = 1e-9; /* sums of weights in another order differ by less */
    pfa_change_t change = {.of = {*base, *other}, .difference = other->mean - base->mean};
    fill_variance(&change, PFA_BASE, unseen[PFA_BASE]);
    fill_variance(&change, PFA_NEW, unseen[PFA_NEW]);
    change.margin = pfa_change_margin(&change, 1);
    change.differs = fabs(change.difference) > same * fmax(base->mean, other->mean);
    change.difference = change.differs ? change.difference : 0;
    change.significant = change.differs && fabs(change.difference) > change.margin;
    return change;
}
