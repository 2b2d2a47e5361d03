/* Owns the small things: lists of words, text, files read whole, and how we fail. */
#include "hooks/cc/cc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *pfa_cc_name = "profalloc-cc";

static void *need_memory(void *memory)
{
    if (memory == NULL) {
        fputs("profalloc-cc: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

void pfa_words_add(pfa_words_t *words, const char *word)
{
    if (words->count + 2 > words->room) {
        words->room = 2 * words->room + 16;
        words->at = need_memory(realloc(words->at, words->room * sizeof(words->at[0])));
    }
    words->at[words->count++] = need_memory(strdup(word));
    words->at[words->count] = NULL;
}

void pfa_words_add_all(pfa_words_t *words, const pfa_words_t *more)
{
    for (size_t i = 0; i < more->count; i++) {
        pfa_words_add(words, more->at[i]);
    }
}

void pfa_words_split(pfa_words_t *words, const char *text)
{
    static const char blanks[] = " \t\r\n";
    while (text += strspn(text, blanks), *text != 0) {
        size_t length = strcspn(text, blanks);
        pfa_words_add(words, pfa_text("%.*s", (int)length, text));
        text += length;
    }
}

char *pfa_text(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) {
        text = NULL;
    }
    va_end(arguments);
    return need_memory(text);
}

bool pfa_starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

bool pfa_ends_with(const char *text, const char *end)
{
    size_t length = strlen(text);
    size_t tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

char *pfa_file_read(const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return NULL;
    }
    size_t length = 0;
    size_t room = 4096;
    char *text = need_memory(malloc(room));
    size_t got;
    while ((got = fread(text + length, 1, room - length - 1, file)) > 0) {
        length += got;
        if (room - length < 2) {
            room *= 2;
            text = need_memory(realloc(text, room));
        }
    }
    bool failed = ferror(file) != 0;
    fclose(file);
    text[length] = 0;
    if (failed) {
        free(text);
        return NULL;
    }
    return text;
}

void pfa_cc_fail(const char *format, ...)
{
    int error = errno; /* for %m */
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: error: ", pfa_cc_name);
    errno = error;
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}
