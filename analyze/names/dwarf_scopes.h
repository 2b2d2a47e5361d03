/* Which entries an entry of debug information is in, of those that types can be declared in: namespaces, types, functions, blocks.
 *
 * dwarf_getscopes_die goes through the unit for each entry that is asked for, and in a damaged file may never come back. Here a unit
 * is gone through once, and what was found is kept until another unit is asked for. One that is all zeros knows none. One thread. */
#ifndef PFA_ANALYZE_NAMES_DWARF_SCOPES_H
#define PFA_ANALYZE_NAMES_DWARF_SCOPES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Entries may be in one another so deep; what is deeper is not looked at. */
enum { PFA_SCOPES_DEEPEST = 200 };
#define PFA_SCOPE_NONE UINT32_MAX

typedef struct pfa_dwarf_scope {
    Dwarf_Die entry;
    uint32_t around; /* the number of the one that it is in; PFA_SCOPE_NONE: the unit */
} pfa_dwarf_scope_t;

typedef struct pfa_dwarf_scopes {
    const void *unit;        /* where its entry is in memory */
    pfa_dwarf_scope_t *list; /* in the order of the unit, which is that in memory */
    size_t count;
    size_t room;
} pfa_dwarf_scopes_t;

/* Can types be declared in it? */
bool pfa_dwarf_may_have_types(int tag);
/* The number of an entry that can have types; PFA_SCOPE_NONE: it is not there. *left counts down the entries that may still be looked
 * at. */
uint32_t pfa_dwarf_scopes_find(pfa_dwarf_scopes_t *scopes, Dwarf_Die *entry, uint64_t *left);
void pfa_dwarf_scopes_free(pfa_dwarf_scopes_t *scopes);

#endif
