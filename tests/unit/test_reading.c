/* Estimates of the time of a chunk's last access from the last readings of the clock for it: right where accesses are even, within
 * bounds where they are not, and none of what is not known. */
#include "meta/reading.h"

#include "tests/unit/unit.h"

static const char records[2];

/* After a first access at 1000, one that takes `gap` each, read at the 100th and the `read`th. */
static pfa_reading_t even(uint64_t gap, uint32_t read)
{
    pfa_reading_t reading;
    pfa_reading_begin(&reading, &records[0], 1000, 1, false);
    pfa_reading_note(&reading, &records[0], 1000 + 99 * gap, 100);
    pfa_reading_note(&reading, &records[0], 1000 + (read - 1) * gap, read);
    return reading;
}

static void even_accesses_are_told_exactly(void **state)
{
    (void)state;
    for (uint64_t gap = 1; gap < 5000; gap += 7) {
        for (uint32_t read = 108; read < 125; read++) {
            pfa_reading_t reading = even(gap, read);
            for (uint32_t total = read; total < read + 10; total++) {
                uint64_t last = 1000 + (total - 1) * gap;
                assert_int_equal(pfa_reading_last(&reading, 1000, reading.clock, UINT64_MAX, total), last);
                assert_int_equal(pfa_reading_last(&reading, 1000, last + 5, UINT64_MAX, total), last + 5);
                assert_int_equal(pfa_reading_last(&reading, 1000, reading.clock, reading.clock + 1, total),
                                 total == read ? last : reading.clock + 1);
            }
        }
    }
}

/* Accesses become slower: as fast as the last step, not as all of them. */
static void the_last_step_tells(void **state)
{
    (void)state;
    pfa_reading_t reading;
    pfa_reading_begin(&reading, &records[0], 0, 1, false);
    pfa_reading_note(&reading, &records[0], 990, 100);
    pfa_reading_note(&reading, &records[0], 990 + 10 * 30, 110);
    assert_int_equal(pfa_reading_last(&reading, 0, 1290, 5000, 114), 1290 + 4 * 30);
}

/* A step that took far longer than others had a pause, which says nothing of the next accesses. */
static void a_pause_is_no_measure(void **state)
{
    (void)state;
    pfa_reading_t reading;
    pfa_reading_begin(&reading, &records[0], 0, 1, false);
    pfa_reading_note(&reading, &records[0], 990, 100);
    pfa_reading_note(&reading, &records[0], 9900, 110);
    assert_int_equal(pfa_reading_last(&reading, 0, 9900, 50000, 114), 9900 + 4 * 9900 / 110);
    /* Nor has a short step with a pause of a fifth of the time: its accesses are 5 times as far apart as all of them. */
    pfa_reading_begin(&reading, &records[0], 0, 1, false);
    pfa_reading_note(&reading, &records[0], 10000, 1000);
    pfa_reading_note(&reading, &records[0], 12080, 1040);
    assert_int_equal(pfa_reading_last(&reading, 0, 12080, 50000, 1060), 12080 + 20 * 12080 / 1040);
    reading.took = 1800; /* 45 instead of 52 each, where all of them have 11.6 */
    assert_int_equal(pfa_reading_last(&reading, 0, 12080, 50000, 1060), 12080 + 20 * 45);
}

/* Two readings one after the other take longer than the accesses do. */
static void short_steps_are_no_measure(void **state)
{
    (void)state;
    pfa_reading_t reading = even(10, 110);
    uint64_t clock = reading.clock;
    for (uint32_t i = 1; i <= 2; i++) {
        pfa_reading_note(&reading, &records[0], clock + i * 40, 110 + i);
    }
    assert_int_equal(pfa_reading_last(&reading, 1000, clock + 80, UINT64_MAX, 116), clock + 80 + 4 * 10);
    /* Several of them are one that counts. */
    pfa_reading_note(&reading, &records[0], clock + 120, 113);
    assert_int_equal(pfa_reading_last(&reading, 1000, clock + 120, UINT64_MAX, 116), clock + 120 + 3 * 40);
}

static void nothing_is_told_of_what_is_not_known(void **state)
{
    (void)state;
    pfa_reading_t reading = even(10, 110);
    uint64_t clock = reading.clock;
    assert_int_equal(pfa_reading_last(&reading, clock + 1, clock + 3, UINT64_MAX, 114), clock + 3); /* another life's */
    assert_int_equal(pfa_reading_last(&reading, 1000, clock, UINT64_MAX, 109), clock);
    assert_int_equal(pfa_reading_last(&reading, 1000, clock, UINT64_MAX, 110 + 27), clock + 270);
    assert_int_equal(pfa_reading_last(&reading, 1000, clock, UINT64_MAX, 110 + 28), clock); /* too many */
    /* One access, or the place was another chunk's meanwhile: then all accesses since the first are the measure. */
    pfa_reading_begin(&reading, &records[0], 50, 1, true);
    assert_true(reading.watched);
    assert_int_equal(pfa_reading_last(&reading, 50, 50, UINT64_MAX, 1), 50);
    pfa_reading_note(&reading, &records[1], 500, 46);
    assert_false(reading.watched);
    assert_true(reading.record == &records[1]);
    assert_int_equal(pfa_reading_last(&reading, 40, 500, UINT64_MAX, 50), 500 + 4 * 10);
    /* So long that it cannot be calculated. */
    assert_int_equal(pfa_reading_last(&reading, 500 - ((uint64_t)1 << 41), 500, UINT64_MAX, 50), 500);
}

/* Whatever a handler left there, the time is between what is known and the death. */
static void what_is_torn_stays_within_bounds(void **state)
{
    uint64_t random = 7;
    (void)state;
    for (int i = 0; i < 200000; i++) {
        uint32_t bits = 1 + (uint32_t)random_below(&random, 40);
        uint64_t below = (uint64_t)1 << bits;
        pfa_reading_t reading = {.clock = random_below(&random, below),
                                 .took = random_below(&random, below),
                                 .step = (uint32_t)random_below(&random, 4),
                                 .total = (uint32_t)random_below(&random, 40)};
        uint64_t first = random_below(&random, below);
        uint64_t last = first + random_below(&random, below);
        uint64_t death = last + random_below(&random, below);
        uint64_t told = pfa_reading_last(&reading, first, last, death, (uint32_t)random_below(&random, 50));
        assert_true(told >= last && told <= death);
    }
}

/* Records of a size class, of a page, a segment, a thread: at whatever distance they lie, few of them share an entry. */
static void entries_are_spread(void **state)
{
    static pfa_reading_t readings[PFA_READINGS];
    (void)state;
    for (unsigned shift = 6; shift < 44; shift++) {
        for (uintptr_t distance = (uintptr_t)1 << shift; distance < (uintptr_t)2 << shift; distance += distance >> 2) {
            unsigned shared = 0;
            memset(readings, 0, sizeof readings);
            for (uintptr_t i = 0; i < 256; i++) {
                const void *record = (const char *)0x700000000000 + i * (distance - distance % 64);
                pfa_reading_t *reading = pfa_reading_of(readings, record);
                shared += reading->record != NULL;
                pfa_reading_begin(reading, record, 0, 0, false);
            }
            assert_in_range(shared, 0, 64);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(even_accesses_are_told_exactly),
        cmocka_unit_test(the_last_step_tells),
        cmocka_unit_test(a_pause_is_no_measure),
        cmocka_unit_test(short_steps_are_no_measure),
        cmocka_unit_test(nothing_is_told_of_what_is_not_known),
        cmocka_unit_test(what_is_torn_stays_within_bounds),
        cmocka_unit_test(entries_are_spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
