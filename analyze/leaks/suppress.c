/* Owns the reading and matching of suppressions. See analyze/leaks/suppress.h. */
#include "analyze/leaks/suppress.h"
#include "analyze/base/memory.h"
#include "analyze/base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char type[] = "leak:";

/* The first place at or after `text` where so many characters are; NULL: nowhere. */
static const char *find_part(const char *text, const char *part, size_t length, bool here)
{
    for (size_t left = strlen(text); left >= length; left--, text++) {
        if (memcmp(text, part, length) == 0) {
            return text;
        }
        if (here) {
            break;
        }
    }
    return NULL;
}

/* Part by part between stars: each at the first place where it fits leaves most room for the next. The last one, with '$', has
 * to be at the end. */
static bool matches(const char *pattern, const char *text)
{
    bool here = pattern[0] == '^';
    pattern += here;
    size_t length = strlen(pattern);
    bool at_end = length != 0 && pattern[length - 1] == '$';
    const char *end = pattern + length - at_end;
    while (true) {
        const char *star = memchr(pattern, '*', (size_t)(end - pattern));
        size_t part = (size_t)((star != NULL ? star : end) - pattern);
        if (star == NULL && at_end) {
            size_t left = strlen(text);
            return left >= part && (!here || left == part) && memcmp(text + left - part, pattern, part) == 0;
        }
        text = find_part(text, pattern, part, here);
        if (text == NULL || star == NULL) {
            return text != NULL;
        }
        text += part;
        pattern = star + 1;
        here = false;
    }
}

static bool fits(const char *pattern, const pfa_line_t *line)
{
    const char *texts[] = {line->symbol->function, line->symbol->file, line->module};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i] != NULL && matches(pattern, texts[i])) {
            return true;
        }
    }
    return false;
}

static uint32_t find_first(pfa_suppressions_t *suppressions, pfa_stacks_t *stacks, uint32_t stack)
{
    pfa_stacks_lines(stacks, stack, &suppressions->lines);
    for (size_t i = 0; i < suppressions->count; i++) {
        for (size_t j = 0; j < suppressions->lines.count; j++) {
            if (fits(suppressions->list[i].pattern, &suppressions->lines.list[j])) {
                return (uint32_t)i + 2;
            }
        }
    }
    return 1;
}

pfa_suppression_t *pfa_suppressions_find(pfa_suppressions_t *suppressions, pfa_stacks_t *stacks, uint32_t stack)
{
    if (suppressions->count == 0) {
        return NULL;
    }
    if (stack >= suppressions->stack_room) {
        suppressions->of_stack = pfa_memory_grow(suppressions->of_stack, &suppressions->stack_room, (size_t)stack + 1,
                                                 sizeof *suppressions->of_stack);
    }
    if (suppressions->of_stack[stack] == 0) {
        suppressions->of_stack[stack] = find_first(suppressions, stacks, stack);
    }
    uint32_t found = suppressions->of_stack[stack];
    return found > 1 ? &suppressions->list[found - 2] : NULL;
}

/* A line without its spaces. False: it makes no sense. */
static bool take_line(pfa_suppressions_t *to, char *line)
{
    line += strspn(line, " \t\r\n\f\v");
    size_t length = strlen(line);
    while (length != 0 && isspace((unsigned char)line[length - 1])) {
        line[--length] = '\0';
    }
    if (length == 0 || line[0] == '#') {
        return true;
    }
    if (strncmp(line, type, strlen(type)) != 0 || length == strlen(type)) {
        return false;
    }
    to->list = pfa_memory_grow(to->list, &to->room, to->count + 1, sizeof *to->list);
    to->list[to->count++].pattern = pfa_memory_text(line + strlen(type), length - strlen(type));
    return true;
}

bool pfa_suppressions_read(pfa_suppressions_t *to, const char *path, char **why)
{
    pfa_memory_file_t *from = pfa_memory_file_open(path);
    size_t length;
    unsigned number = 0;
    bool good = from != NULL;
    while (good && pfa_memory_file_line(from, &length)) {
        number++;
        good = take_line(to, from->line);
    }
    if (from == NULL || ferror(from->file)) {
        good = false;
        *why = pfa_memory_format("%s: %s", path, strerror(errno));
    } else if (!good) {
        pfa_text_clean(from->line, strlen(from->line));
        *why = pfa_memory_format("%s:%u: lines are leak:PATTERN or begin with #, not '%s'", path, number, from->line);
    }
    pfa_memory_file_close(from);
    return good;
}

void pfa_suppressions_free(pfa_suppressions_t *suppressions)
{
    for (size_t i = 0; i < suppressions->count; i++) {
        pfa_memory_free(suppressions->list[i].pattern);
    }
    pfa_memory_free(suppressions->list);
    pfa_memory_free(suppressions->of_stack);
    pfa_lines_free(&suppressions->lines);
    *suppressions = (pfa_suppressions_t){.list = NULL};
}
