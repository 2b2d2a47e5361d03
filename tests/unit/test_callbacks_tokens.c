/* The wrapped functions that cut texts: the text as far as it was looked at, the terminator where one was put, the pointer. */
#define _GNU_SOURCE 1
#include "tests/unit/accesses.h"

enum { TEXT = 64, SET = 256, PLACE = 512 };

static char **place_in_range(void)
{
    return (char **)(void *)(range + PLACE);
}

static void separated(void **state)
{
    (void)state;
    char *place = put(TEXT, "one,,two");
    put(SET, ";,");
    watch();
    assert_ptr_equal(strsep(&place, range + SET), range + TEXT);
    expect(R(TEXT, 4), R(SET, 3), W(TEXT + 3, 1));
    expect_errno_kept();
    expect_not_waited();
    assert_string_equal(range + TEXT, "one");
    watch();
    assert_string_equal(strsep(&place, ","), "");
    expect(R(TEXT + 4, 1), W(TEXT + 4, 1));
    watch();
    assert_string_equal(strsep(&place, ","), "two");
    expect(R(TEXT + 5, 4));
    assert_null(place);
    watch();
    assert_null(strsep(&place, range + SET));
    expect_nothing();
}

static void separated_by_a_pointer_in_range(void **state)
{
    (void)state;
    strcpy(outside, "a b");
    *place_in_range() = outside;
    watch();
    assert_string_equal(strsep(place_in_range(), " "), "a");
    expect(R(PLACE, sizeof(char *)), W(PLACE, sizeof(char *)));
    assert_ptr_equal(*place_in_range(), outside + 2);
    watch();
    assert_string_equal(strsep(place_in_range(), " "), "b");
    expect(R(PLACE, sizeof(char *)), W(PLACE, sizeof(char *)));
    watch();
    assert_null(strsep(place_in_range(), " "));
    expect(R(PLACE, sizeof(char *)));
    char *place = outside;
    watch();
    assert_string_equal(strsep(&place, " "), "a");
    expect_nothing();
}

static void tokens(void **state)
{
    (void)state;
    char *place = NULL;
    put(TEXT, "  one  two");
    put(SET, " ");
    watch();
    assert_ptr_equal(strtok_r(range + TEXT, range + SET, &place), range + TEXT + 2);
    expect(R(TEXT, 6), R(SET, 2), W(TEXT + 5, 1));
    expect_errno_kept();
    expect_not_waited();
    assert_string_equal(range + TEXT, "  one");
    watch();
    assert_string_equal(strtok_r(NULL, " ", &place), "two");
    expect(R(TEXT + 6, 5));
    watch();
    assert_null(strtok_r(NULL, " ", &place));
    expect(R(TEXT + 10, 1));
    put(TEXT, "   ");
    watch();
    assert_null(strtok_r(range + TEXT, " ", &place));
    expect(R(TEXT, 4));
}

static void tokens_by_a_pointer_in_range(void **state)
{
    (void)state;
    strcpy(outside, "a b");
    watch();
    assert_string_equal(strtok_r(outside, " ", place_in_range()), "a");
    expect(W(PLACE, sizeof(char *)));
    watch();
    assert_string_equal(strtok_r(NULL, " ", place_in_range()), "b");
    expect(R(PLACE, sizeof(char *)), W(PLACE, sizeof(char *)));
    char *place = NULL;
    strcpy(outside, "a b");
    watch();
    assert_string_equal(strtok_r(outside, " ", &place), "a");
    assert_string_equal(strtok_r(NULL, " ", &place), "b");
    assert_null(strtok_r(NULL, " ", &place));
    expect_nothing();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(separated),
        cmocka_unit_test(separated_by_a_pointer_in_range),
        cmocka_unit_test(tokens),
        cmocka_unit_test(tokens_by_a_pointer_in_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
