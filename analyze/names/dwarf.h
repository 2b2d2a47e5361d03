/* One module's debug information, asked through libdwfl. */
#ifndef PFA_ANALYZE_NAMES_DWARF_H
#define PFA_ANALYZE_NAMES_DWARF_H

#include "analyze/names/debuginfod.h"
#include "analyze/names/symbols.h"

typedef struct pfa_dwarf pfa_dwarf_t;

/* NULL: there is none that can be asked, and *why says so (a constant text). `servers` are asked for what is not here; NULL: nobody. */
pfa_dwarf_t *pfa_dwarf_open(const char *path, const uint8_t *build_id, size_t build_id_size, pfa_debuginfod_t *servers,
                            const char **why);
void pfa_dwarf_close(pfa_dwarf_t *dwarf);
/* Calls `visit` for each function at the address, the innermost first. Texts last for the call only. */
void pfa_dwarf_find(pfa_dwarf_t *dwarf, uint64_t address, void (*visit)(void *to, const pfa_symbol_t *symbol),
                    void *to);

/* Visits types of the module that have a name: structures, classes, unions, and typedefs of anything. `record` is whether the
 * type is one of the first three, under whatever name. The name is qualified and lasts for the call only. False: *left, which
 * counts down the entries of debug information that may still be looked at, came to its end before the types did.
 * (analyze/names/dwarf_types.c) */
typedef void pfa_dwarf_type_visit_t(void *to, const char *name, uint64_t size, bool record);
bool pfa_dwarf_types(pfa_dwarf_t *dwarf, pfa_dwarf_type_visit_t *visit, void *to, uint64_t *left);
/* For it: the module, of libdwfl. */
struct Dwfl_Module *pfa_dwarf_module(pfa_dwarf_t *dwarf);

#endif
