/* Entries of debug information that have code, found by an address. One that is all zeros is empty. Entries are added, then
 * sorted once, then asked for. One thread. */
#ifndef PFA_ANALYZE_NAMES_DWARF_ENTRIES_H
#define PFA_ANALYZE_NAMES_DWARF_ENTRIES_H

#include "analyze/names/spans.h"

#include <elfutils/libdw.h>

typedef struct pfa_dwarf_entries {
    Dwarf_Die *list; /* as they were added */
    size_t count;
    size_t room;
    pfa_spans_t spans; /* by their number in the list */
} pfa_dwarf_entries_t;

/* One without code is left out. */
void pfa_dwarf_entries_add(pfa_dwarf_entries_t *entries, Dwarf_Die *die);
void pfa_dwarf_entries_sort(pfa_dwarf_entries_t *entries);
void pfa_dwarf_entries_free(pfa_dwarf_entries_t *entries);
/* The first that was added of those with the address; NULL: there is none. */
Dwarf_Die *pfa_dwarf_entries_find(const pfa_dwarf_entries_t *entries, Dwarf_Addr address);

#endif
