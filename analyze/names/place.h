/* How places in programs are told in few words. */
#ifndef PFA_ANALYZE_NAMES_PLACE_H
#define PFA_ANALYZE_NAMES_PLACE_H

#include "analyze/names/stacks.h"

/* The line of a stack that is the program's own: the first outside the allocator and the C++ library, or, without one, the
 * innermost. False: there is none. */
bool pfa_place_find(pfa_stacks_t *stacks, uint32_t stack, pfa_line_t *line);
/* That line: function, file and line, or module and address. */
void pfa_place_print(FILE *to, pfa_stacks_t *stacks, uint32_t stack);
/* All lines, one below the other, each after `indent`. */
void pfa_place_print_stack(FILE *to, pfa_stacks_t *stacks, uint32_t stack, const char *indent);
/* A function, without what is in brackets if it is long. */
void pfa_place_function(FILE *to, const char *name);
/* The last part of a path; "?" for none. */
const char *pfa_place_base_name(const char *path);

#endif
