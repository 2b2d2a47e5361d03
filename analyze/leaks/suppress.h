/* Suppressions in the format of LeakSanitizer: lines "leak:PATTERN", and comments that begin with #. A pattern is looked for in the
 * function, the source file and the module of every frame of an allocation stack; '*' stands for any text, '^' and '$' for the
 * beginning and the end. The first that fits counts. */
#ifndef PFA_ANALYZE_LEAKS_SUPPRESS_H
#define PFA_ANALYZE_LEAKS_SUPPRESS_H

#include "analyze/names/stacks.h"

typedef struct pfa_suppression {
    char *pattern;
    double chunks; /* that it kept out, */
    double bytes;
} pfa_suppression_t;

typedef struct pfa_suppressions {
    pfa_suppression_t *list;
    size_t count;
    size_t room;
    uint32_t *of_stack; /* 0: not asked yet, 1: none, else 2 and the number */
    size_t stack_room;
    pfa_lines_t lines; /* room */
} pfa_suppressions_t;

/* Adds those of a file. False: *why says what is wrong with it; the caller frees it. */
bool pfa_suppressions_read(pfa_suppressions_t *to, const char *path, char **why);
/* The one for the chunks of this stack; NULL: none. */
pfa_suppression_t *pfa_suppressions_find(pfa_suppressions_t *suppressions, pfa_stacks_t *stacks, uint32_t stack);
void pfa_suppressions_free(pfa_suppressions_t *suppressions);

#endif
