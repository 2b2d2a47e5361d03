/* One module's debug information, asked through libdwfl. */
#ifndef PFA_ANALYZE_DWARF_H
#define PFA_ANALYZE_DWARF_H

#include "analyze/names/symbols.h"

typedef struct pfa_dwarf pfa_dwarf_t;

/* NULL: there is none that can be asked, and *why says so (a constant text). */
pfa_dwarf_t *pfa_dwarf_open(const char *path, const uint8_t *build_id, size_t build_id_size, const char **why);
void pfa_dwarf_close(pfa_dwarf_t *dwarf);
/* Calls `visit` for each function at the address, the innermost first. Texts last for the call only. */
void pfa_dwarf_find(pfa_dwarf_t *dwarf, uint64_t address, void (*visit)(void *to, const pfa_symbol_t *symbol),
                    void *to);

#endif
