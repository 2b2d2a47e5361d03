/* Names of a program's types by their size, from debug information, to tell what chunks of a size may be. */
#ifndef PFA_ANALYZE_NAMES_TYPES_H
#define PFA_ANALYZE_NAMES_TYPES_H

#include "analyze/names/symbols.h"
#include "analyze/base/slots.h"

typedef struct pfa_type {
    char *name;
    uint32_t size;
    uint32_t rank; /* those with a lower one are told first */
} pfa_type_t;

typedef struct pfa_types {
    bool *wanted; /* by size */
    uint32_t sizes;
    pfa_type_t *list; /* by size, rank and name, once it is finished */
    size_t count;
    size_t room;
    pfa_slots_t slots; /* by name and size */
    uint64_t left;     /* entries of debug information that may still be looked at */
    bool main_module;  /* of the types that come now */
    bool cut;          /* not all of them were looked at */
} pfa_types_t;

/* Types of the sizes below `sizes` for which wanted[size] is set; it has to stay. */
void pfa_types_begin(pfa_types_t *types, bool *wanted, uint32_t sizes);
void pfa_types_free(pfa_types_t *types);
/* Adds the types of a module. Those of the main program are told before those of libraries. False: it has no debug
 * information. */
bool pfa_types_add(pfa_types_t *types, pfa_symbols_t *symbols, uint32_t module, bool main_module);
void pfa_types_finish(pfa_types_t *types);
/* The types of a size, each name once. */
const pfa_type_t *pfa_types_find(const pfa_types_t *types, uint32_t size, size_t *count);

#endif
