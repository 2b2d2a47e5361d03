/* Owns what is known of the scopes of a unit. See analyze/names/dwarf_scopes.h. Part of the use of elfutils, like
 * analyze/names/dwarf.c. */
#include "analyze/names/dwarf_scopes.h"
#include "analyze/base/memory.h"

#include <dwarf.h>

/* Functions have types of their own, in blocks too. */
bool pfa_dwarf_may_have_types(int tag)
{
    switch (tag) {
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
        return true;
    default:
        return false;
    }
}

typedef struct collecting {
    pfa_dwarf_scopes_t *scopes;
    const char *seen; /* where the last entry that was looked at is in memory; see collect() of dwarf_functions.c */
    uint64_t *left;
} collecting_t;

static uint32_t add(pfa_dwarf_scopes_t *scopes, const Dwarf_Die *entry, uint32_t around)
{
    scopes->list = pfa_memory_grow(scopes->list, &scopes->room, scopes->count + 1, sizeof *scopes->list);
    scopes->list[scopes->count] = (pfa_dwarf_scope_t){.entry = *entry, .around = around};
    return (uint32_t)scopes->count++;
}

static void collect(collecting_t *collecting, Dwarf_Die *around, uint32_t number, unsigned depth)
{
    Dwarf_Die die;
    if (depth > PFA_SCOPES_DEEPEST || dwarf_child(around, &die) != 0) {
        return;
    }
    do {
        if ((const char *)die.addr <= collecting->seen || *collecting->left == 0) {
            return;
        }
        collecting->seen = die.addr;
        --*collecting->left;
        if (pfa_dwarf_may_have_types(dwarf_tag(&die))) {
            collect(collecting, &die, add(collecting->scopes, &die, number), depth + 1);
        }
    } while (dwarf_siblingof(&die, &die) == 0);
}

uint32_t pfa_dwarf_scopes_find(pfa_dwarf_scopes_t *scopes, Dwarf_Die *entry, uint64_t *left)
{
    Dwarf_Die unit;
    if (dwarf_diecu(entry, &unit, NULL, NULL) == NULL) {
        return PFA_SCOPE_NONE;
    }
    if (scopes->unit != unit.addr) {
        collecting_t collecting = {.scopes = scopes, .seen = unit.addr, .left = left};
        scopes->unit = unit.addr;
        scopes->count = 0;
        collect(&collecting, &unit, PFA_SCOPE_NONE, 0);
    }
    size_t low = 0;
    for (size_t high = scopes->count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if ((const char *)scopes->list[middle].entry.addr < (const char *)entry->addr) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < scopes->count && scopes->list[low].entry.addr == entry->addr ? (uint32_t)low : PFA_SCOPE_NONE;
}

void pfa_dwarf_scopes_free(pfa_dwarf_scopes_t *scopes)
{
    pfa_memory_free(scopes->list);
    *scopes = (pfa_dwarf_scopes_t){.list = NULL};
}
