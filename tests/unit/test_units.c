/* Numbers with units: what they are worth, and what is none. */
/* sources: analyze/base/units.c analyze/base/memory.c analyze/base/text.c */
#include "analyze/base/units.h"
#include "tests/unit/unit.h"

#include <float.h>
#include <math.h>

typedef struct right {
    pfa_units_t units;
    const char *text;
    const char *plain;
    double value;
} right_t;

static const right_t rights[] = {
    {PFA_UNITS_NONE, "0", NULL, 0},
    {PFA_UNITS_NONE, "007", NULL, 7},
    {PFA_UNITS_NONE, "1.5", NULL, 1.5},
    {PFA_UNITS_NONE, ".5", NULL, .5},
    {PFA_UNITS_NONE, "5.", NULL, 5},
    {PFA_UNITS_NONE, "1e3", NULL, 1000},
    {PFA_UNITS_NONE, "2.5E-1", NULL, .25},
    {PFA_UNITS_NONE, "1e+2", NULL, 100},
    {PFA_UNITS_NONE, "1e-999", NULL, 0},
    {PFA_UNITS_BYTES, "4096", NULL, 4096},
    {PFA_UNITS_BYTES, "4K", NULL, 4096},
    {PFA_UNITS_BYTES, "4k", NULL, 4096},
    {PFA_UNITS_BYTES, "4KB", NULL, 4096},
    {PFA_UNITS_BYTES, "4kib", NULL, 4096},
    {PFA_UNITS_BYTES, "12B", NULL, 12},
    {PFA_UNITS_BYTES, "1.5M", NULL, 1.5 * 1024 * 1024},
    {PFA_UNITS_BYTES, "1G", NULL, 1024. * 1024 * 1024},
    {PFA_UNITS_BYTES, "1TiB", NULL, 1024. * 1024 * 1024 * 1024},
    {PFA_UNITS_BYTES, "3", "K", 3072},
    {PFA_UNITS_TIME, "5ns", NULL, 5},
    {PFA_UNITS_TIME, "5us", NULL, 5e3},
    {PFA_UNITS_TIME, "5\u00b5s", NULL, 5e3},
    {PFA_UNITS_TIME, "5\u03bcs", NULL, 5e3},
    {PFA_UNITS_TIME, "5ms", NULL, 5e6},
    {PFA_UNITS_TIME, "0.5s", NULL, 5e8},
    {PFA_UNITS_TIME, "5m", NULL, 300e9},
    {PFA_UNITS_TIME, "5min", NULL, 300e9},
    {PFA_UNITS_TIME, "2h", NULL, 7200e9},
    {PFA_UNITS_TIME, "50", NULL, 50},
    {PFA_UNITS_TIME, "1.5", "s", 1.5e9},
    {PFA_UNITS_TIME, "1.5ns", "s", 1.5},
    {PFA_UNITS_COUNT, "100", NULL, 100},
    {PFA_UNITS_COUNT, "1K", NULL, 1000},
    {PFA_UNITS_COUNT, "4m", NULL, 4e6},
    {PFA_UNITS_COUNT, "1G", NULL, 1e9},
    {PFA_UNITS_SHARE, "0.5", NULL, .5},
    {PFA_UNITS_SHARE, "50%", NULL, .5},
    {PFA_UNITS_SHARE, "50", "%", .5},
    {PFA_UNITS_SHARE, "50%", "%", .5},
    {PFA_UNITS_SHARE, "0.5", "%", .005},
    {PFA_UNITS_SHARE, "7%", NULL, .07},
};

static void test_right(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof rights / sizeof rights[0]; i++) {
        const right_t *right = &rights[i];
        double value = -1;
        assert_true(pfa_units_read(right->units, right->text, right->plain, 0, HUGE_VAL, &value));
        assert_true(value == right->value); /* to the last bit */
    }
}

/* All of a type whatever they are of. */
static const char *const wrongs[] = {"",       " ",      "x",        "-1",   "+1",    " 1",   "1 ",  "1 K",     "nan",
                                     "NaN",    "inf",    "infinity", "0x10", "0x",    "1e",   "1e+", ".",       "..",
                                     ".e3",    "1..2",   "1.2.3",    "1,5",  "1_000", "K",    "%",   "1%%",     "1Ki",
                                     "1KK",    "1KBs",   "1Q",       "1n",   "1 ns",  "1Ns",  "1MS", "1\u00b5", "1e999",
                                     "1e308T", "1e308h", "1x",       "1-",   "--1",   "1e5.5"};

static void test_wrong(void **unused)
{
    static const pfa_units_t all[] = {PFA_UNITS_NONE, PFA_UNITS_BYTES, PFA_UNITS_TIME, PFA_UNITS_COUNT,
                                      PFA_UNITS_SHARE};
    (void)unused;
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        for (size_t j = 0; j < sizeof all / sizeof all[0]; j++) {
            double value = 42;
            assert_false(pfa_units_read(all[j], wrongs[i], NULL, 0, HUGE_VAL, &value));
            assert_true(value >= 42 && value <= 42);
        }
    }
}

