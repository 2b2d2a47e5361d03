/* Owns pfa_log and pfa_inverse_chance. Pure functions. */
#include "base/maths.h"

#include <stdint.h>
#include <string.h>

#define LN2 0.69314718055994530942

double pfa_log(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023;
    bits = (bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull;
    double m;
    memcpy(&m, &bits, sizeof m);
    /* Around 1, so that just below 1 no two big terms cancel: there the sampler's short distances come from. */
    if (m > 1.4142135623730951) {
        m *= 0.5;
        exponent++;
    }
    /* ln m = 2 artanh((m-1)/(m+1)), with the argument at most 0.172. */
    double s = (m - 1.0) / (m + 1.0);
    double q = s * s;
    double series =
        1.0 + q * (1.0 / 3 + q * (1.0 / 5 + q * (1.0 / 7 + q * (1.0 / 9 + q * (1.0 / 11 + q * (1.0 / 13))))));
    return 2.0 * s * series + exponent * LN2;
}

double pfa_inverse_chance(double x)
{
    if (x > 40.0) {
        return 1.0;
    }
    int halvings = 0;
    for (; x > 1.0; halvings++) {
        x *= 0.5;
    }
    double q = x * x;
    double inverse = 1.0 / x + (0.5 + x * (1.0 / 12 - q * (1.0 / 720 - q * (1.0 / 30240 - q * (1.0 / 1209600)))));
    if (halvings > 0) {
        /* 1-exp(-2y) = d(2-d) for d = 1-exp(-y). */
        double d = 1.0 / inverse;
        for (; halvings > 0; halvings--) {
            d = d * (2.0 - d);
        }
        inverse = 1.0 / d;
    }
    return inverse;
}
