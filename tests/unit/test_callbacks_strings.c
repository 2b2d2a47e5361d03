/* The wrapped functions on strings: what each notes, and that it does what libc's does. */
#define _GNU_SOURCE 1
#include "tests/unit/accesses.h"

#include <strings.h>
#include <wchar.h>

char *__strcpy_chk(char *to, const char *from, size_t room);
char *__stpcpy_chk(char *to, const char *from, size_t room);
char *__strncpy_chk(char *to, const char *from, size_t size, size_t room);
char *__stpncpy_chk(char *to, const char *from, size_t size, size_t room);
char *__strcat_chk(char *to, const char *from, size_t room);
char *__strncat_chk(char *to, const char *from, size_t size, size_t room);
wchar_t *__wcscpy_chk(wchar_t *to, const wchar_t *from, size_t room);
char *__strdup(const char *from);
char *__strndup(const char *from, size_t limit);

#define EACH(table) (size_t i = 0; i < sizeof table / sizeof table[0]; i++)

static int sign(int value)
{
    return (value > 0) - (value < 0);
}

static void lengths(void **state)
{
    (void)state;
    put(10, "four");
    watch();
    assert_int_equal(strlen(range + 10), 4);
    expect(R(10, 5));
    watch();
    assert_int_equal(strlen(range + 14), 0);
    expect(R(14, 1));
    watch();
    assert_int_equal(strnlen(range + 10, 100), 4);
    assert_int_equal(strnlen(range + 10, 5), 4);
    assert_int_equal(strnlen(range + 10, 4), 4); /* the terminator is not looked at */
    assert_int_equal(strnlen(range + 10, 2), 2);
    expect(R(10, 5), R(10, 5), R(10, 4), R(10, 2));
    watch();
    assert_int_equal(strnlen(range + 10, 0), 0);
    assert_int_equal(strlen("outside"), 7);
    assert_int_equal(strnlen("outside", 3), 3);
    expect_nothing();
    wchar_t *wide = (wchar_t *)(void *)(range + 64);
    wmemcpy(wide, L"wide", 5);
    watch();
    assert_int_equal(wcslen(wide), 4);
    expect(R(64, 20));
    expect_errno_kept();
    expect_not_waited();
}

/* Texts, and what of them has to be seen to compare them: with case, without, and by at most three bytes. */
static void comparisons(void **state)
{
    (void)state;
    static const struct {
        const char *left, *right;
        size_t seen, seen_in_case;
    } cases[] = {{"same", "same", 5, 5}, {"sane", "same", 3, 3}, {"same", "sames", 5, 5}, {"", "", 1, 1},
                 {"", "x", 1, 1},        {"SAme", "saME", 1, 5}, {"SAMf", "same", 1, 4},  {"\xe4", "\x64", 1, 1}};
    for
        EACH(cases)
        {
            const char *left = put(10, cases[i].left);
            const char *right = put(50, cases[i].right);
            size_t seen = cases[i].seen;
            size_t in_case = cases[i].seen_in_case;
            size_t most = seen < 3 ? seen : 3;
            size_t most_in_case = in_case < 3 ? in_case : 3;
            watch();
            int result = strcmp(left, right);
            expect(R(10, seen), R(50, seen));
            assert_int_equal(sign(result), sign((unsigned char)left[seen - 1] - (unsigned char)right[seen - 1]));
            watch();
            assert_int_equal(sign(strcmp(right, left)), -sign(result));
            expect(R(50, seen), R(10, seen));
            watch();
            result = strncmp(left, right, 3);
            expect(R(10, most), R(50, most));
            assert_int_equal(sign(result), sign((unsigned char)left[most - 1] - (unsigned char)right[most - 1]));
            watch();
            result = strcasecmp(left, right);
            expect(R(10, in_case), R(50, in_case));
            assert_int_equal(result == 0, left[in_case - 1] == '\0' && right[in_case - 1] == '\0');
            watch();
            result = strncasecmp(left, right, 3);
            expect(R(10, most_in_case), R(50, most_in_case));
            assert_int_equal(result == 0, in_case > 3 || left[in_case - 1] == right[in_case - 1]);
            watch();
            assert_int_equal(strncmp(left, right, 0) + strncasecmp(left, right, 0), 0);
            expect_nothing();
        }
    put(10, "one");
    watch();
    assert_true(strcmp("outside", "other") != 0 && strncmp("outside", "oh", 2) != 0 &&
                strcasecmp("OUTSIDE", "outside") == 0 && strncasecmp("OUT", "outside", 3) == 0);
    expect_nothing();
    watch();
    assert_true(strcmp("one", range + 10) == 0 && strncmp(range + 10, "only", 9) < 0);
    expect(R(10, 4), R(10, 3));
}