/* A unit of one kind is none of another. */
static void test_kinds(void **unused)
{
    double value;
    (void)unused;
    assert_false(pfa_units_read(PFA_UNITS_NONE, "1K", NULL, 0, HUGE_VAL, &value));
    assert_false(pfa_units_read(PFA_UNITS_NONE, "1%", NULL, 0, HUGE_VAL, &value));
    assert_false(pfa_units_read(PFA_UNITS_BYTES, "1ms", NULL, 0, HUGE_VAL, &value));
    assert_false(pfa_units_read(PFA_UNITS_BYTES, "1%", NULL, 0, HUGE_VAL, &value));
    assert_false(pfa_units_read(PFA_UNITS_TIME, "1K", NULL, 0, HUGE_VAL, &value));
    assert_false(pfa_units_read(PFA_UNITS_TIME, "1M", NULL, 0, HUGE_VAL, &value)); /* minutes are m */
    assert_false(pfa_units_read(PFA_UNITS_COUNT, "1KB", NULL, 0, HUGE_VAL, &value));
    assert_false(pfa_units_read(PFA_UNITS_COUNT, "1T", NULL, 0, HUGE_VAL, &value));
    assert_false(pfa_units_read(PFA_UNITS_SHARE, "1K", NULL, 0, HUGE_VAL, &value));
    assert_null(pfa_units_find(PFA_UNITS_BYTES, "", 0));
    assert_null(pfa_units_find(PFA_UNITS_NONE, "K", 1));
    assert_non_null(pfa_units_find(PFA_UNITS_BYTES, "KBx", 2));
}

static void test_range(void **unused)
{
    double value = 42;
    (void)unused;
    assert_true(pfa_units_read(PFA_UNITS_SHARE, "100%", NULL, 0, 1, &value) && value >= 1 && value <= 1);
    assert_false(pfa_units_read(PFA_UNITS_SHARE, "101%", NULL, 0, 1, &value));
    assert_false(pfa_units_read(PFA_UNITS_SHARE, "1.01", NULL, 0, 1, &value));
    assert_false(pfa_units_read(PFA_UNITS_SHARE, "50", NULL, 0, 1, &value));
    assert_false(pfa_units_number("1", 2, 5, &value));
    assert_false(pfa_units_number("6", 2, 5, &value));
    assert_true(pfa_units_number("2", 2, 5, &value) && pfa_units_number("5", 2, 5, &value));
    assert_true(pfa_units_read(PFA_UNITS_NONE, "1.7976931348623157e308", NULL, 0, HUGE_VAL, &value) &&
                value >= DBL_MAX);
    assert_false(pfa_units_read(PFA_UNITS_NONE, "1.7976931348623159e308", NULL, 0, HUGE_VAL, &value));
}

static void test_whole(void **unused)
{
    double value = 42;
    (void)unused;
    assert_false(pfa_units_whole(PFA_UNITS_NONE, "1.5", 0, 100, &value));
    assert_false(pfa_units_whole(PFA_UNITS_COUNT, "1.0005K", 0, 1e9, &value));
    assert_false(pfa_units_whole(PFA_UNITS_COUNT, "2K", 0, 1000, &value));
    assert_true(value >= 42 && value <= 42);
    assert_true(pfa_units_whole(PFA_UNITS_BYTES, "1.5K", 0, 1e9, &value) && value >= 1536 && value <= 1536);
}

/* Where a number ends in a longer text, which need not end with a zero. */
static void test_digits(void **unused)
{
    static const struct {
        const char *text;
        size_t size;
        size_t length;
        double number;
    } cases[] = {{"4..8", 4, 1, 4}, {"4.5..8", 6, 3, 4.5}, {"4", 1, 1, 4},    {"45", 1, 1, 4},    {"4.5", 2, 2, 4},
                 {"1e5", 2, 1, 1},  {"1e55", 3, 3, 1e5},   {"1e+", 3, 1, 1},  {"2K)", 3, 1, 2},   {"", 0, 0, -1},
                 {"K", 1, 0, -1},   {".", 1, 0, -1},       {"..8", 3, 0, -1}, {"7. and", 6, 2, 7}};
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double number = -1;
        char *text = malloc(cases[i].size + 1);
        assert_non_null(text);
        memcpy(text, cases[i].text, cases[i].size);
        text = realloc(text, cases[i].size != 0 ? cases[i].size : 1);
        assert_non_null(text);
        assert_int_equal(pfa_units_digits(text, cases[i].size, &number), cases[i].length);
        assert_true(number == cases[i].number);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_right), cmocka_unit_test(test_wrong),
                                       cmocka_unit_test(test_kinds), cmocka_unit_test(test_range),
                                       cmocka_unit_test(test_whole), cmocka_unit_test(test_digits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
