/* The times on records: exact where calls are apart, early by little where they come thick and fast, never backwards. */
#include "base/clock.h"
#include "meta/clock.h"
#include "tests/unit/unit.h"

/* A thread for which times may be skipped: everything it allocates is recorded, into its region heap. */
static pfa_tls_t thread_that_may_skip(void)
{
    static char heap;
    pfa_tls_t tls;
    memset(&tls, 0, sizeof tls);
    tls.clock_may_skip = 1;
    tls.measure_left = INT32_MAX / 2; /* no call is to be measured */
    tls.region_heap = &heap;
    return tls;
}

static void times_never_repeat_or_go_back(void **state)
{
    (void)state;
    pfa_tls_t tls = thread_that_may_skip();
    uint64_t seed = 151;
    uint64_t last = 0;
    for (int i = 0; i < 2000000; i++) {
        uint64_t now = pfa_clock_now(&tls);
        if (now <= last) {
            fail_msg("call %d: %lu after %lu", i, now, last);
        }
        last = now;
        if (random_below(&seed, 20000) == 0) {
            usleep(50); /* ends a run */
        }
        if (random_below(&seed, 5000) == 0) {
            pfa_clock_stop_skipping(&tls);
        }
    }
}

static void wait_a_moment(void)
{
    for (uint64_t begin = pfa_counter(); pfa_counter() - begin <= 2 * pfa_counter_moment();) {
    }
}

static void a_time_is_exact_when_calls_are_apart(void **state)
{
    (void)state;
    pfa_tls_t tls = thread_that_may_skip();
    for (int i = 0; i < 20000; i++) {
        wait_a_moment();
        uint64_t before = pfa_counter();
        uint64_t now = pfa_clock_now(&tls);
        uint64_t after = pfa_counter();
        assert_true(before <= now && now <= after);
    }
}

/* In a run the counter is read once in so many calls: what is given out lies between that reading and the present. */
static void a_time_in_a_run_is_not_late(void **state)
{
    (void)state;
    pfa_tls_t tls = thread_that_may_skip();
    uint64_t begin = pfa_counter();
    unsigned exact = 0;
    tls.clock = begin; /* it begins in a run: on a busy machine none may come about */
    tls.clock_dense = PFA_CLOCK_DENSE;
    tls.clock_skips = PFA_CLOCK_SKIPS;
    for (int i = 0; i < 200000; i++) {
        uint64_t before = pfa_counter();
        uint64_t now = pfa_clock_now(&tls);
        uint64_t after = pfa_counter();
        assert_true(now >= begin && now <= after);
        exact += now >= before;
    }
    assert_true(exact >= 200000 / (PFA_CLOCK_SKIPS + 1)); /* it keeps looking */
    assert_true(exact < 200000);                          /* and does skip, or else this tests nothing */
}

/* By readings that are given: a tick apart, and at last a second. */
static void calls_thick_and_fast_make_a_run(void **state)
{
    (void)state;
    pfa_tls_t tls = thread_that_may_skip();
    uint64_t now = (uint64_t)1 << 40;
    for (int i = 0; i <= PFA_CLOCK_DENSE; i++) {
        assert_false(pfa_clock_is_skipping(&tls));
        now++;
        assert_true(pfa_clock_take(&tls, now) == now && tls.clock_skips == 0);
    }
    assert_true(pfa_clock_is_skipping(&tls));
    now++;
    assert_true(pfa_clock_take(&tls, now) == now && tls.clock_skips == PFA_CLOCK_SKIPS);
    now += (uint64_t)1 << 32;
    assert_true(pfa_clock_take(&tls, now) == now && tls.clock_skips == 0);
    assert_false(pfa_clock_is_skipping(&tls));
}

static void the_first_calls_of_a_run_are_exact(void **state)
{
    (void)state;
    pfa_tls_t tls = thread_that_may_skip();
    for (int i = 0; i < PFA_CLOCK_DENSE; i++) {
        uint64_t before = pfa_counter();
        uint64_t now = pfa_clock_now(&tls);
        assert_true(now >= before && now <= pfa_counter());
    }
}

static void stopping_makes_the_next_exact(void **state)
{
    (void)state;
    pfa_tls_t tls = thread_that_may_skip();
    for (int round = 0; round < 1000; round++) {
        for (int i = 0; i < 100 + 4 * PFA_CLOCK_DENSE * (round == 0); i++) {
            (void)pfa_clock_now(&tls);
        }
        pfa_clock_stop_skipping(&tls);
        uint64_t before = pfa_counter();
        uint64_t now = pfa_clock_now(&tls);
        assert_true(now >= before && now <= pfa_counter());
    }
}

/* The pause that ends a run may be missed by the calls up to the next reading, not by more. */
static void a_run_ends_within_its_skips(void **state)
{
    (void)state;
    pfa_tls_t tls = thread_that_may_skip();
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 3 * PFA_CLOCK_DENSE; i++) {
            (void)pfa_clock_now(&tls);
        }
        usleep(1000);
        uint64_t woken = pfa_counter();
        unsigned early = 0;
        while (pfa_clock_now(&tls) < woken) {
            early++;
        }
        assert_true(early <= PFA_CLOCK_SKIPS);
    }
}

/* Where the counter ticks slower than calls come, times run ahead of it for a while. */
static void a_time_ahead_of_the_counter_is_waited_for(void **state)
{
    (void)state;
    pfa_tls_t tls = thread_that_may_skip();
    uint64_t ahead = pfa_counter() + ((uint64_t)1 << 40);
    tls.clock = ahead;
    for (uint64_t i = 1; i <= 3 * PFA_CLOCK_DENSE; i++) {
        assert_true(pfa_clock_now(&tls) == ahead + i);
    }
}

/* Any other thread gets exact times: that they are skipped is what malloc's short way goes by. */
static void nobody_else_skips(void **state)
{
    (void)state;
    for (int lacking = 0; lacking < 2; lacking++) {
        pfa_tls_t tls = thread_that_may_skip();
        if (lacking == 0) {
            tls.clock_may_skip = 0;
        } else {
            tls.region_heap = NULL;
        }
        for (int i = 0; i < 5 * PFA_CLOCK_DENSE; i++) {
            uint64_t before = pfa_counter();
            uint64_t now = pfa_clock_now(&tls);
            assert_true(now >= before && tls.clock_skips <= 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_never_repeat_or_go_back),
        cmocka_unit_test(a_time_is_exact_when_calls_are_apart),
        cmocka_unit_test(a_time_in_a_run_is_not_late),
        cmocka_unit_test(calls_thick_and_fast_make_a_run),
        cmocka_unit_test(the_first_calls_of_a_run_are_exact),
        cmocka_unit_test(stopping_makes_the_next_exact),
        cmocka_unit_test(a_run_ends_within_its_skips),
        cmocka_unit_test(nobody_else_skips),
        cmocka_unit_test(a_time_ahead_of_the_counter_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
