/* The sampler: distances of the right distribution, weights that make estimates true, and the list of periods. */
#include "alloc/sampler.h"
#include "meta/record.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <math.h>

/* Beyond this many standard errors chance is no excuse (one in two million, and the seeds are fixed). */
#define SIGMAS 5.0
/* Critical value of the Kolmogorov-Smirnov statistic times sqrt(n) at one in a thousand. */
#define KS_LIMIT 1.95

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void draw(uint64_t *distances, size_t count, uint64_t seed, uint64_t period)
{
    uint64_t state = seed;
    for (size_t i = 0; i < count; i++) {
        distances[i] = pfa_sampler_distance(&state, period);
    }
}

/* Distances are whole bytes, and a chunk of s bytes is hit when the distance is below s: so the chance of a distance of
 * at most k bytes must be 1 - exp(-(k + 1) / period) for every whole k, also where a period is only a few bytes. */
static void check_distribution(uint64_t period, uint64_t seed)
{
    enum { DRAWS = 200000 };
    static uint64_t distances[DRAWS];
    draw(distances, DRAWS, seed, period);
    qsort(distances, DRAWS, sizeof distances[0], by_value);
    double worst = 0;
    for (size_t i = 0; i < DRAWS; i++) {
        if (i + 1 == DRAWS || distances[i] != distances[i + 1]) {
            double expected = -expm1(-((double)distances[i] + 1) / (double)period);
            worst = fmax(worst, fabs((double)(i + 1) / DRAWS - expected));
        }
    }
    if (worst * sqrt(DRAWS) > KS_LIMIT) {
        fail_msg("period %lu: the distribution is off by %g (limit %g)", period, worst, KS_LIMIT / sqrt(DRAWS));
    }
}

static void distances_are_exponential(void **state)
{
    (void)state;
    static const uint64_t periods[] = {2, 3, 16, 100, 4096, 65536, 512 * 1024, 1ull << 30, 1ull << 40};
    for (size_t i = 0; i < sizeof periods / sizeof periods[0]; i++) {
        check_distribution(periods[i], 41 + i);
    }
}

static void distances_have_the_periods_mean(void **state)
{
    (void)state;
    enum { DRAWS = 1000000 };
    const uint64_t period = 512 * 1024;
    uint64_t random = 51;
    double sum = 0;
    for (size_t i = 0; i < DRAWS; i++) {
        sum += (double)pfa_sampler_distance(&random, period);
    }
    double mean = sum / DRAWS;
    assert_true(fabs(mean - (double)period) < SIGMAS * (double)period / sqrt(DRAWS));
}

/* Memoryless also means: what came before says nothing about what comes. */
static void neighbouring_distances_are_uncorrelated(void **state)
{
    (void)state;
    enum { DRAWS = 400000 };
    uint64_t random = 52;
    double product = 0;
    double last = (double)pfa_sampler_distance(&random, 1 << 20) / (1 << 20) - 1;
    for (size_t i = 0; i < DRAWS; i++) {
        double next = (double)pfa_sampler_distance(&random, 1 << 20) / (1 << 20) - 1;
        product += last * next;
        last = next;
    }
    assert_true(fabs(product / DRAWS) < SIGMAS / sqrt(DRAWS));
}

static void a_seed_gives_one_stream_and_moves_on(void **state)
{
    (void)state;
    uint64_t first = 53;
    uint64_t second = 53;
    for (int i = 0; i < 100; i++) {
        uint64_t before = first;
        assert_true(pfa_sampler_distance(&first, 1 << 20) == pfa_sampler_distance(&second, 1 << 20));
        assert_true(first != before && first == second);
    }
}

/* --- weights ----------------------------------------------------------------------------------------------------- */

typedef struct stream {
    int64_t countdown;
    uint64_t random;
    uint64_t period;
} stream_t;

