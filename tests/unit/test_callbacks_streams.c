/* The wrapped functions on streams: noted is what the stream gave or took, nothing where it did not, and errno is libc's. */
#define _GNU_SOURCE 1
#include "tests/unit/accesses.h"

size_t __fread_chk(void *items, size_t room, size_t size, size_t count, FILE *stream);
size_t __fread_unlocked_chk(void *items, size_t room, size_t size, size_t count, FILE *stream);
char *__fgets_chk(char *line, size_t room, int size, FILE *stream);
char *__fgets_unlocked_chk(char *line, size_t room, int size, FILE *stream);
ssize_t __getdelim(char **line, size_t *size, int end, FILE *stream);

/* A stream of a text. */
static FILE *stream_of(const char *text)
{
    FILE *stream = tmpfile();
    must(stream != NULL && fputs(text, stream) >= 0 && fseek(stream, 0, SEEK_SET) == 0);
    return stream;
}

static size_t call_fread_chk(void *items, size_t size, size_t count, FILE *stream)
{
    return __fread_chk(items, ROOM, size, count, stream);
}

static size_t call_fread_unlocked_chk(void *items, size_t size, size_t count, FILE *stream)
{
    return __fread_unlocked_chk(items, ROOM, size, count, stream);
}

#define EACH(table) (size_t i = 0; i < sizeof table / sizeof table[0]; i++)

static void items_in(void **state)
{
    (void)state;
    size_t (*readers[])(void *, size_t, size_t, FILE *) = {fread, fread_unlocked, call_fread_chk,
                                                           call_fread_unlocked_chk};
    for
        EACH(readers)
        {
            FILE *stream = stream_of("0123456789");
            watch();
            assert_int_equal(readers[i](range + 8, 3, 2, stream), 2);
            expect(W(8, 6));
            expect_waited();
            assert_memory_equal(range + 8, "012345", 6);
            watch();
            assert_int_equal(readers[i](outside, 1, 1, stream), 1);
            assert_int_equal(readers[i](range + 8, 0, 5, stream), 0);
            assert_int_equal(readers[i](range + 8, 5, 0, stream), 0);
            expect_nothing();
            watch();
            assert_int_equal(readers[i](range + 8, 2, 5, stream), 1); /* and a half, of which nobody tells */
            expect(W(8, 2));
            watch();
            assert_int_equal(readers[i](range + 8, 1, 1, stream), 0);
            expect_nothing();
            fclose(stream);
        }
}

static void items_out(void **state)
{
    (void)state;
    size_t (*writers[])(const void *, size_t, size_t, FILE *) = {fwrite, fwrite_unlocked};
    put(8, "item");
    for
        EACH(writers)
        {
            FILE *stream = tmpfile();
            watch();
            assert_int_equal(writers[i](range + 8, 2, 2, stream), 2);
            expect(R(8, 4));
            expect_waited();
            watch();
            assert_int_equal(writers[i]("outside", 1, 7, stream), 7);
            assert_int_equal(writers[i](range, 0, 7, stream), 0);
            expect_nothing();
            char text[16] = "";
            assert_int_equal(fflush(stream), 0);
            assert_int_equal(pread(fileno(stream), text, 15, 0), 11);
            assert_string_equal(text, "itemoutside");
            fclose(stream);
            stream = fopen("/dev/null", "r");
            watch();
            assert_int_equal(writers[i](range + 8, 2, 2, stream), 0);
            assert_int_equal(errno, EBADF);
            expect_nothing();
            fclose(stream);
        }
}

static char *call_fgets_chk(char *line, int size, FILE *stream)
{
    return __fgets_chk(line, ROOM, size, stream);
}

static char *call_fgets_unlocked_chk(char *line, int size, FILE *stream)
{
    return __fgets_unlocked_chk(line, ROOM, size, stream);
}

static void short_lines_in(void **state)
{
    (void)state;
    char *(*readers[])(char *, int, FILE *) = {fgets, fgets_unlocked, call_fgets_chk, call_fgets_unlocked_chk};
    for
        EACH(readers)
        {
            FILE *stream = stream_of("line\nlonger line\nlast\n");
            watch();
            assert_ptr_equal(readers[i](range + 8, 100, stream), range + 8);
            expect(W(8, 6));
            expect_waited();
            assert_string_equal(range + 8, "line\n");
            watch();
            assert_ptr_equal(readers[i](range + 8, 4, stream), range + 8);
            expect(W(8, 4));
            watch();
            assert_ptr_equal(readers[i](outside, 100, stream), outside);
            assert_string_equal(outside, "ger line\n");
            expect_nothing();
            watch();
            assert_non_null(readers[i](range + 8, 100, stream));
            assert_null(readers[i](range + 8, 100, stream));
            expect(W(8, 6));
            fclose(stream);
        }
}

static void texts_out(void **state)
{
    (void)state;
    int (*writers[])(const char *, FILE *) = {fputs, fputs_unlocked};
    put(8, "text");
    for
        EACH(writers)
        {
            FILE *stream = tmpfile();
            watch();
            assert_true(writers[i](range + 8, stream) >= 0);
            expect(R(8, 5));
            expect_waited();
            watch();
            assert_true(writers[i]("outside", stream) >= 0);
            expect_nothing();
            assert_int_equal(ftell(stream), 11);
            fclose(stream);
            stream = fopen("/dev/null", "r");
            watch();
            assert_int_equal(writers[i](range + 8, stream), EOF);
            assert_int_equal(errno, EBADF);
            expect_nothing();
            fclose(stream);
        }
    put(8, "a line of test_callbacks_streams");
    watch();
    assert_true(puts(range + 8) >= 0);
    expect(R(8, 33));
    expect_waited();
}

/* The line's memory is libc's choice of malloc: outside, unless all is in the range. */
static void long_lines_in(void **state)
{
    (void)state;
    FILE *stream = stream_of("first\nse;cond\n;");
    char *line = NULL;
    size_t room = 0;
    pfa_access_view.span = UINT64_MAX;
    watch();
    assert_int_equal(__getdelim(&line, &room, ';', stream), 9);
    expect(W((size_t)(line - range), 10));
    expect_waited();
    assert_string_equal(line, "first\nse;");
    watch();
    assert_int_equal(__getdelim(&line, &room, ';', stream), 6);
    expect(W((size_t)(line - range), 7));
    watch();
    assert_int_equal(__getdelim(&line, &room, ';', stream), -1);
    expect_nothing();
    pfa_access_view.span = ROOM;
    fclose(stream);
    free(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_in),  cmocka_unit_test(items_out),     cmocka_unit_test(short_lines_in),
        cmocka_unit_test(texts_out), cmocka_unit_test(long_lines_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
