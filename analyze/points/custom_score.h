/* Custom scores: a name, and a formula over what is known of a point (analyze/points/orders.def).
 *
 *   wasted = 1 - touched / bytes
 *   churn = min(1, count / 1e6) * lifetime
 *
 * Numbers, also as 50% or 64KB (in letters alone, K would be 1024 or 1000), names, + - * / and brackets, min(a, b), max(a, b) and log(a). What is not known makes the whole not known; so do a division
 * by 0 and the logarithm of what is not above 0. As with other scores, the lowest is the worst. */
#ifndef PFA_ANALYZE_POINTS_CUSTOM_SCORE_H
#define PFA_ANALYZE_POINTS_CUSTOM_SCORE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct pfa_formula pfa_formula_t;

/* "NAME = FORMULA", with `names` of what it may use. NULL: *why says what is wrong, and the caller frees it. */
pfa_formula_t *pfa_formula_parse(const char *text, const char *const *names, size_t count, char **why);
void pfa_formula_free(pfa_formula_t *formula);
const char *pfa_formula_name(const pfa_formula_t *formula);
/* NAN: not known. `values` are those of the names. */
double pfa_formula_value(const pfa_formula_t *formula, const double *values);

#endif
