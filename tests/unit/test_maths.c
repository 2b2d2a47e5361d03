/* The sampler's two functions against libm, which the runtime does without. */
#include "base/maths.h"
#include "tests/unit/unit.h"

#include <math.h>

#define RELATIVE_ERROR_MAX 1e-6

static void check_relative(double got, double expected, double x)
{
    double error = expected == 0 ? fabs(got) : fabs(got - expected) / fabs(expected);
    if (!(error <= RELATIVE_ERROR_MAX)) {
        fail_msg("at %.17g: got %.17g, expected %.17g, relative error %g", x, got, expected, error);
    }
}

static void log_agrees_over_all_exponents(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int exponent = -1022; exponent < 1023; exponent++) {
        for (int i = 0; i < 50; i++) {
            double x = ldexp(1.0 + (double)random_below(&seed, 1ull << 52) * 0x1p-52, exponent);
            check_relative(pfa_log(x), log(x), x);
        }
    }
}

/* The sampler takes logarithms of uniform numbers in (0, 1]; those near 1 make its short distances. */
static void log_agrees_near_one(void **state)
{
    (void)state;
    for (int k = 1; k <= 53; k++) {
        double below = 1.0 - ldexp(1.0, -k);
        double above = 1.0 + ldexp(1.0, -k);
        check_relative(pfa_log(below), log1p(-ldexp(1.0, -k)), below);
        if (k < 53) {
            check_relative(pfa_log(above), log1p(ldexp(1.0, -k)), above);
        }
    }
    assert_true(pfa_log(1.0) == 0.0);
}

static void log_agrees_on_the_samplers_numbers(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int i = 0; i < 1000000; i++) {
        double uniform = ((double)(random_next(&seed) >> 11) + 1.0) * 0x1p-53;
        check_relative(pfa_log(uniform), log(uniform), uniform);
    }
    check_relative(pfa_log(0x1p-53), log(0x1p-53), 0x1p-53);
}

static void inverse_chance_agrees(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (int exponent = -300; exponent <= 12; exponent++) {
        for (int i = 0; i < 2000; i++) {
            double x = ldexp(1.0 + (double)random_below(&seed, 1ull << 52) * 0x1p-52, exponent);
            check_relative(pfa_inverse_chance(x), -1 / expm1(-x), x);
        }
    }
}

/* What a chunk of each size stands for: at least itself, and the less the bigger it is. */
static void inverse_chance_falls_to_one(void **state)
{
    (void)state;
    double last = 1e14;
    for (double x = 1e-13; x < 1e4; x *= 1.0009) {
        double inverse = pfa_inverse_chance(x);
        assert_true(inverse >= 1.0 && inverse <= last * (1 + 1e-14));
        last = inverse;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_agrees_over_all_exponents),      cmocka_unit_test(log_agrees_near_one),
        cmocka_unit_test(log_agrees_on_the_samplers_numbers), cmocka_unit_test(inverse_chance_agrees),
        cmocka_unit_test(inverse_chance_falls_to_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
