/* Owns the statistics of comparisons. See analyze/diff/change.h. */
#include "analyze/diff/change.h"

#include <math.h>

/* What is called unlikely. */
static const double chance_most = 0.05;

/* Beyond this, on either side, a normal distribution has so much. From the left Newton's steps never go too far. */
static double normal(double chance)
{
    double z = 1.9;
    for (double step = 1; step > 1e-12;) {
        step = (erfc(z * M_SQRT1_2) - chance) / (M_2_SQRTPI * M_SQRT1_2 * exp(-z * z / 2));
        z += step;
    }
    return z;
}

/* The share of Student's distribution within tan(angle) * sqrt(freedom), by its finite series. */
static double student_within(double angle, unsigned freedom)
{
    double sine = sin(angle);
    double cosine = cos(angle);
    bool odd = freedom % 2 != 0;
    double term = odd ? cosine : 1;
    double sum = 0;
    for (unsigned i = odd ? 1 : 0; i + 2 <= freedom; i += 2) {
        sum += term;
        term *= cosine * cosine * (i + 1.0) / (i + 2.0);
    }
    return odd ? M_2_PI * (angle + sine * sum) : sine * sum;
}

static double student(double chance, double freedom)
{
    enum { SERIES = 200 };
    if (freedom > SERIES) {
        double z = normal(chance);
        return isinf(freedom) ? z : z + (z * z * z + z) / (4 * freedom);
    }
    unsigned whole = freedom < 1 ? 1 : (unsigned)freedom; /* rounded to the surer side */
    double least = 0;
    double most = M_PI_2;
    for (unsigned i = 0; i < 60; i++) {
        double middle = (least + most) / 2;
        *(1 - student_within(middle, whole) > chance ? &least : &most) = middle;
    }
    return tan(least) * sqrt(whole);
}

pfa_side_mean_t pfa_side_mean_of(const double *values, const double *variances, size_t count)
{
    pfa_side_mean_t estimate = {.runs = count, .least = INFINITY, .most = -INFINITY};
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

double pfa_change_margin(const pfa_change_t *change, double factor, size_t together)
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
    return student(chance_most / (double)together, freedom) * sqrt(base + other);
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
    const pfa_side_mean_t *own = &change->of[side];
    const pfa_side_mean_t *other = &change->of[1 - side];
    double between = own->runs >= 2     ? own->spread * own->spread / (double)own->runs
                     : other->runs >= 2 ? other->spread * other->spread
                                        : 0;
    size_t known = own->runs >= 2 ? own->runs : other->runs;
    /* The spread of sampled runs has the samples' own in it: the larger of the two is both. */
    change->variances[side] = fmax(between, fmax(own->sampling, unseen));
    change->freedom[side] = between > 0 ? (double)(known - 1) : (double)INFINITY;
}

pfa_change_t pfa_change_of(const pfa_side_mean_t *base, const pfa_side_mean_t *other, const double unseen[PFA_SIDES],
                           size_t together)
{
    static const double same = 1e-9; /* sums of weights in another order differ by less */
    pfa_change_t change = {.of = {*base, *other}, .difference = other->mean - base->mean};
    fill_variance(&change, PFA_BASE, unseen[PFA_BASE]);
    fill_variance(&change, PFA_NEW, unseen[PFA_NEW]);
    change.margin = pfa_change_margin(&change, 1, 1);
    change.differs = fabs(change.difference) > same * fmax(base->mean, other->mean);
    change.difference = change.differs ? change.difference : 0;
    change.significant = change.differs && fabs(change.difference) > change.margin;
    change.sure = change.significant && fabs(change.difference) > pfa_change_margin(&change, 1, together);
    return change;
}
