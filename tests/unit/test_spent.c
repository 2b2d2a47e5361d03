/* The estimate of the time in allocation routines: from made samples of calls whose times are known, and from nonsense. */
/* sources: analyze/points/spent.c */
#include "analyze/points/spent.h"
#include "tests/checked.h"
#include "tests/unit/unit.h"

#include <math.h>

static void note(pfa_trace_timed_t *timed, double ticks)
{
    timed->measured++;
    timed->ticks += (uint64_t)(int64_t)(ticks * PFA_TIMES_PART);
    timed->squares += (uint64_t)(ticks * ticks);
}

static double random_time(uint64_t *seed, double mean)
{
    return mean * (0.5 + (double)random_below(seed, 1000) / 1000);
}

/* Calls of a program, each known, and one in PFA_TIMES_MEAN of them measured. */
static pfa_trace_times_t make_times(uint64_t *seed, uint64_t calls, double *truth, double *own_truth)
{
    pfa_trace_times_t times = {.calls = calls};
    *truth = *own_truth = 0;
    for (uint64_t i = 0; i < calls; i++) {
        unsigned kind = random_below(seed, 3) == 0 ? PFA_TIMES_FREES : PFA_TIMES_ALLOCATIONS;
        double own = random_time(seed, 20);
        double whole = own + random_time(seed, kind == PFA_TIMES_FREES ? 30 : 60);
        *truth += whole;
        *own_truth += own;
        if (random_below(seed, PFA_TIMES_MEAN) == 0) {
            bool measures_own = random_below(seed, 2) == 0;
            note(measures_own ? &times.own[kind] : &times.whole[kind], measures_own ? own : whole);
        }
    }
    return times;
}

/* As often as it says: within 1.96 standard errors 95 times in 100, and not much more often, or it would tell nothing. */
static void the_truth_is_within_the_error(void **state)
{
    (void)state;
    enum { ROUNDS = 400 };
    uint64_t seed = 97;
    int within = 0;
    int own_within = 0;
    for (int i = 0; i < ROUNDS; i++) {
        double truth;
        double own_truth;
        pfa_spent_t spent = {.files = 0};
        pfa_trace_times_t times = make_times(&seed, 40000, &truth, &own_truth);
        assert_true(pfa_spent_add(&spent, &times, 2, 1));
        within += fabs(spent.seconds - truth * 2e-9) <= PFA_SPENT_SURE * pfa_spent_error(&spent);
        own_within += fabs(spent.own - own_truth * 2e-9) <= PFA_SPENT_SURE * pfa_spent_own_error(&spent);
        assert_true(fabs(spent.allocations + spent.frees - spent.seconds) < 1e-12);
    }
    assert_in_range(within, ROUNDS * 91 / 100, ROUNDS * 985 / 1000);
    assert_in_range(own_within, ROUNDS * 91 / 100, ROUNDS * 985 / 1000);
}

static pfa_trace_times_t equal_times(uint64_t calls, uint64_t count, double ticks)
{
    pfa_trace_times_t times = {.calls = calls};
    for (uint64_t i = 0; i < count; i++) {
        note(&times.whole[i % 2], ticks);
        note(&times.own[i % 2], ticks / 2);
    }
    return times;
}

static void equal_calls_have_no_error(void **state)
{
    (void)state;
    pfa_spent_t spent = {.files = 0};
    pfa_trace_times_t times = equal_times(1000000, 100, 50);
    times.waited = 7000;
    assert_true(pfa_spent_add(&spent, &times, 10, 3));
    assert_true(fabs(spent.seconds - (50e6 + 7000) * 10e-9) < 1e-9);
    assert_true(fabs(spent.waited - 7000 * 10e-9) < 1e-12);
    assert_true(fabs(spent.own - 25e6 * 10e-9) < 1e-9);
    assert_true(fabs(spent.allocations - 25e6 * 10e-9) < 1e-9);
    assert_true(pfa_spent_error(&spent) < 1e-9 && pfa_spent_own_error(&spent) < 1e-9);
}

static void traces_add_up(void **state)
{
    (void)state;
    uint64_t seed = 5;
    double truth;
    double own_truth;
    pfa_spent_t one = {.files = 0};
    pfa_spent_t two = {.files = 0};
    pfa_trace_times_t times = make_times(&seed, 20000, &truth, &own_truth);
    pfa_trace_times_t none = {.calls = 0};
    assert_true(pfa_spent_add(&one, &times, 1, 2));
    assert_true(pfa_spent_add(&two, &times, 1, 2));
    assert_false(pfa_spent_add(&two, &none, 1, 2));
    assert_true(pfa_spent_add(&two, &times, 1, 2));
    assert_true(two.files == 2 && two.calls == 2 * one.calls && two.measured == 2 * one.measured);
    assert_true(fabs(two.seconds - 2 * one.seconds) < 1e-12 && fabs(two.recorded - 4) < 1e-12);
    assert_true(fabs(pfa_spent_error(&two) - sqrt(2) * pfa_spent_error(&one)) < 1e-12);
}

static void too_few_say_nothing(void **state)
{
    (void)state;
    pfa_spent_t spent = {.files = 0};
    pfa_trace_times_t times = equal_times(100000, PFA_SPENT_LEAST - 1, 50);
    assert_false(pfa_spent_add(&spent, &times, 1, 1));
    times = equal_times(100000, PFA_SPENT_LEAST, 50);
    assert_true(pfa_spent_add(&spent, &times, 1, 1));
    times.calls = PFA_SPENT_LEAST; /* fewer than were measured */
    assert_false(pfa_spent_add(&spent, &times, 1, 1));
    assert_true(spent.files == 1);
}

/* The cost of readings that is taken off may be more than very short calls took. */
static void a_negative_sum_is_none(void **state)
{
    (void)state;
    pfa_spent_t spent = {.files = 0};
    pfa_trace_times_t times = equal_times(100000, 100, -3);
    assert_true(pfa_spent_add(&spent, &times, 1, 1));
    assert_true(spent.seconds <= 0 && spent.seconds >= 0 && spent.own >= 0 && spent.frees >= 0);
}

static void any_numbers_give_numbers(void **state)
{
    (void)state;
    uint64_t seed = 11;
    for (int i = 0; i < 20000; i++) {
        pfa_spent_t spent = {.files = 0};
        pfa_trace_times_t times;
        uint64_t *words = (uint64_t *)&times;
        for (size_t j = 0; j < sizeof times / sizeof *words; j++) {
            words[j] = random_below(&seed, UINT64_MAX) >> random_below(&seed, 64);
        }
        (void)pfa_spent_add(&spent, &times, 1, 1);
        assert_true(isfinite(spent.seconds) && isfinite(pfa_spent_error(&spent)) && spent.seconds >= 0);
        assert_true(isfinite(spent.own) && isfinite(pfa_spent_own_error(&spent)) && spent.allocations >= 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_truth_is_within_the_error),
        cmocka_unit_test(equal_calls_have_no_error),
        cmocka_unit_test(traces_add_up),
        cmocka_unit_test(too_few_say_nothing),
        cmocka_unit_test(a_negative_sum_is_none),
        cmocka_unit_test(any_numbers_give_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
