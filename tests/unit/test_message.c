/* The formatter against snprintf, and what reaches standard error. */
#define _GNU_SOURCE 1
#include "base/sys.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

enum { ROOM = 256 };

/* Formats with ours into `size` bytes of a buffer of guard bytes, and checks against what snprintf made in full. */
static void check_against(const char *expected, size_t size, const char *format, ...)
{
    char buf[ROOM];
    memset(buf, '#', sizeof buf);
    pfa_text_t text = {buf, size, 0};
    va_list args;
    va_start(args, format);
    pfa_text_vadd(&text, format, args);
    va_end(args);
    size_t kept = size == 0 ? 0 : strlen(expected) < size - 1 ? strlen(expected) : size - 1;
    if (text.used != kept || memcmp(buf, expected, kept) != 0 || (size > 0 && buf[kept] != '\0')) {
        fail_msg("format '%s' into %zu bytes: got '%.*s' (%zu), expected '%.*s'", format, size, (int)text.used, buf,
                 text.used, (int)kept, expected);
    }
    for (size_t i = size == 0 ? 0 : kept + 1; i < sizeof buf; i++) {
        assert_int_equal(buf[i], '#');
    }
}

/* The oracle's text, once in a roomy buffer and once in one of random size. The arguments are evaluated several times. */
#define CHECK(seed, format, ...)                                                                                       \
    do {                                                                                                               \
        char expected_[ROOM];                                                                                          \
        (void)snprintf(expected_, sizeof expected_, format, __VA_ARGS__);                                              \
        check_against(expected_, ROOM, format, __VA_ARGS__);                                                           \
        check_against(expected_, random_below(seed, strlen(expected_) + 3), format, __VA_ARGS__);                      \
    } while (0)

/* Values at the edges as often as in the middle. */
static uint64_t some_number(uint64_t *seed)
{
    uint64_t value = random_next(seed) >> random_below(seed, 64);
    return random_below(seed, 4) == 0 ? 0 - value : value;
}

static const char *some_width(uint64_t *seed, char *buf, const char *flags)
{
    size_t count = strlen(flags);
    int at = 0;
    if (random_below(seed, 2) != 0) {
        buf[at++] = flags[random_below(seed, count)];
    }
    if (random_below(seed, 3) != 0) {
        at += sprintf(buf + at, "%d", (int)(1 + random_below(seed, 30)));
    }
    buf[at] = '\0';
    return buf;
}

static void numbers_agree_with_snprintf(void **state)
{
    (void)state;
    uint64_t seed = 11;
    static const struct {
        const char *conversion;
        bool is_long;
    } kinds[] = {{"d", false}, {"i", false}, {"u", false}, {"x", false}, {"ld", true},
                 {"lu", true}, {"lx", true}, {"zu", true}, {"zx", true}};
    for (int i = 0; i < 200000; i++) {
        size_t kind = random_below(&seed, sizeof kinds / sizeof kinds[0]);
        char width[16];
        char format[64];
        (void)snprintf(format, sizeof format, "<%%%s%s>", some_width(&seed, width, "-0"), kinds[kind].conversion);
        uint64_t value = some_number(&seed);
        if (kinds[kind].is_long) {
            CHECK(&seed, format, (unsigned long)value);
        } else {
            CHECK(&seed, format, (unsigned)value);
        }
    }
}

static void numbers_at_their_limits(void **state)
{
    (void)state;
    uint64_t seed = 12;
    CHECK(&seed, "%d %d %d", INT32_MIN, INT32_MAX, 0);
    CHECK(&seed, "%ld %ld", INT64_MIN, INT64_MAX);
    CHECK(&seed, "%u %lu %x %lx", UINT32_MAX, UINT64_MAX, UINT32_MAX, UINT64_MAX);
    CHECK(&seed, "%*d|%-*d|%*lu", 9, -5, 9, -5, 25, UINT64_MAX);
    CHECK(&seed, "%*d|%*s", -9, 42, -9, "left"); /* a negative width is the flag - and a width */
}

static void strings_agree_with_snprintf(void **state)
{
    (void)state;
    uint64_t seed = 13;
    static const char alphabet[] = "The quick brown fox jumps over the lazy dog, 0123456789 times. %d %s";
    for (int i = 0; i < 50000; i++) {
        char word[64];
        size_t length = random_below(&seed, sizeof word);
        memcpy(word, alphabet + random_below(&seed, sizeof alphabet - length), length);
        word[length] = '\0';
        char width[16];
        char format[64];
        (void)snprintf(format, sizeof format, "[%%%ss]%%.*s]%%c%%%%", some_width(&seed, width, "-"));
        int precision = (int)random_below(&seed, 80) - 5;
        int character = (int)(' ' + random_below(&seed, 90));
        CHECK(&seed, format, word, precision, word, character);
    }
}

static void a_precision_never_reads_further(void **state)
{
    (void)state;
    uint64_t seed = 14;
    char unterminated[4] = {'a', 'b', 'c', 'd'};
    CHECK(&seed, "%.*s|", 4, unterminated);
    CHECK(&seed, "%.*s|", 0, (const char *)8);
}

static void pointers_are_hexadecimal(void **state)
{
    (void)state;
    uint64_t seed = 15;
    CHECK(&seed, "%p", (void *)0x7fff12345678);
    CHECK(&seed, "%p", (void *)UINTPTR_MAX);
    check_against("0x0", ROOM, "%p", NULL);
}

