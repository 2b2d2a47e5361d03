/* How places in programs are told in few words. */
#ifndef PFA_ANALYZE_NAMES_PLACE_H
#define PFA_ANALYZE_NAMES_PLACE_H

#include "analyze/names/stacks.h"
#include "analyze/base/json.h"

#include <stdio.h>

/* The line of a stack that is the program's own: the first outside the allocator and the C++ library, or, without one, the
 * innermost. False: there is none. */
bool pfa_place_find(pfa_stacks_t *stacks, uint32_t stack, pfa_line_t *line);
bool pfa_place_own(const pfa_lines_t *lines, pfa_line_t *line);
/* Whether a function is of the C++ library: it allocates for others. */
bool pfa_place_is_library(const pfa_symbol_t *symbol);
/* A line: function, file and line number, or module and address; and that of a stack which is the program's own. */
void pfa_place_print_line(FILE *to, const pfa_line_t *line);
void pfa_place_print(FILE *to, pfa_stacks_t *stacks, uint32_t stack);
/* The lines, one below the other, each after `indent`: what repeats is told once, as "f (x1000)", and of more than 24 some in
 * the middle are left out. (analyze/names/place_stack.c) */
void pfa_place_print_stack(FILE *to, pfa_stacks_t *stacks, uint32_t stack, const char *indent);
void pfa_place_print_lines(FILE *to, const pfa_lines_t *lines, const char *indent);
/* All lines, as the members "stack" and "stack_end" of an object. (analyze/names/place_json.c) */
void pfa_place_json(pfa_json_t *json, const pfa_lines_t *lines);
/* A function, without what is in brackets if it is long. */
void pfa_place_function(FILE *to, const char *name);
/* The last part of a path; "?" for none. */
const char *pfa_place_base_name(const char *path);

#endif
