/* The wrapped functions on memory of known length: what each notes, and that it does what libc's does. */
#define _GNU_SOURCE 1
#include "tests/unit/accesses.h"

#include <strings.h>
#include <sys/mman.h>
#include <wchar.h>

void *__memcpy_chk(void *to, const void *from, size_t size, size_t room);
void *__memmove_chk(void *to, const void *from, size_t size, size_t room);
void *__mempcpy_chk(void *to, const void *from, size_t size, size_t room);
void *__memset_chk(void *to, int byte, size_t size, size_t room);
wchar_t *__wmemcpy_chk(wchar_t *to, const wchar_t *from, size_t count, size_t room);
wchar_t *__wmemmove_chk(wchar_t *to, const wchar_t *from, size_t count, size_t room);
wchar_t *__wmemset_chk(wchar_t *to, wchar_t value, size_t count, size_t room);
void __explicit_bzero_chk(void *to, size_t size, size_t room);
void *__tsan_memcpy(void *to, const void *from, size_t size);
void *__tsan_memmove(void *to, const void *from, size_t size);
void *__tsan_memset(void *to, int byte, size_t size);

/* Every copying function in one shape: returns how far behind `to` its result is. */
typedef size_t copier_t(char *to, const char *from, size_t size);

#define COPIER(name, call)                                                                                             \
    static size_t call_##name(char *to, const char *from, size_t size)                                                 \
    {                                                                                                                  \
        return (size_t)((char *)(call)-to);                                                                            \
    }
COPIER(memcpy, memcpy(to, from, size))
COPIER(memmove, memmove(to, from, size))
COPIER(mempcpy, mempcpy(to, from, size))
COPIER(memcpy_chk, __memcpy_chk(to, from, size, SIZE_MAX))
COPIER(memmove_chk, __memmove_chk(to, from, size, SIZE_MAX))
COPIER(mempcpy_chk, __mempcpy_chk(to, from, size, SIZE_MAX))
COPIER(tsan_memcpy, __tsan_memcpy(to, from, size))
COPIER(tsan_memmove, __tsan_memmove(to, from, size))
COPIER(bcopy, (bcopy(from, to, size), to))

static const struct {
    copier_t *call;
    bool overlaps; /* may */
    bool to_end;   /* returns the end */
} copiers[] = {
    {call_memcpy, false, false},      {call_memmove, true, false},      {call_mempcpy, false, true},
    {call_memcpy_chk, false, false},  {call_memmove_chk, true, false},  {call_mempcpy_chk, false, true},
    {call_tsan_memcpy, false, false}, {call_tsan_memmove, true, false}, {call_bcopy, true, false},
};
#define EACH(table) (size_t i = 0; i < sizeof table / sizeof table[0]; i++)

static void copies(void **state)
{
    (void)state;
    for
        EACH(copiers)
        {
            put(100, "twelve bytes");
            range[512] = range[525] = '#';
            watch();
            size_t behind = copiers[i].call(range + 513, range + 100, 12);
            expect(R(100, 12), W(513, 12));
            expect_errno_kept();
            expect_not_waited();
            assert_int_equal(behind, copiers[i].to_end ? 12 : 0);
            assert_memory_equal(range + 512, "#twelve bytes#", 14);

            watch();
            copiers[i].call(outside, range + 100, 12);
            expect(R(100, 12));
            assert_memory_equal(outside, "twelve bytes", 12);
            watch();
            copiers[i].call(range + 600, outside, 1);
            expect(W(600, 1));
            watch();
            copiers[i].call(outside + 50, outside, 12);
            expect_nothing();
            assert_memory_equal(outside + 50, "twelve bytes", 12);
            watch();
            assert_int_equal(copiers[i].call(range + 513, range + 100, 0), 0);
            expect_nothing();
        }
}

static void overlapping_copies(void **state)
{
    (void)state;
    for
        EACH(copiers)
        {
            if (copiers[i].overlaps) {
                put(100, "abcdefgh");
                watch();
                copiers[i].call(range + 102, range + 100, 6);
                expect(R(100, 6), W(102, 6));
                assert_string_equal(range + 100, "ababcdef");
                watch();
                copiers[i].call(range + 100, range + 102, 6);
                expect(R(102, 6), W(100, 6));
                assert_string_equal(range + 100, "abcdefef");
            }
        }
}

typedef void *setter_t(void *to, int byte, size_t size);

static void *call_memset_chk(void *to, int byte, size_t size)
{
    return __memset_chk(to, byte, size, SIZE_MAX);
}

static void *call_bzero(void *to, int byte, size_t size)
{
    (void)byte;
    bzero(to, size);
    return to;
}

