/* The two functions the sampler needs, without libm: natural logarithm, and 1 / (1 - exp(-x)) for x above 0. Relative
 * error below 1e-6. */
#ifndef PFA_BASE_MATHS_H
#define PFA_BASE_MATHS_H

double pfa_log(double x);
double pfa_inverse_chance(double x);

#endif
