/* Texts that are cleaned for a terminal: what it would obey, as UTF-8 and not, and what stays. */
/* sources: analyze/base/text.c */
#include "analyze/base/text.h"
#include "tests/unit/unit.h"

typedef struct cleaned {
    const char *from;
    const char *to;
} cleaned_t;

static const cleaned_t cases[] = {
    {"", ""},
    {"plain ~", "plain ~"},
    {"\x1b[31m\a\t\n\x7f", " [31m    "},
    /* C1 as UTF-8, and what is next to it. */
    {"\xc2\x80\xc2\x9b\xc2\x9f", "      "},
    {"\xc2\xa0\xc3\x9b\xe2\x82\xac\xf0\x9f\x98\x80", "\xc2\xa0\xc3\x9b\xe2\x82\xac\xf0\x9f\x98\x80"},
    /* C1 as bytes. Above them are letters, where UTF-8 is not read. */
    {"\x80\x9b\x9f\xa0\xff", "???\xa0\xff"},
    /* What turns the direction of writing. */
    {"\xe2\x80\x8f\xe2\x80\xae\xe2\x81\xa6\xef\xbb\xbf", "            "},
    {"\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa", "\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa"},
    /* Too long, halves of pairs, beyond the last. */
    {"\xc0\x9b\xe0\x82\x9b\xf0\x80\x82\x9b", "\xc0?\xe0??\xf0???"},
    {"\xc1\xbf\xe0\x9f\xbf\xf0\x8f\xbf\xbf", "\xc1\xbf\xe0?\xbf\xf0?\xbf\xbf"},
    {"\xed\x9f\xbf\xed\xa0\x80\xee\x80\x80", "\xed\x9f\xbf\xed\xa0?\xee\x80\x80"},
    {"\xf4\x8f\xbf\xbf\xf4\x90\x80\x80\xf8\x88\x80\x80\x80", "\xf4\x8f\xbf\xbf\xf4???\xf8????"},
    /* Cut off: by another character, and by the end. */
    {"\xe2\x80 \xc2 \xf0\x9f\x98", "\xe2? \xc2 \xf0??"},
    {"\xc2\xc2\x9b\xe2\xc2\x9b", "\xc2  \xe2  "},
};

/* In memory of its own, which a sanitizer knows the end of. */
static void check(void clean(char *text, size_t size), const char *from, const char *to, size_t size)
{
    char *text = malloc(size + 1);
    assert_non_null(text);
    memcpy(text, from, size);
    text = realloc(text, size != 0 ? size : 1);
    assert_non_null(text);
    clean(text, size);
    assert_memory_equal(text, to, size);
    free(text);
}

static void test_clean(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(strlen(cases[i].from), strlen(cases[i].to));
        check(pfa_text_clean, cases[i].from, cases[i].to, strlen(cases[i].from));
    }
}

/* Arguments have zeros between them. */
static void test_zeros(void **unused)
{
    (void)unused;
    check(pfa_text_clean, "a\0\xc2\0\x9b\0", "a\0\xc2\0?\0", 6);
}

static void test_lines(void **unused)
{
    (void)unused;
    check(pfa_text_clean_lines, "a\nb\r\n\xc2\x85\x9b\n", "a\nb \n  ?\n", 9);
}

/* Nothing is left to be cleaned, whatever two bytes are next to each other, and behind what. */
static void test_again(void **unused)
{
    static const char *const before[] = {"", "\xc2", "\xe2", "\xe2\x80", "\xf0\x9f", "\xf0\x9f\x98"};
    (void)unused;
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        for (unsigned pair = 0; pair < 0x10000; pair++) {
            char text[8];
            char again[8];
            size_t size = strlen(before[i]);
            memcpy(text, before[i], size);
            text[size++] = (char)(pair >> 8);
            text[size++] = (char)pair;
            pfa_text_clean(text, size);
            memcpy(again, text, size);
            pfa_text_clean(again, size);
            assert_memory_equal(text, again, size);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_clean), cmocka_unit_test(test_zeros),
                                       cmocka_unit_test(test_lines), cmocka_unit_test(test_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