static void *call_explicit_bzero(void *to, int byte, size_t size)
{
    (void)byte;
    explicit_bzero(to, size);
    return to;
}

static void *call_explicit_bzero_chk(void *to, int byte, size_t size)
{
    (void)byte;
    __explicit_bzero_chk(to, size, SIZE_MAX);
    return to;
}

static void fillings(void **state)
{
    (void)state;
    static const struct {
        setter_t *call;
        int byte;
    } setters[] = {{memset, 'x'},   {call_memset_chk, 'x'},   {__tsan_memset, 'x'},
                   {call_bzero, 0}, {call_explicit_bzero, 0}, {call_explicit_bzero_chk, 0}};
    for
        EACH(setters)
        {
            put(40, "0123456789");
            watch();
            assert_ptr_equal(setters[i].call(range + 42, setters[i].byte, 3), range + 42);
            expect(W(42, 3));
            const char wanted[] = {'1', (char)setters[i].byte, (char)setters[i].byte, (char)setters[i].byte, '5'};
            assert_memory_equal(range + 41, wanted, 5);
            watch();
            setters[i].call(range + 42, 1, 0);
            setters[i].call(outside, 1, 3);
            expect_nothing();
            assert_memory_equal(outside, wanted + 1, setters[i].byte == 0 ? 3 : 0);
        }
}

static void wide_characters(void **state)
{
    (void)state;
    wchar_t *from = (wchar_t *)(void *)(range + 64);
    wchar_t *to = (wchar_t *)(void *)(range + 256);
    watch();
    assert_ptr_equal(wmemset(from, L'w', 5), from);
    expect(W(64, 20));
    watch();
    assert_ptr_equal(wmemcpy(to, from, 5), to);
    expect(R(64, 20), W(256, 20));
    assert_memory_equal(to, from, 20);
    watch();
    assert_ptr_equal(wmemmove(to + 1, to, 4), to + 1);
    expect(R(256, 16), W(260, 16));
    watch();
    assert_ptr_equal(__wmemset_chk(from, L'v', 5, 5), from);
    expect(W(64, 20));
    watch();
    assert_ptr_equal(__wmemcpy_chk(to, from, 5, 5), to);
    expect(R(64, 20), W(256, 20));
    assert_memory_equal(to, from, 20);
    watch();
    assert_ptr_equal(__wmemmove_chk(to + 1, to, 4, SIZE_MAX), to + 1);
    expect(R(256, 16), W(260, 16));
    expect_errno_kept();
}

static int sign(int value)
{
    return (value > 0) - (value < 0);
}

typedef int comparer_t(const void *a, const void *b, size_t size);

/* Up to the first difference, wherever it is: long ones are compared by words. */
static void comparisons(void **state)
{
    (void)state;
    comparer_t *comparers[] = {memcmp, bcmp};
    for
        EACH(comparers)
        {
            for (size_t size = 1; size < 40; size++) {
                for (size_t difference = 0; difference <= size; difference++) {
                    memset(range, 'a', 2 * ROOM / 4);
                    range[101 + difference] = 'b'; /* behind the end it makes none */
                    watch();
                    int result = comparers[i](range + 101, range + 1000, size);
                    size_t seen = difference < size ? difference + 1 : size;
                    expect(R(101, seen), R(1000, seen));
                    assert_int_equal(i == 0 ? sign(result) : result != 0, difference < size);
                }
            }
            watch();
            assert_int_equal(comparers[i](range, range + 1, 0), 0);
            expect_nothing();
            memcpy(outside, "aaaz", 4);
            put(8, "aaab");
            watch();
            assert_true(comparers[i](outside, range + 8, 4) != 0);
            expect(R(8, 4));
            watch();
            assert_true(comparers[i](outside, "abc", 3) != 0);
            expect_nothing();
        }
    put(8, "aaab");
    put(16, "aaac");
    assert_true(memcmp(range + 8, range + 16, 4) < 0 && memcmp(range + 16, range + 8, 4) > 0);
}

/* Behind a range there may be nothing that can be read. */
static void comparisons_end_with_the_page(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    memset(range + 64, 0, 64);
    for (size_t size = 1; size < 20; size++) {
        range[64 + size - 1] = 'x';
        watch();
        assert_true(memcmp(pages + page - size, range + 64, size) < 0);
        expect(R(64, size));
        range[64 + size - 1] = 0;
    }
    munmap(pages, 2 * page);
}

