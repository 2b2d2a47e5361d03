/* Owns the arithmetic of lifetimes. See analyze/leaks/lives.h. */
#include "analyze/leaks/lives.h"

#include <math.h>
#include <stddef.h>

double pfa_lives_edge(unsigned bin)
{
    if (bin == 0) {
        return 0;
    }
    return ldexp(4 + (double)((bin - 1) % 4), PFA_LIVES_FIRST - 2 + (int)((bin - 1) / 4));
}

double pfa_lives_sum(const double bins[PFA_LIVES_BINS])
{
    return pfa_lives_from(bins, 0);
}

double pfa_lives_from(const double bins[PFA_LIVES_BINS], unsigned bin)
{
    double sum = 0;
    for (size_t i = bin; i < PFA_LIVES_BINS; i++) {
        sum += bins[i];
    }
    return sum;
}

double pfa_lives_quantile(const double bins[PFA_LIVES_BINS], double share, double least, double most)
{
    double wanted = share * pfa_lives_sum(bins);
    double before = 0;
    for (unsigned i = 0; i < PFA_LIVES_BINS; i++) {
        if (bins[i] > 0 && before + bins[i] >= wanted) {
            double from = fmax(pfa_lives_edge(i), least);
            double to = fmin(pfa_lives_edge(i + 1), most);
            double part = (wanted - before) / bins[i];
            return to > from ? from + (to - from) * fmax(part, 0) : from;
        }
        before += bins[i];
    }
    return most;
}

double pfa_lives_excess(const double bins[PFA_LIVES_BINS], unsigned bin)
{
    double all = pfa_lives_sum(bins);
    double edge = pfa_lives_edge(bin);
    double sum = 0;
    for (unsigned i = bin; i < PFA_LIVES_BINS; i++) {
        sum += bins[i] * ((pfa_lives_edge(i) + pfa_lives_edge(i + 1)) / 2 - edge);
    }
    return all > 0 ? sum / all : 0;
}

void pfa_lives_survival(const double freed[PFA_LIVES_BINS], const double live[PFA_LIVES_BINS],
                        double survival[PFA_LIVES_BINS])
{
    double at_risk = pfa_lives_sum(freed) + pfa_lives_sum(live);
    double alive = 1;
    for (unsigned i = 0; i < PFA_LIVES_BINS; i++) {
        /* Sums of weights in another order differ a little: no share is below 0. */
        alive *= freed[i] > 0 ? fmax(1 - freed[i] / at_risk, 0) : 1;
        at_risk -= freed[i] + live[i];
        survival[i] = alive;
    }
}
