/* The wrapped functions that print into memory: noted is what was stored, and the format; the text is libc's, errno too. */
#define _GNU_SOURCE 1
#include "tests/unit/accesses.h"

#include <stdarg.h>
#include <wchar.h>

int __sprintf_chk(char *to, int flag, size_t room, const char *format, ...);
int __snprintf_chk(char *to, size_t size, int flag, size_t room, const char *format, ...);
int __vsprintf_chk(char *to, int flag, size_t room, const char *format, va_list list);
int __vsnprintf_chk(char *to, size_t size, int flag, size_t room, const char *format, va_list list);

/* Every function in one shape: those that take no size are given one that is enough. */
typedef int printer_t(char *to, size_t size, const char *format, ...);

#define LISTED(name, call)                                                                                             \
    static int call_##name(char *to, size_t size, const char *format, ...)                                             \
    {                                                                                                                  \
        va_list list;                                                                                                  \
        (void)size;                                                                                                    \
        va_start(list, format);                                                                                        \
        int result = call;                                                                                             \
        va_end(list);                                                                                                  \
        return result;                                                                                                 \
    }
LISTED(vsprintf, vsprintf(to, format, list))
LISTED(vsprintf_chk, __vsprintf_chk(to, 0, ROOM, format, list))
LISTED(vsnprintf, vsnprintf(to, size, format, list))
LISTED(vsnprintf_chk, __vsnprintf_chk(to, size, 0, ROOM, format, list))

/* Of arguments: a number and a text of more than the registers hold, and a fraction, which travels in other ones. */
#define ARGUMENTS 1, 2, 3, 4, 5, 6, "seven", 8.5
#define FORMAT "%d%d%d%d%d%d%s%.1f"
#define TEXT "123456seven8.5"

#define VARIADIC(name, ...)                                                                                            \
    static int call_##name(char *to, size_t size, const char *format, ...)                                             \
    {                                                                                                                  \
        (void)size;                                                                                                    \
        return name(to, __VA_ARGS__, format, ARGUMENTS);                                                               \
    }
VARIADIC(__sprintf_chk, 0, ROOM)
VARIADIC(__snprintf_chk, size, 0, ROOM)
VARIADIC(snprintf, size)

static int call_sprintf(char *to, size_t size, const char *format, ...)
{
    (void)size;
    return sprintf(to, format, ARGUMENTS);
}

static const struct {
    printer_t *call;
    bool limited;
} printers[] = {{call_sprintf, false}, {call___sprintf_chk, false}, {call_vsprintf, false}, {call_vsprintf_chk, false},
                {call_snprintf, true}, {call___snprintf_chk, true}, {call_vsnprintf, true}, {call_vsnprintf_chk, true}};
#define EACH(table) (size_t i = 0; i < sizeof table / sizeof table[0]; i++)

static void whole_texts(void **state)
{
    (void)state;
    put(256, FORMAT);
    for
        EACH(printers)
        {
            memset(range + 8, '#', 32);
            watch();
            assert_int_equal(printers[i].call(range + 9, 100, FORMAT, ARGUMENTS), 14);
            expect(W(9, 15));
            expect_errno_kept();
            expect_not_waited();
            assert_memory_equal(range + 8, "#" TEXT "\0#", 17);
            watch();
            assert_int_equal(printers[i].call(outside, 100, FORMAT, ARGUMENTS), 14);
            expect_nothing();
            assert_string_equal(outside, TEXT);
            watch();
            assert_int_equal(printers[i].call(outside, 100, range + 256, ARGUMENTS), 14);
            expect(R(256, sizeof FORMAT));
            watch();
            assert_int_equal(printers[i].call(range + 9, 15, range + 256, ARGUMENTS), 14);
            expect(R(256, sizeof FORMAT), W(9, 15));
            watch();
            assert_int_equal(printers[i].call(range + 9, 1, "", ARGUMENTS), 0);
            expect(W(9, 1));
        }
}

static void cut_texts(void **state)
{
    (void)state;
    for
        EACH(printers)
        {
            if (!printers[i].limited) {
                continue;
            }
            memset(range + 8, '#', 32);
            watch();
            assert_int_equal(printers[i].call(range + 9, 14, FORMAT, ARGUMENTS), 14);
            expect(W(9, 14));
            assert_memory_equal(range + 8, "#123456seven8.\0#", 16);
            watch();
            assert_int_equal(printers[i].call(range + 9, 1, FORMAT, ARGUMENTS), 14);
            expect(W(9, 1));
            watch();
            assert_int_equal(printers[i].call(range + 9, 0, FORMAT, ARGUMENTS), 14);
            assert_int_equal(printers[i].call(NULL, 0, FORMAT, ARGUMENTS), 14);
            expect_nothing();
        }
}

/* A wide character that the locale cannot write ends it. */
static void failures(void **state)
{
    (void)state;
    static const wchar_t text[] = {0x20ac, 0};
    watch();
    assert_int_equal(snprintf(range + 8, 100, "%ls", text), -1);
    assert_int_equal(errno, EILSEQ);
    assert_int_equal(sprintf(range + 8, "%ls", text), -1);
    expect_nothing();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_texts),
        cmocka_unit_test(cut_texts),
        cmocka_unit_test(failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