static void searches(void **state)
{
    (void)state;
    put(32, "find the needle in it");
    watch();
    assert_ptr_equal(memchr(range + 32, 'n', 21), range + 34);
    expect(R(32, 3));
    watch();
    assert_null(memchr(range + 32, 'X', 21));
    expect(R(32, 21));
    watch();
    assert_null(memchr(range + 32, 'n', 2));
    expect(R(32, 2));
    watch();
    assert_null(memchr(range + 32, 'f', 0));
    expect_nothing();
    watch();
    assert_ptr_equal(memrchr(range + 32, 'n', 21), range + 32 + 17);
    expect(R(32 + 17, 4));
    watch();
    assert_null(memrchr(range + 32, 'X', 21));
    expect(R(32, 21));
    watch();
    assert_ptr_equal(rawmemchr(range + 32, 't'), range + 37);
    expect(R(32, 6));
    strcpy(outside, "outside");
    watch();
    assert_ptr_equal(memchr(outside, 't', 7), outside + 2);
    assert_ptr_equal(memrchr(outside, 't', 7), outside + 2);
    assert_ptr_equal(rawmemchr(outside, 't'), outside + 2);
    expect_nothing();
}

static void searches_for_ranges(void **state)
{
    (void)state;
    put(32, "find the needle in it");
    put(128, "needle");
    watch();
    assert_ptr_equal(memmem(range + 32, 21, range + 128, 6), range + 41);
    expect(R(32, 15), R(128, 6));
    watch();
    assert_null(memmem(range + 32, 12, range + 128, 6));
    expect(R(32, 12), R(128, 6));
    watch();
    assert_null(memmem(range + 128, 6, range + 32, 7));
    assert_ptr_equal(memmem(range + 32, 21, range + 128, 0), range + 32);
    expect_nothing();
    watch();
    assert_ptr_equal(memmem(range + 32, 21, "the", 3), range + 37);
    expect(R(32, 8));
    watch();
    assert_non_null(memmem("a needle", 8, range + 128, 6));
    expect(R(128, 6));
    expect_errno_kept();
    expect_not_waited();
}

static void copies_up_to_a_byte(void **state)
{
    (void)state;
    put(100, "twelve bytes");
    range[512] = range[519] = '#';
    watch();
    assert_ptr_equal(memccpy(range + 513, range + 100, 'e', 12), range + 516);
    expect(R(100, 3), W(513, 3));
    expect_errno_kept();
    expect_not_waited();
    assert_memory_equal(range + 512, "#twe", 4);
    watch();
    assert_null(memccpy(range + 513, range + 100, 'X', 6));
    expect(R(100, 6), W(513, 6));
    assert_memory_equal(range + 512, "#twelve#", 8);
    watch();
    assert_ptr_equal(memccpy(outside, range + 100, 't', 1), outside + 1);
    expect(R(100, 1));
    watch();
    assert_null(memccpy(range + 513, outside, 'X', 1));
    expect(W(513, 1));
    watch();
    assert_null(memccpy(range + 513, range + 100, 't', 0));
    assert_ptr_equal(memccpy(outside + 1, outside, 't', 2), outside + 2);
    expect_nothing();
}

static void wide_comparisons_and_searches(void **state)
{
    (void)state;
    wchar_t *a = (wchar_t *)(range + 64);
    wchar_t *b = (wchar_t *)(range + 256);
    wcscpy(a, L"wide");
    wcscpy(b, L"wise");
    watch();
    assert_true(wmemcmp(a, b, 4) < 0);
    expect(R(64, 12), R(256, 12));
    watch();
    assert_int_equal(wmemcmp(a, b, 2), 0);
    expect(R(64, 8), R(256, 8));
    watch();
    assert_true(wmemcmp(L"x", a, 4) > 0);
    expect(R(64, 4));
    watch();
    assert_ptr_equal(wmemchr(a, L'd', 4), a + 2);
    expect(R(64, 12));
    watch();
    assert_null(wmemchr(a, L'd', 2));
    expect(R(64, 8));
    watch();
    assert_int_equal(wmemcmp(a, b, 0), 0);
    assert_null(wmemchr(a, L'd', 0));
    assert_int_equal(wmemcmp(L"outside", L"outside", 7), 0);
    assert_non_null(wmemchr(L"outside", L'e', 7));
    expect_nothing();
    expect_errno_kept();
    expect_not_waited();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies),
        cmocka_unit_test(overlapping_copies),
        cmocka_unit_test(fillings),
        cmocka_unit_test(wide_characters),
        cmocka_unit_test(comparisons),
        cmocka_unit_test(searches),
        cmocka_unit_test(searches_for_ranges),
        cmocka_unit_test(comparisons_end_with_the_page),
        cmocka_unit_test(copies_up_to_a_byte),
        cmocka_unit_test(wide_comparisons_and_searches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
