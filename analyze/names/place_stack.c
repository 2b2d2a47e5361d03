/* Owns stacks as people read them: one frame below the other, what repeats told once, and not more than a screen of them. */
#include "analyze/names/place.h"
#include "analyze/base/repeats.h"
#include "analyze/base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of longer stacks the first ones, which tell what allocates, and the last ones, which tell for whom; between them a line tells
 * how many are left out. */
enum { FIRST = 16, LAST = 7 };

/* A line that is printed, and for how many frames it stands. */
typedef struct told {
    const pfa_line_t *line;
    size_t repeats;
} told_t;

static bool is_same_text(const char *left, const char *right)
{
    return left == right || (left != NULL && right != NULL && strcmp(left, right) == 0);
}

/* Calls of one function from another are the same, whatever the line they are in. */
static bool is_same_line(const void *path, size_t left, size_t right)
{
    const pfa_line_t *one = &((const pfa_line_t *)path)[left];
    const pfa_line_t *other = &((const pfa_line_t *)path)[right];
    if (one->symbol->function == NULL && one->address != other->address) {
        return false;
    }
    return is_same_text(one->symbol->function, other->symbol->function) && is_same_text(one->module, other->module);
}

static told_t *fold_lines(const pfa_lines_t *lines, size_t *count)
{
    told_t *told = pfa_memory_get(lines->count, sizeof *told);
    *count = 0;
    for (size_t i = 0; i < lines->count;) {
        size_t repeats;
        size_t period = pfa_repeats_find(lines->list, i, lines->count, is_same_line, &repeats);
        for (size_t j = 0; j < period; j++) {
            told[(*count)++] = (told_t){.line = &lines->list[i + j], .repeats = repeats};
        }
        i += period * repeats;
    }
    return told;
}

static void print_told(FILE *to, const told_t *told, const char *indent, bool first)
{
    const pfa_line_t *line = told->line;
    const pfa_symbol_t *symbol = line->symbol;
    fprintf(to, "%s%s ", indent, first ? "at" : "by");
    if (symbol->function != NULL) {
        pfa_place_function(to, symbol->function);
    } else {
        fprintf(to, "0x%" PRIx64, line->address);
    }
    if (told->repeats > 1) {
        fprintf(to, " (x%zu)", told->repeats);
    }
    if (symbol->file != NULL) {
        fprintf(to, "  (%s:%" PRIu32 ")", pfa_place_base_name(symbol->file), symbol->line);
    }
    fprintf(to, "%s  [%s]\n", symbol->inlined ? " inlined" : "", pfa_place_base_name(line->module));
}

static void print_all(FILE *to, const told_t *told, size_t count, const char *indent)
{
    size_t hidden = 0;
    for (size_t i = 0; i < count; i++) {
        bool shown = count <= FIRST + 1 + LAST || i < FIRST || i >= count - LAST;
        if (shown && hidden != 0) {
            fprintf(to, "%s... %zu more frames; --json has all\n", indent, hidden);
            hidden = 0;
        }
        if (shown) {
            print_told(to, &told[i], indent, i == 0);
        } else {
            hidden += told[i].repeats;
        }
    }
}

void pfa_place_print_lines(FILE *to, const pfa_lines_t *lines, const char *indent)
{
    static const char *const ends[] = {[PFA_NODE_COMPLETE] = NULL,
                                       [PFA_NODE_TRUNCATED] = "... deeper than was recorded",
                                       [PFA_NODE_BROKEN] = "... the stack could not be followed further",
                                       [PFA_NODE_UNKNOWN] = "... not recorded"};
    size_t count;
    told_t *told = fold_lines(lines, &count);
    print_all(to, told, count, indent);
    pfa_memory_free(told);
    if (lines->root < PFA_NODE_FIRST && ends[lines->root] != NULL) {
        fprintf(to, "%s%s\n", indent, ends[lines->root]);
    } else if (lines->count == 0) {
        fprintf(to, "%s(the stack is empty)\n", indent);
    }
}

void pfa_place_print_stack(FILE *to, pfa_stacks_t *stacks, uint32_t stack, const char *indent)
{
    pfa_lines_t lines = {.list = NULL};
    pfa_stacks_lines(stacks, stack, &lines);
    pfa_place_print_lines(to, &lines, indent);
    pfa_lines_free(&lines);
}
