/* Owns the search for functions in debug information. See analyze/names/dwarf_functions.h. Part of the use of elfutils, like
 * analyze/names/dwarf.c.
 *
 * dwarf_getscopes gives up on a function that is described in another unit, which is what -flto makes of all of them. */
#include "analyze/names/dwarf_functions.h"
#include "analyze/base/memory.h"
#include "analyze/base/slots.h"
#include "analyze/names/dwarf_entries.h"

#include <dwarf.h>
#include <stdlib.h>

enum { DEEPEST = 1000 };

/* Entries of a unit that have code, and where. */
typedef struct index {
    bool made;
    bool anywhere;               /* with those inside of others; else the outermost only */
    const char *seen;            /* where the last entry that was looked at is in memory */
    pfa_dwarf_entries_t entries; /* in the order of the unit */
} index_t;

typedef struct unit {
    const void *entry;
    index_t outermost;
    index_t all; /* made if the other does not have an address */
} unit_t;

static bool is_function(Dwarf_Die *die)
{
    int tag = dwarf_tag(die);
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_entry_point;
}

static bool can_have_code(Dwarf_Die *die)
{
    return is_function(die) || dwarf_tag(die) == DW_TAG_lexical_block;
}

static bool has_functions(Dwarf_Die *die)
{
    switch (dwarf_tag(die)) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
        return true;
    case DW_TAG_lexical_block: /* one without code of its own */
        return !dwarf_hasattr(die, DW_AT_low_pc) && !dwarf_hasattr(die, DW_AT_ranges);
    default:
        return false;
    }
}

/* Entries lie in memory in the order in which they are gone through. Where they do not, references of a damaged file lead
 * back, and following them could take forever. */
static void collect(index_t *index, Dwarf_Die *around, unsigned depth)
{
    Dwarf_Die die;
    if (depth > DEEPEST || dwarf_child(around, &die) != 0) {
        return;
    }
    do {
        if ((const char *)die.addr <= index->seen) {
            return;
        }
        index->seen = die.addr;
        if (can_have_code(&die)) {
            pfa_dwarf_entries_add(&index->entries, &die);
        }
        if (has_functions(&die) || (index->anywhere && can_have_code(&die))) {
            collect(index, &die, depth + 1);
        }
    } while (dwarf_siblingof(&die, &die) == 0);
}

/* The first entry with code at the address; NULL: there is none. */
static Dwarf_Die *find_entry(index_t *index, Dwarf_Die *unit, Dwarf_Addr address)
{
    if (!index->made) {
        index->seen = unit->addr;
        collect(index, unit, 0);
        pfa_dwarf_entries_sort(&index->entries);
        index->made = true;
    }
    return pfa_dwarf_entries_find(&index->entries, address);
}

/* One way down to the innermost function at an address. */
typedef struct descent {
    Dwarf_Addr address;
    bool
        anywhere; /* looks also into functions and blocks that do not have the address, which can have others inside that do:
                         those of a class that is declared there */
    const char *seen; /* where the last entry that was looked at is in memory; see collect */
    pfa_chain_t *chain;
} descent_t;

static bool descend(descent_t *descent, Dwarf_Die *around, unsigned depth);

/* Into an entry that has the address. */
static bool enter(descent_t *descent, Dwarf_Die *die, unsigned depth)
{
    bool function = is_function(die);
    pfa_chain_t *chain = descent->chain;
    if (function) {
        chain->list = pfa_memory_grow(chain->list, &chain->room, chain->count + 1, sizeof *chain->list);
        chain->list[chain->count++] = *die;
    }
    return descend(descent, die, depth + 1) || function;
}

static bool descend(descent_t *descent, Dwarf_Die *around, unsigned depth)
{
    Dwarf_Die die;
    if (depth > DEEPEST || dwarf_child(around, &die) != 0) {
        return false;
    }
    do {
        if ((const char *)die.addr <= descent->seen) {
            return false;
        }
        descent->seen = die.addr;
        if (can_have_code(&die) && dwarf_haspc(&die, descent->address) > 0) {
            return enter(descent, &die, depth);
        }
        if ((has_functions(&die) || (descent->anywhere && can_have_code(&die))) && descend(descent, &die, depth + 1)) {
            return true;
        }
    } while (dwarf_siblingof(&die, &die) == 0);
    return false;
}

static unit_t *find_unit(pfa_dwarf_functions_t *functions, const void *entry)
{
    uint64_t hash = pfa_hash_mix(0, (uintptr_t)entry);
    pfa_probe_t probe = pfa_slots_probe(&functions->slots, hash);
    while (pfa_slots_next(&functions->slots, &probe)) {
        if (functions->units[probe.number].entry == entry) {
            return &functions->units[probe.number];
        }
    }
    functions->units =
        pfa_memory_grow(functions->units, &functions->room, functions->count + 1, sizeof *functions->units);
    pfa_slots_put(&functions->slots, hash, (uint32_t)functions->count);
    unit_t *unit = &functions->units[functions->count++];
    *unit = (unit_t){.entry = entry, .all = {.anywhere = true}};
    return unit;
}

bool pfa_dwarf_functions_find(pfa_dwarf_functions_t *functions, Dwarf_Die *unit, Dwarf_Addr address, pfa_chain_t *chain)
{
    unit_t *known = find_unit(functions, unit->addr);
    Dwarf_Die *entry = find_entry(&known->outermost, unit, address);
    descent_t descent = {.address = address, .chain = chain};
    if (entry != NULL && enter(&descent, entry, 0)) {
        return true;
    }
    entry = find_entry(&known->all, unit, address);
    descent = (descent_t){.address = address, .anywhere = true, .chain = chain};
    return entry != NULL && enter(&descent, entry, 0);
}

void pfa_dwarf_functions_free(pfa_dwarf_functions_t *functions)
{
    for (size_t i = 0; i < functions->count; i++) {
        pfa_dwarf_entries_free(&functions->units[i].outermost.entries);
        pfa_dwarf_entries_free(&functions->units[i].all.entries);
    }
    pfa_memory_free(functions->units);
    pfa_slots_free(&functions->slots);
    *functions = (pfa_dwarf_functions_t){.units = NULL};
}
