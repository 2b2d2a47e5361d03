/* The functions that allocate and free, each with a number: of a stack, the first outside allocation wrappers. A function is
 * told by its name and its module; one without a name by its address. Each stack is asked once. */
#ifndef PFA_ANALYZE_EXCESS_ROUTINES_H
#define PFA_ANALYZE_EXCESS_ROUTINES_H

#include "analyze/base/slots.h"
#include "analyze/excess/wrappers.h"

/* Numbers that are no function's. */
enum { PFA_ROUTINE_NEVER, PFA_ROUTINE_UNKNOWN, PFA_ROUTINE_FIRST };

typedef struct pfa_routine {
    char *name;         /* demangled, or MODULE+ADDRESS */
    const char *module; /* NULL: none */
    const char *file;   /* NULL: not known */
    bool wrapper;       /* it allocates or frees for others, who were not recorded */
} pfa_routine_t;

typedef struct pfa_routines {
    pfa_stacks_t *stacks;
    const pfa_wrappers_t *wrappers;
    pfa_routine_t *list;
    size_t count;
    size_t room;
    pfa_slots_t slots;  /* by name and module */
    uint32_t *of_stack; /* number + 1 */
    size_t stack_room;
    pfa_lines_t lines;
} pfa_routines_t;

void pfa_routines_begin(pfa_routines_t *routines, pfa_stacks_t *stacks, const pfa_wrappers_t *wrappers);

uint32_t pfa_routines_of_line(pfa_routines_t *routines, const pfa_line_t *line);
/* The first line outside wrappers; if all are wrappers, the last. There is at least one. */
size_t pfa_routines_first(pfa_routines_t *routines, const pfa_lines_t *lines);
uint32_t pfa_routines_of_stack(pfa_routines_t *routines, uint32_t stack);

#endif
