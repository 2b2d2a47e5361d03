/* Quartiles of numbers, and from where on they are outliers: the third quartile plus mu times the distance of the quartiles.
 * A quartile lies at (n - 1) q of the sorted numbers, between two of them in proportion: method 7 of Hyndman and Fan, which
 * is what numpy and R do unless told otherwise. */
#ifndef PFA_ANALYZE_EXCESS_QUARTILES_H
#define PFA_ANALYZE_EXCESS_QUARTILES_H

#include <stddef.h>

typedef struct pfa_quartiles {
    double first;
    double third;
    double range; /* third - first */
} pfa_quartiles_t;

/* Of at least one number; sorts them. */
pfa_quartiles_t pfa_quartiles_of(double *numbers, size_t count);

#endif
