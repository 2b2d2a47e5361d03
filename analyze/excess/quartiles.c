/* Owns quartiles. See analyze/excess/quartiles.h. */
#include "analyze/excess/quartiles.h"

#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

static double at_part(const double *sorted, size_t count, double part)
{
    double place = (double)(count - 1) * part;
    size_t below = (size_t)place;
    size_t above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (place - (double)below) * (sorted[above] - sorted[below]);
}

pfa_quartiles_t pfa_quartiles_of(double *numbers, size_t count)
{
    qsort(numbers, count, sizeof *numbers, compare);
    pfa_quartiles_t quartiles = {.first = at_part(numbers, count, 0.25), .third = at_part(numbers, count, 0.75)};
    quartiles.range = quartiles.third - quartiles.first;
    return quartiles;
}