static void searches_for_bytes(void **state)
{
    (void)state;
    char *text = put(10, "banana");
    watch();
    assert_ptr_equal(strchr(text, 'n'), text + 2);
    assert_ptr_equal(index(text, 'n'), text + 2);
    assert_ptr_equal(strchrnul(text, 'n'), text + 2);
    expect(R(10, 3), R(10, 3), R(10, 3));
    watch();
    assert_null(strchr(text, 'x'));
    assert_ptr_equal(strchr(text, '\0'), text + 6);
    assert_null(index(text, 'x'));
    assert_ptr_equal(strchrnul(text, 'x'), text + 6);
    expect(R(10, 7), R(10, 7), R(10, 7), R(10, 7));
    watch();
    assert_ptr_equal(strrchr(text, 'n'), text + 4);
    assert_ptr_equal(rindex(text, 'n'), text + 4);
    assert_null(strrchr(text, 'x'));
    expect(R(10, 7), R(10, 7), R(10, 7));
    const char *other = "outside";
    watch();
    assert_true(strchr(other, 't') == other + 2 && index(other, 't') == other + 2 &&
                strchrnul(other, 'x') == other + 7 && strrchr(other, 't') == other + 2 && rindex(other, 'x') == NULL);
    expect_nothing();
}

static void searches_for_texts(void **state)
{
    (void)state;
    char *text = put(10, "a banana");
    put(40, "nan");
    put(50, "xyz");
    watch();
    assert_ptr_equal(strstr(text, range + 40), text + 4);
    expect(R(10, 7), R(40, 4));
    watch();
    assert_null(strstr(text, range + 50));
    expect(R(10, 9), R(50, 4));
    watch();
    assert_ptr_equal(strstr(text, range + 43), text); /* "" is everywhere */
    expect(R(43, 1));
    watch();
    assert_ptr_equal(strpbrk(text, range + 40), text);
    assert_null(strpbrk(text, range + 50));
    expect(R(10, 1), R(40, 4), R(10, 9), R(50, 4));
    watch();
    assert_int_equal(strspn(text, "a b"), 4);
    assert_int_equal(strcspn(text, range + 40), 0);
    assert_int_equal(strcspn(text, range + 50), 8);
    expect(R(10, 5), R(10, 1), R(40, 4), R(10, 9), R(50, 4));
    watch();
    assert_true(strstr("outside", "side") != NULL && strpbrk("outside", "xyz") == NULL &&
                strspn("outside", "ou") == 2 && strcspn("outside", "i") == 4);
    expect_nothing();
}

#define CHK2(name)                                                                                                     \
    static char *call_##name(char *to, const char *from)                                                               \
    {                                                                                                                  \
        return __##name##_chk(to, from, SIZE_MAX);                                                                     \
    }
#define CHK3(name)                                                                                                     \
    static char *call_##name(char *to, const char *from, size_t size)                                                  \
    {                                                                                                                  \
        return __##name##_chk(to, from, size, SIZE_MAX);                                                               \
    }
CHK2(strcpy)
CHK2(stpcpy)
CHK2(strcat)
CHK3(strncpy)
CHK3(stpncpy)
CHK3(strncat)

static void copies(void **state)
{
    (void)state;
    static const struct {
        char *(*call)(char *, const char *);
        size_t behind;
    } copiers[] = {{strcpy, 0}, {stpcpy, 5}, {call_strcpy, 0}, {call_stpcpy, 5}};
    for
        EACH(copiers)
        {
            put(10, "hello");
            memset(range + 50, '#', 10);
            watch();
            assert_ptr_equal(copiers[i].call(range + 51, range + 10), range + 51 + copiers[i].behind);
            expect(R(10, 6), W(51, 6));
            assert_memory_equal(range + 50, "#hello\0#", 8);
            watch();
            copiers[i].call(outside, range + 10);
            copiers[i].call(range + 51, "");
            copiers[i].call(outside, "");
            expect(R(10, 6), W(51, 1));
        }
    wchar_t *wide = (wchar_t *)(void *)(range + 64);
    watch();
    assert_ptr_equal(wcscpy(wide, L"wide"), wide);
    expect(W(64, 20));
    assert_int_equal(wcscmp(wide, L"wide"), 0);
    watch();
    assert_ptr_equal(__wcscpy_chk(wide + 10, wide, 5), wide + 10);
    expect(R(64, 20), W(104, 20));
    assert_int_equal(wcscmp(wide + 10, L"wide"), 0);
}

