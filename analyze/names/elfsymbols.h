/* The symbol at an address of a module: what dwfl_module_addrinfo answers, without looking at all symbols for each address.
 *
 * One that is all zeros has not looked at the module's symbols yet; the first question makes it. One thread. */
#ifndef PFA_ANALYZE_NAMES_ELFSYMBOLS_H
#define PFA_ANALYZE_NAMES_ELFSYMBOLS_H

#include "analyze/names/spans.h"

#include <elfutils/libdwfl.h>
#include <stdbool.h>

typedef struct pfa_elfsymbols {
    bool made;
    int first_global;  /* symbols before it are local */
    pfa_spans_t spans; /* of symbols, by their number in the table; one byte for those without a size */
} pfa_elfsymbols_t;

/* NULL: there is none. *offset is that of the address from it. The name lasts as long as the module. */
const char *pfa_elfsymbols_find(pfa_elfsymbols_t *symbols, Dwfl_Module *module, GElf_Addr address, GElf_Off *offset);
void pfa_elfsymbols_free(pfa_elfsymbols_t *symbols);

#endif
