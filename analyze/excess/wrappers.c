/* Owns the list of allocation wrappers and the form of names that it is asked with. See analyze/excess/wrappers.h. */
#include "analyze/excess/wrappers.h"
#include "analyze/base/memory.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const built_in[] = {
#define PFA_WRAPPER(pattern) pattern,
#include "analyze/excess/wrappers.def"
#undef PFA_WRAPPER
};

void pfa_wrappers_add(pfa_wrappers_t *wrappers, const char *pattern, size_t size)
{
    wrappers->patterns =
        pfa_memory_grow(wrappers->patterns, &wrappers->room, wrappers->count + 1, sizeof *wrappers->patterns);
    wrappers->patterns[wrappers->count++] = pfa_memory_copy(pattern, size);
}

int pfa_wrappers_read(pfa_wrappers_t *wrappers, const char *path)
{
    pfa_memory_file_t *file = pfa_memory_file_open(path);
    size_t size;
    if (file == NULL) {
        return errno;
    }
    while (pfa_memory_file_line(file, &size)) {
        const char *start = file->line + strspn(file->line, " \t");
        const char *end = file->line + size;
        while (end > start && isspace((unsigned char)end[-1])) {
            end--;
        }
        if (end > start && *start != '#') {
            pfa_wrappers_add(wrappers, start, (size_t)(end - start));
        }
    }
    int error = ferror(file->file) ? errno != 0 ? errno : EIO : 0;
    pfa_memory_file_close(file);
    return error;
}

void pfa_wrappers_free(pfa_wrappers_t *wrappers)
{
    for (size_t i = 0; i < wrappers->count; i++) {
        pfa_memory_free(wrappers->patterns[i]);
    }
    pfa_memory_free(wrappers->patterns);
}

/* Behind the name of an operator, which may be of brackets and of several words: "operator()", "operator new". */
static const char *skip_operator(const char *at)
{
    at += strlen("operator");
    if (strncmp(at, "()", 2) == 0) {
        return at + 2;
    }
    at += *at == ' ';
    return at + strspn(at, "<>=!+-*/%&|^~,");
}

static bool begins_operator(const char *name, const char *at)
{
    return strncmp(at, "operator", 8) == 0 && !isalnum((unsigned char)at[8]) && at[8] != '_' &&
           (at == name || (!isalnum((unsigned char)at[-1]) && at[-1] != '_'));
}

/* Behind the bracket that closes the one at `at`, or at the end of the name. */
static const char *skip_brackets(const char *name, const char *at)
{
    size_t depth = 0;
    while (*at != '\0') {
        if (begins_operator(name, at)) {
            at = skip_operator(at);
            continue;
        }
        depth += strchr("<({", *at) != NULL;
        depth -= strchr(">)}", *at) != NULL && !(*at == '>' && at[-1] == '-');
        at++;
        if (depth == 0) {
            break;
        }
    }
    return at;
}

char *pfa_wrappers_bare_name(const char *function)
{
    static const char decltype[] = "decltype";
    const char *start = function;
    const char *at = function;
    while (*at != '\0') {
        if (begins_operator(function, at)) {
            at = skip_operator(at);
        } else if (*at == '(') {
            /* Arguments end the name, unless they belong to a function that something is defined in. */
            const char *behind = skip_brackets(function, at);
            bool type = at - function >= 8 && strncmp(at - 8, decltype, 8) == 0;
            if (strncmp(behind, "::", 2) != 0 && !type) {
                break;
            }
            at = behind;
        } else if (*at == '<' || *at == '{') {
            at = skip_brackets(function, at);
        } else if (strncmp(at, " [clone", 7) == 0) {
            break;
        } else {
            start = *at == ' ' ? at + 1 : start;
            at++;
        }
    }
    return at > start ? pfa_memory_copy(start, (size_t)(at - start)) : pfa_memory_copy(function, strlen(function));
}

static bool matches_any(const pfa_wrappers_t *wrappers, const char *name)
{
    for (size_t i = 0; i < sizeof built_in / sizeof built_in[0]; i++) {
        if (fnmatch(built_in[i], name, 0) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < wrappers->count; i++) {
        if (fnmatch(wrappers->patterns[i], name, 0) == 0) {
            return true;
        }
    }
    return false;
}

bool pfa_wrappers_has(const pfa_wrappers_t *wrappers, const pfa_line_t *line)
{
    const pfa_symbol_t *symbol = line->symbol;
    if (symbol->function == NULL) {
        return false;
    }
    char *name = pfa_wrappers_bare_name(symbol->function);
    /* Debug information tells some functions of the C++ library without their namespace. */
    bool library = strstr(name, "::") == NULL && symbol->file != NULL && strstr(symbol->file, "/include/c++/") != NULL;
    bool found = library || matches_any(wrappers, name);
    pfa_memory_free(name);
    return found;
}