/* As the entry points do it: bytes go off a countdown, and the chunk that takes it below zero is recorded. */
static bool is_hit(stream_t *stream, uint64_t size)
{
    stream->countdown -= (int64_t)size;
    if (stream->countdown >= 0) {
        return false;
    }
    stream->countdown = (int64_t)pfa_sampler_distance(&stream->random, stream->period);
    return true;
}

static void check_unbiased(uint64_t period, const uint64_t *sizes, size_t kinds, size_t chunks)
{
    assert_int_equal(pfa_sampler_set(period), 0);
    unsigned class = pfa_load_relaxed(&pfa_sampling.weight_class);
    stream_t stream = {0, 61, period};
    stream.countdown = (int64_t)pfa_sampler_distance(&stream.random, period);
    uint64_t seed = 62;
    double count = 0;
    double bytes = 0;
    double estimated_count = 0;
    double estimated_bytes = 0;
    double count_variance = 0;
    double bytes_variance = 0;
    for (size_t i = 0; i < chunks; i++) {
        uint64_t size = sizes[random_below(&seed, kinds)];
        double p = -expm1(-(double)size / (double)period);
        double spread = (1 - p) / p;
        count += 1;
        bytes += (double)size;
        count_variance += spread;
        bytes_variance += spread * (double)size * (double)size;
        if (is_hit(&stream, size)) {
            double weight = pfa_sampler_weight(class, size);
            estimated_count += weight;
            estimated_bytes += weight * (double)size;
        }
    }
    double count_error = (estimated_count - count) / sqrt(count_variance);
    double bytes_error = (estimated_bytes - bytes) / sqrt(bytes_variance);
    if (fabs(count_error) > SIGMAS || fabs(bytes_error) > SIGMAS) {
        fail_msg("period %lu: chunks off by %.1f sigma (%.2f%%), bytes by %.1f sigma (%.2f%%)", period, count_error,
                 100 * (estimated_count / count - 1), bytes_error, 100 * (estimated_bytes / bytes - 1));
    }
}

static void weights_make_estimates_unbiased(void **state)
{
    (void)state;
    static const uint64_t mixed[] = {1, 8, 16, 24, 48, 100, 256, 1000, 4096, 30000, 131072, 1000000};
    static const uint64_t tiny[] = {1, 2, 3, 8, 16};
    static const uint64_t one[] = {16};
    check_unbiased(512 * 1024, mixed, 12, 3000000);
    check_unbiased(4096, mixed, 12, 3000000);
    check_unbiased(64, tiny, 5, 6000000);
    check_unbiased(64, one, 1, 6000000);
    check_unbiased(2, tiny, 5, 3000000);
}

static void weights_stand_for_the_inverse_of_the_chance(void **state)
{
    (void)state;
    assert_int_equal(pfa_sampler_set(4096), 0);
    unsigned class = pfa_load_relaxed(&pfa_sampling.weight_class);
    for (uint64_t size = 1; size < 1 << 22; size += 1 + size / 7) {
        double expected = -1 / expm1(-(double)size / 4096.0);
        assert_true(fabs(pfa_sampler_weight(class, size) / expected - 1) < 1e-6);
        assert_true(pfa_sampler_weight(0, size) == 1.0);
    }
    assert_true(pfa_sampler_weight(class, 0) == 1.0);
    assert_true(pfa_sampler_weight(class, 1ull << 47) == 1.0);
}

/* --- modes and periods ------------------------------------------------------------------------------------------- */

static unsigned mode(void)
{
    return pfa_load_relaxed(&pfa_sampling.mode);
}

static void modes_follow_the_period(void **state)
{
    (void)state;
    uint32_t epoch = pfa_load_relaxed(&pfa_sampling.epoch);
    assert_int_equal(pfa_sampler_set(0), 0);
    assert_int_equal(mode(), PFA_MODE_OFF);
    assert_int_equal(pfa_sampler_set(1), 0);
    assert_int_equal(mode(), PFA_MODE_FULL);
    assert_int_equal(pfa_load_relaxed(&pfa_sampling.weight_class), 0);
    assert_int_equal(pfa_sampler_set(4096), 0);
    assert_int_equal(mode(), PFA_MODE_SAMPLED);
    assert_true(pfa_sampler_period(pfa_load_relaxed(&pfa_sampling.weight_class)) == 4096);
    /* Each change is seen, also one to the same. */
    assert_int_equal(pfa_sampler_set(4096), 0);
    assert_int_equal(pfa_load_relaxed(&pfa_sampling.epoch), epoch + 4);
}

