/* Counters of accesses: whatever is counted, one by one or many at once, in close intervals or wide ones, is what they say; and
 * intervals end, so that the time is asked for, at every one of the first counts and then before much of them has gone by. */
#include "export/format/live.h"
#include "hooks/access/view.h"

#include "tests/unit/unit.h"

static bool is_asked(uint32_t before, uint32_t after)
{
    return ((before ^ after) & (uint32_t)PFA_ACCESS_SELDOM) != 0;
}

static void all_counts_are_told(void **state)
{
    static const uint32_t ways[] = {0, PFA_ACCESS_CLOSE};
    uint64_t random = 3;
    (void)state;
    assert_int_equal(pfa_access_count(PFA_ACCESS_NONE), 0);
    assert_int_equal(pfa_access_counter(0, 0), PFA_ACCESS_NONE);
    assert_int_equal(pfa_access_count(0), 0); /* of a record that nobody reads */
    for (size_t i = 0; i < 2; i++) {
        for (uint32_t count = 0; count < 100000; count++) {
            assert_int_equal(pfa_access_count(pfa_access_counter(count, ways[i])), count);
        }
        for (int j = 0; j < 100000; j++) {
            uint32_t count = (uint32_t)random_below(&random, PFA_ACCESS_FULL);
            assert_int_equal(pfa_access_count(pfa_access_counter(count, ways[i])), count);
        }
        assert_int_equal(pfa_access_count(pfa_access_counter(PFA_ACCESS_FULL, ways[i])), INT32_MAX);
        assert_int_equal(pfa_access_count(pfa_access_counter(INT32_MAX, ways[i])), INT32_MAX);
        assert_int_equal(pfa_access_counter(INT32_MAX, ways[i]) & PFA_ACCESS_CLOSE, ways[i]);
    }
}

/* As the callbacks do: the counter plus one, and where an interval ends, the next one. */
static void count_up(uint32_t close, uint32_t part)
{
    uint32_t counter = pfa_access_counter(0, close);
    uint32_t asked = 0;
    for (uint32_t count = 1; count < 200000; count++) {
        uint32_t sum = counter + 1;
        if (is_asked(counter, sum)) {
            asked = count;
            sum = pfa_access_counter(count, close);
        }
        counter = sum;
        assert_int_equal(pfa_access_count(counter), count);
        assert_true(asked == count || count - asked <= count / part);
        assert_true(count - asked < PFA_ACCESS_TICKS);
        assert_true(count >= 2 * part || asked == count);
    }
}

static void the_time_is_asked_for(void **state)
{
    (void)state;
    count_up(PFA_ACCESS_CLOSE, 1u << PFA_ACCESS_CLOSE_BITS);
    count_up(0, 1u << PFA_ACCESS_WIDE_BITS);
}

/* Many at once: it is asked for whenever an interval ends on the way. */
static void many_at_once_are_told(void **state)
{
    uint64_t random = 9;
    (void)state;
    for (int i = 0; i < 200000; i++) {
        uint32_t close = random_below(&random, 2) == 0 ? 0 : PFA_ACCESS_CLOSE;
        uint32_t count = (uint32_t)random_below(&random, 1 + random_below(&random, 100000));
        uint32_t more = 1 + (uint32_t)random_below(&random, 1 + random_below(&random, 3000));
        uint32_t before = pfa_access_counter(count, close);
        uint32_t after = pfa_access_counter(count + more, close);
        assert_int_equal(is_asked(before, before + more), is_asked(before, after));
        assert_true(is_asked(before, before + more) || pfa_access_count(before + more) == count + more);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_counts_are_told),
        cmocka_unit_test(the_time_is_asked_for),
        cmocka_unit_test(many_at_once_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