static void pieces_mix(void **state)
{
    (void)state;
    uint64_t seed = 16;
    for (int i = 0; i < 20000; i++) {
        unsigned long count = some_number(&seed);
        unsigned long bytes = some_number(&seed);
        CHECK(&seed, "%s: %-12s %14lu %16lu%% 0x%08lx thread %u%c", "key", "label", count, bytes, count ^ bytes,
              (unsigned)bytes, '!');
    }
    check_against("ends in a lone %", ROOM, "ends in a lone %%");
}

static void text_grows_until_it_is_full(void **state)
{
    (void)state;
    char buf[16];
    pfa_text_t text = {buf, 10, 0};
    pfa_text_add(&text, "%s", "abc");
    pfa_text_add(&text, "%d", 12345);
    assert_string_equal(buf, "abc12345");
    pfa_text_add(&text, "%s", "xyz");
    assert_string_equal(buf, "abc12345x");
    pfa_text_add(&text, "%s", "more");
    assert_string_equal(buf, "abc12345x");
    assert_int_equal(text.used, 9);
}

static void empty_text_is_terminated(void **state)
{
    (void)state;
    check_against("", ROOM, "%s", "");
    check_against("", 1, "%s", "cut to nothing");
    check_against("", 0, "%s", "no room at all");
}

/* --- lines on standard error ------------------------------------------------------------------------------------- */

static unsigned writes;

static int count_writes(pfa_sys_call_t call)
{
    writes += call == PFA_SYS_WRITE;
    return 0;
}

static void a_line_is_one_write(void **state)
{
    (void)state;
    capture_t capture;
    capture_begin(&capture);
    writes = 0;
    pfa_sys_fault = count_writes;
    errno = 4242;
    pfa_say("%lu chunks in %s", 7ul, "place");
    int after = errno;
    pfa_sys_fault = NULL;
    assert_string_equal(capture_end(&capture), "profalloc: 7 chunks in place\n");
    assert_int_equal(writes, 1);
    assert_int_equal(after, 4242);
}

static void a_long_line_is_cut_and_still_a_line(void **state)
{
    (void)state;
    static char word[3000];
    memset(word, 'w', sizeof word - 1);
    capture_t capture;
    capture_begin(&capture);
    pfa_say("%s", word);
    const char *text = capture_end(&capture);
    assert_int_equal(lines_in(text), 1);
    assert_true(capture.length <= 1024 && capture.length > 1000);
    assert_int_equal(text[capture.length - 1], '\n');
}

static int interrupt_first(pfa_sys_call_t call)
{
    return call == PFA_SYS_WRITE && writes++ == 0 ? EINTR : 0;
}

static void an_interrupted_write_is_repeated(void **state)
{
    (void)state;
    capture_t capture;
    capture_begin(&capture);
    writes = 0;
    pfa_sys_fault = interrupt_first;
    pfa_say("said once");
    pfa_sys_fault = NULL;
    assert_string_equal(capture_end(&capture), "profalloc: said once\n");
    assert_int_equal(writes, 2);
}

/* A program that closes descriptor 2 and opens a file of its own gets that number: our text must not end up in it. */
static void another_file_as_descriptor_2_is_left_alone(void **state)
{
    (void)state;
    capture_t capture;
    capture_begin(&capture);
    FILE *own = tmpfile();
    assert_non_null(own);
    int before = dup(STDERR_FILENO);
    assert_true(dup2(fileno(own), STDERR_FILENO) >= 0);
    pfa_say("not into the program's file");
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    pfa_say("into standard error");
    close(before);
    assert_string_equal(capture_end(&capture), "profalloc: into standard error\n");
    assert_int_equal(lseek(fileno(own), 0, SEEK_END), 0);
    fclose(own);
}

static void a_closed_standard_error_stays_silent(void **state)
{
    (void)state;
    FILE *own = tmpfile();
    assert_non_null(own);
    int before = dup(STDERR_FILENO);
    close(STDERR_FILENO);
    pfa_message_init();
    pfa_say("nobody there");
    (void)dup2(fileno(own), STDERR_FILENO);
    pfa_say("nobody asked");
    (void)dup2(before, STDERR_FILENO);
    close(before);
    pfa_message_init();
    assert_int_equal(lseek(fileno(own), 0, SEEK_END), 0);
    fclose(own);
}

static void say_after_closing(void)
{
    pfa_message_keep();
    close(STDERR_FILENO);
    pfa_say("the last word");
}

static void the_kept_way_outlives_a_close(void **state)
{
    (void)state;
    capture_t capture;
    capture_begin(&capture);
    int status = status_of_child(say_after_closing);
    assert_string_equal(capture_end(&capture), "profalloc: the last word\n");
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_agree_with_snprintf),
        cmocka_unit_test(numbers_at_their_limits),
        cmocka_unit_test(strings_agree_with_snprintf),
        cmocka_unit_test(a_precision_never_reads_further),
        cmocka_unit_test(pointers_are_hexadecimal),
        cmocka_unit_test(pieces_mix),
        cmocka_unit_test(text_grows_until_it_is_full),
        cmocka_unit_test(empty_text_is_terminated),
        cmocka_unit_test(a_line_is_one_write),
        cmocka_unit_test(a_long_line_is_cut_and_still_a_line),
        cmocka_unit_test(an_interrupted_write_is_repeated),
        cmocka_unit_test(another_file_as_descriptor_2_is_left_alone),
        cmocka_unit_test(a_closed_standard_error_stays_silent),
        cmocka_unit_test(the_kept_way_outlives_a_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