static void a_class_belongs_to_its_period_for_ever(void **state)
{
    (void)state;
    assert_int_equal(pfa_sampler_set(4096), 0);
    unsigned class = pfa_load_relaxed(&pfa_sampling.weight_class);
    assert_int_equal(pfa_sampler_set(8192), 0);
    assert_true(pfa_load_relaxed(&pfa_sampling.weight_class) != class);
    assert_int_equal(pfa_sampler_set(0), 0);
    assert_int_equal(pfa_sampler_set(4096), 0);
    assert_int_equal(pfa_load_relaxed(&pfa_sampling.weight_class), class);
    assert_true(pfa_sampler_period(class) == 4096);
    assert_true(pfa_sampler_period(0) == 1);
    assert_true(pfa_sampler_period(PFA_WEIGHT_CLASSES) == 1 && pfa_sampler_period(UINT32_MAX) == 1);
}

static void use_up_the_periods(void)
{
    for (uint64_t i = 1; i < PFA_WEIGHT_CLASSES; i++) {
        must(pfa_sampler_set(i << 20) == 0);
        must(pfa_load_relaxed(&pfa_sampling.weight_class) == i);
    }
    must(pfa_sampler_set((10ull << 20) + 1000) == ENOSPC);
    must(pfa_load_relaxed(&pfa_sampling.weight_class) == 10);
    must(mode() == PFA_MODE_SAMPLED);
    must(pfa_sampler_set((11ull << 20) - 1000) == ENOSPC);
    must(pfa_load_relaxed(&pfa_sampling.weight_class) == 11);
    must(pfa_sampler_set(1ull << 40) == ENOSPC);
    must(pfa_load_relaxed(&pfa_sampling.weight_class) == 63);
    must(pfa_sampler_set(2) == ENOSPC); /* nearest is every chunk */
    must(mode() == PFA_MODE_FULL && pfa_load_relaxed(&pfa_sampling.weight_class) == 0);
    for (uint64_t i = 1; i < PFA_WEIGHT_CLASSES; i++) {
        must(pfa_sampler_period((unsigned)i) == i << 20);
        must(pfa_sampler_set(i << 20) == 0); /* known ones stay free of charge */
    }
    const _Atomic uint64_t *used = NULL;
    must(pfa_sampler_periods(&used) == PFA_WEIGHT_CLASSES - 1);
    for (uint64_t i = 1; i < PFA_WEIGHT_CLASSES; i++) {
        must(pfa_load_relaxed(&used[i - 1]) == i << 20);
    }
    must(pfa_sampler_set(1) == 0 && mode() == PFA_MODE_FULL);
    must(pfa_sampler_set(0) == 0 && mode() == PFA_MODE_OFF);
}

static void a_period_too_many_takes_the_nearest(void **state)
{
    (void)state;
    in_child(use_up_the_periods);
}

int main(void)
{
    /* First, while no period was used yet: the others each use a few. */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_period_too_many_takes_the_nearest),
        cmocka_unit_test(distances_are_exponential),
        cmocka_unit_test(distances_have_the_periods_mean),
        cmocka_unit_test(neighbouring_distances_are_uncorrelated),
        cmocka_unit_test(a_seed_gives_one_stream_and_moves_on),
        cmocka_unit_test(weights_make_estimates_unbiased),
        cmocka_unit_test(weights_stand_for_the_inverse_of_the_chance),
        cmocka_unit_test(modes_follow_the_period),
        cmocka_unit_test(a_class_belongs_to_its_period_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
