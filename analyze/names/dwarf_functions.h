/* The functions around an address of a unit of debug information: the one that has the code, and those inlined there.
 *
 * What is known of a unit is kept: its functions are gone through when it is first asked for, not for each address. One that
 * is all zeros knows none. One thread. */
#ifndef PFA_ANALYZE_NAMES_DWARF_FUNCTIONS_H
#define PFA_ANALYZE_NAMES_DWARF_FUNCTIONS_H

#include "analyze/base/slots.h"

#include <elfutils/libdw.h>

typedef struct pfa_dwarf_functions {
    struct unit *units;
    size_t count;
    size_t room;
    pfa_slots_t slots; /* units by where they are in memory */
} pfa_dwarf_functions_t;

/* The outermost first. */
typedef struct pfa_chain {
    Dwarf_Die *list; /* the caller frees it */
    size_t count;
    size_t room;
} pfa_chain_t;

/* Adds to the chain; false: the unit has no function there. */
bool pfa_dwarf_functions_find(pfa_dwarf_functions_t *functions, Dwarf_Die *unit, Dwarf_Addr address,
                              pfa_chain_t *chain);
void pfa_dwarf_functions_free(pfa_dwarf_functions_t *functions);

#endif
