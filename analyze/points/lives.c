/* Owns how long chunks live, by powers of two. See analyze/points/lives.h. */
#include "analyze/points/lives.h"

#include <math.h>

static const double most_of_them = 0.9;

void pfa_lives_add(pfa_lives_t *lives, double life, double weight)
{
    int class = life >= 1 ? ilogb(life) + 1 : 0;
    class = class < PFA_LIVES ? class : PFA_LIVES - 1;
    lives->chunks[class] += weight;
    lives->sums[class] += weight * life;
}

double pfa_lives_chunks(const pfa_lives_t *lives)
{
    double chunks = 0;
    for (int i = 0; i < PFA_LIVES; i++) {
        chunks += lives->chunks[i];
    }
    return chunks;
}

double pfa_lives_cap(const pfa_lives_t *lives, double least)
{
    double wanted = most_of_them * pfa_lives_chunks(lives) * (1 - 1e-9);
    double chunks = lives->chunks[0];
    int class = 0;
    while (class + 1 < PFA_LIVES && (chunks < wanted || ldexp(1, class) < least)) {
        chunks += lives->chunks[++class];
    }
    return ldexp(1, class);
}

double pfa_lives_capped(const pfa_lives_t *lives, double cap)
{
    double sum = 0;
    for (int i = 0; i < PFA_LIVES; i++) {
        sum += ldexp(1, i) <= cap ? lives->sums[i] : fmin(cap * lives->chunks[i], lives->sums[i]);
    }
    return sum;
}