static void copies_of_fixed_size(void **state)
{
    (void)state;
    static const struct {
        char *(*call)(char *, const char *, size_t);
        bool to_end;
    } copiers[] = {{strncpy, false}, {stpncpy, true}, {call_strncpy, false}, {call_stpncpy, true}};
    for
        EACH(copiers)
        {
            put(10, "hello");
            memset(range + 50, '#', 12);
            watch();
            assert_ptr_equal(copiers[i].call(range + 51, range + 10, 8), range + 51 + (copiers[i].to_end ? 5 : 0));
            expect(R(10, 6), W(51, 8));
            assert_memory_equal(range + 50, "#hello\0\0\0#", 10);
            memset(range + 50, '#', 12);
            watch();
            assert_ptr_equal(copiers[i].call(range + 51, range + 10, 5), range + 51 + (copiers[i].to_end ? 5 : 0));
            expect(R(10, 5), W(51, 5)); /* no terminator */
            assert_memory_equal(range + 50, "#hello#", 7);
            watch();
            copiers[i].call(range + 51, range + 10, 0);
            copiers[i].call(outside, "outside", 3);
            expect_nothing();
        }
}

static void appending(void **state)
{
    (void)state;
    char *(*all[])(char *, const char *) = {strcat, call_strcat};
    for
        EACH(all)
        {
            put(10, "lo");
            put(50, "hel");
            watch();
            assert_ptr_equal(all[i](range + 50, range + 10), range + 50);
            expect(R(50, 4), R(10, 3), W(53, 3));
            assert_string_equal(range + 50, "hello");
            outside[0] = '\0';
            watch();
            all[i](outside, range + 10);
            expect(R(10, 3));
            watch();
            all[i](outside, "");
            expect_nothing();
        }
    char *(*some[])(char *, const char *, size_t) = {strncat, call_strncat};
    for
        EACH(some)
        {
            put(10, "lower");
            put(50, "hel");
            watch();
            assert_ptr_equal(some[i](range + 50, range + 10, 2), range + 50);
            expect(R(50, 4), R(10, 2), W(53, 3));
            assert_string_equal(range + 50, "hello");
            watch();
            some[i](range + 50, range + 10, 100);
            expect(R(50, 6), R(10, 6), W(55, 6));
            watch();
            some[i](range + 50, range + 10, 0);
            expect(R(50, 11), W(60, 1));
            watch();
            some[i](outside, "", 3);
            expect_nothing();
        }
}

/* The copy is wherever malloc has it: outside, here, unless the range is all there is. */
static void new_strings(void **state)
{
    (void)state;
    put(10, "hello");
    char *(*all[])(const char *) = {strdup, __strdup};
    char *(*some[])(const char *, size_t) = {strndup, __strndup};
    for
        EACH(all)
        {
            watch();
            char *copy = all[i](range + 10);
            expect(R(10, 6));
            assert_string_equal(copy, "hello");
            free(copy);
            watch();
            copy = some[i](range + 10, 3);
            expect(R(10, 3));
            assert_string_equal(copy, "hel");
            free(copy);
            watch();
            free(some[i](range + 10, 100));
            free(all[i]("outside"));
            free(some[i]("outside", 2));
            expect(R(10, 6));
        }
    for
        EACH(all)
        {
            pfa_access_view.span = UINT64_MAX;
            watch();
            char *copy = all[i](range + 10);
            char *part = some[i](range + 10, 3);
            watching = false;
            pfa_access_view.span = ROOM;
            expect(R(10, 6), W((size_t)(copy - range), 6), R(10, 3), W((size_t)(part - range), 4));
            free(copy);
            free(part);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths),
        cmocka_unit_test(comparisons),
        cmocka_unit_test(searches_for_bytes),
        cmocka_unit_test(searches_for_texts),
        cmocka_unit_test(copies),
        cmocka_unit_test(copies_of_fixed_size),
        cmocka_unit_test(appending),
        cmocka_unit_test(new_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
