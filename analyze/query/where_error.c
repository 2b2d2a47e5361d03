/* Owns how errors in expressions are told. See analyze/query/where_lex.h.
 *
 *   'sizee' is no field (did you mean 'size'?)
 *     function = parse* and sizee > 4K
 *                           ^
 *
 * Of a file, its path and the line stand in front. Of a very long line the part around the mark is shown. */
#include "analyze/query/where_lex.h"
#include "analyze/base/memory.h"
#include "analyze/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_LINE = 160, BEFORE_MARK = 100 };

static bool begins_character(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

static size_t count_characters(const char *text, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++) {
        count += begins_character(text[i]);
    }
    return count;
}

/* The first place from `at` on that is no more than `most` characters before `to`. */
static size_t come_closer(const char *text, size_t at, size_t to, size_t most)
{
    for (size_t left = count_characters(text + at, to - at); left > most && at < to; left--) {
        at++;
        while (at < to && !begins_character(text[at])) {
            at++;
        }
    }
    return at;
}

static size_t go_on(const char *text, size_t at, size_t to, size_t most)
{
    for (; at < to && most > 0; most--) {
        at++;
        while (at < to && !begins_character(text[at])) {
            at++;
        }
    }
    return at;
}

size_t pfa_lex_line(const char *text, size_t at)
{
    size_t line = 1;
    for (size_t i = 0; i < at; i++) {
        line += text[i] == '\n';
    }
    return line;
}

static void put_line(FILE *to, const pfa_lex_t *lex, size_t at)
{
    size_t from = at;
    size_t end = at;
    while (from > 0 && lex->text[from - 1] != '\n') {
        from--;
    }
    while (lex->text[end] != '\0' && lex->text[end] != '\n') {
        end++;
    }
    size_t shown = come_closer(lex->text, from, at, BEFORE_MARK);
    size_t shown_end = go_on(lex->text, shown, end, LONGEST_LINE);
    char *line = pfa_memory_text(lex->text + shown, shown_end - shown);
    size_t column = count_characters(line, at - shown) + (shown > from ? 3 : 0);
    fprintf(to, "\n  %s%s%s\n  %*s^", shown > from ? "..." : "", line, shown_end < end ? "..." : "", (int)column, "");
    pfa_memory_free(line);
}

void pfa_lex_fail(pfa_lex_t *lex, size_t at, const char *format, ...)
{
    lex->token = PFA_TOKEN_BAD;
    if (lex->why != NULL) {
        return;
    }
    FILE *to;
    pfa_memory_stream_t *stream = pfa_memory_stream_open(&to);
    if (lex->path != NULL) {
        fprintf(to, "%s:%zu: ", lex->path, pfa_lex_line(lex->text, at));
    }
    va_list arguments;
    va_start(arguments, format);
    vfprintf(to, format, arguments);
    va_end(arguments);
    put_line(to, lex, at);
    lex->why = pfa_memory_stream_close(stream);
}

const char *pfa_lex_show(const pfa_lex_t *lex, char shown[PFA_LEX_SHOWN])
{
    enum { MOST = 60 };
    if (lex->token == PFA_TOKEN_END) {
        return "the end";
    }
    size_t cut = go_on(lex->text, lex->at, lex->next, MOST / 4);
    size_t end = lex->next - lex->at > MOST ? cut : lex->next;
    int size = (int)(end - lex->at > MOST ? MOST : end - lex->at);
    snprintf(shown, PFA_LEX_SHOWN, "'%.*s%s'", size, lex->text + lex->at, end < lex->next ? "..." : "");
    pfa_text_clean(shown, strlen(shown));
    return shown;
}
