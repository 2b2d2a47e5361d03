/* The functions of a query's stacks: each once, with a number, and what a stack is as a chain of them.
 *
 * A function is told by its name and the file name of its module, so that two libraries may each have an `init`, and another
 * build of a library is the same. One without a name is its address in its module. */
#ifndef PFA_ANALYZE_MPROF_FUNCTIONS_H
#define PFA_ANALYZE_MPROF_FUNCTIONS_H

#include "analyze/names/stacks.h"
#include "analyze/base/slots.h"

typedef struct pfa_function {
    char *name;
    char *module;   /* its file name; "" for none */
    bool has_name;  /* it is a name, not an address */
    bool ambiguous; /* another module has one of this name */
} pfa_function_t;

typedef struct pfa_functions {
    pfa_function_t *list; /* the first one stands for callers that were not recorded */
    size_t count;
    size_t room;
    pfa_slots_t slots; /* by name and module */
} pfa_functions_t;

enum { PFA_FUNCTION_UNKNOWN };

/* A stack as functions, from the innermost to the outermost. */
typedef struct pfa_callchain {
    uint32_t *functions;
    uint32_t *offsets; /* of the return address from the function's start; 0: not known, or inlined */
    size_t count;      /* at least one */
    bool open;         /* the last is PFA_FUNCTION_UNKNOWN: there were more callers */
    size_t room;
    size_t offset_room;
    pfa_lines_t lines;
} pfa_callchain_t;

void pfa_functions_begin(pfa_functions_t *functions);
void pfa_functions_free(pfa_functions_t *functions);
/* The number of a function. */
uint32_t pfa_functions_put(pfa_functions_t *functions, const char *name, const char *module, bool has_name);
/* Finds out which names are ambiguous, once all are there. */
void pfa_functions_finish(pfa_functions_t *functions);
/* By name, then by module. */
int pfa_functions_compare(const pfa_functions_t *functions, uint32_t left, uint32_t right);

/* Replaces what was in `chain`. */
void pfa_callchain_take(pfa_callchain_t *chain, pfa_functions_t *functions, pfa_stacks_t *stacks, uint32_t stack);
void pfa_callchain_free(pfa_callchain_t *chain);

#endif
