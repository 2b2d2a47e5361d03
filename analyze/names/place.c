/* Owns how places in programs are told in few words: functions with long names, and the frame of a stack that is the
 * program's own. Whole stacks are in analyze/names/place_stack.c. */
#include "analyze/names/place.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* C++ names can fill pages: of long ones, what is in angle brackets and argument lists is left out. */
void pfa_place_function(FILE *to, const char *name)
{
    enum { LONG = 100 };
    static const char *const operators[] = {"operator<<", "operator<=>", "operator<=", "operator<", "operator->",
                                            "operator>>", "operator>=",  "operator>",  "operator()"};
    unsigned depth = 0;
    if (strlen(name) <= LONG) {
        fputs(name, to);
        return;
    }
    for (const char *at = name; *at != '\0'; at++) {
        size_t i = 0;
        while (i < sizeof operators / sizeof operators[0] && strncmp(at, operators[i], strlen(operators[i])) != 0) {
            i++;
        }
        if (i < sizeof operators / sizeof operators[0]) {
            fprintf(to, "%s", depth == 0 ? operators[i] : "");
            at += strlen(operators[i]) - 1;
        } else if ((*at == '<' || *at == '(') && strncmp(at, "(anonymous", 10) != 0) {
            fprintf(to, "%s", depth++ != 0 ? "" : *at == '<' ? "<...>" : "(...)");
        } else if ((*at == '>' || *at == ')') && depth != 0) {
            depth--;
        } else if (depth == 0) {
            fputc(*at, to);
        }
    }
}

const char *pfa_place_base_name(const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    return slash != NULL ? slash + 1 : path != NULL ? path : "?";
}

/* Without what a demangled template has in front: the type that it returns. */
static const char *skip_type(const char *name)
{
    static const char anonymous[] = "(anonymous namespace)";
    const char *start = name;
    unsigned depth = 0;
    for (const char *at = name; *at != '\0'; at++) {
        bool type = at - name >= 8 && strncmp(at - 8, "decltype", 8) == 0;
        if (strncmp(at, anonymous, strlen(anonymous)) == 0) {
            at += strlen(anonymous) - 1;
        } else if (*at == '(' && depth == 0 && !type) {
            break;
        } else if (strchr("<{(", *at) != NULL) {
            depth++;
        } else if (strchr(">})", *at) != NULL) {
            depth -= depth != 0;
        } else if (*at == ' ' && depth == 0) {
            start = at + 1;
        }
    }
    return start;
}

/* Some are told without their namespace. */
bool pfa_place_is_library(const pfa_symbol_t *symbol)
{
    if (symbol->function == NULL) {
        return false;
    }
    const char *name = skip_type(symbol->function);
    return strncmp(symbol->function, "operator new", 12) == 0 || strncmp(name, "std::", 5) == 0 ||
           strncmp(name, "__gnu_cxx::", 11) == 0 ||
           (strstr(name, "::") == NULL && symbol->file != NULL && strstr(symbol->file, "/include/c++/") != NULL);
}

bool pfa_place_own(const pfa_lines_t *lines, pfa_line_t *line)
{
    size_t own = 0;
    while (own < lines->count && pfa_place_is_library(lines->list[own].symbol)) {
        own++;
    }
    if (lines->count != 0) {
        *line = lines->list[own < lines->count ? own : 0];
    }
    return lines->count != 0;
}

bool pfa_place_find(pfa_stacks_t *stacks, uint32_t stack, pfa_line_t *line)
{
    pfa_lines_t lines = {.list = NULL};
    pfa_stacks_lines(stacks, stack, &lines);
    bool found = pfa_place_own(&lines, line);
    pfa_lines_free(&lines);
    return found;
}

void pfa_place_print_line(FILE *to, const pfa_line_t *line)
{
    if (line->symbol->function != NULL) {
        pfa_place_function(to, line->symbol->function);
    } else {
        fprintf(to, "%s+0x%" PRIx64, pfa_place_base_name(line->module), line->address);
    }
    if (line->symbol->file != NULL) {
        fprintf(to, " (%s:%" PRIu32 ")", pfa_place_base_name(line->symbol->file), line->symbol->line);
    }
}

void pfa_place_print(FILE *to, pfa_stacks_t *stacks, uint32_t stack)
{
    pfa_line_t line;
    if (pfa_place_find(stacks, stack, &line)) {
        pfa_place_print_line(to, &line);
    } else {
        fputs("a place that is not known", to);
    }
}
