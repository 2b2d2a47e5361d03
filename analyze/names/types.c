/* Owns the list of types by size. See analyze/names/types.h.
 *
 * Records come before typedefs of anything else (a `size_t` says little of a chunk of eight bytes), names that are reserved
 * for the C library and the compiler last, and the main program's own before libraries' within that. */
#include "analyze/names/types.h"
#include "analyze/base/memory.h"
#include "analyze/base/slots.h"
#include "analyze/base/text.h"
#include "analyze/names/dwarf.h"

#include <stdlib.h>
#include <string.h>

/* Entries of debug information that are looked at, of all modules together: some seconds. */
enum { ENTRIES_MAX = 20000000 };

void pfa_types_begin(pfa_types_t *types, bool *wanted, uint32_t sizes)
{
    *types = (pfa_types_t){.wanted = wanted, .sizes = sizes, .left = ENTRIES_MAX};
}

void pfa_types_free(pfa_types_t *types)
{
    for (size_t i = 0; i < types->count; i++) {
        pfa_memory_free(types->list[i].name);
    }
    pfa_memory_free(types->list);
    pfa_slots_free(&types->slots);
}

/* "__x", "_X", and what is in such a namespace. */
static bool is_reserved(const char *name)
{
    return name[0] == '_' || strncmp(name, "std::_", 6) == 0 || strstr(name, "::__") != NULL;
}

/* The C++ library's templates are in every program that uses them. */
static bool is_library(const char *name)
{
    return strncmp(name, "std::", 5) == 0 || strncmp(name, "__gnu_cxx::", 11) == 0;
}

static pfa_type_t *find_type(pfa_types_t *types, const char *name, uint32_t size)
{
    uint64_t hash = pfa_checksum(size, name, strlen(name));
    pfa_probe_t probe = pfa_slots_probe(&types->slots, hash);
    while (pfa_slots_next(&types->slots, &probe)) {
        pfa_type_t *known = &types->list[probe.number];
        if (known->size == size && strcmp(known->name, name) == 0) {
            return known;
        }
    }
    types->list = pfa_memory_grow(types->list, &types->room, types->count + 1, sizeof *types->list);
    types->list[types->count] =
        (pfa_type_t){.name = pfa_memory_copy(name, strlen(name)), .size = size, .rank = UINT32_MAX};
    pfa_slots_put(&types->slots, hash, (uint32_t)types->count);
    return &types->list[types->count++];
}

static void add_type(void *to, const char *name, uint64_t size, bool record)
{
    pfa_types_t *types = to;
    if (size >= types->sizes || !types->wanted[size]) {
        return;
    }
    uint32_t rank =
        (is_reserved(name) ? 4u : 0u) + (record ? 0u : 2u) + (types->main_module && !is_library(name) ? 0u : 1u);
    pfa_type_t *type = find_type(types, name, (uint32_t)size);
    type->rank = rank < type->rank ? rank : type->rank;
}

static void look(void *to, pfa_dwarf_t *dwarf)
{
    pfa_types_t *types = to;
    types->cut = !pfa_dwarf_types(dwarf, add_type, types, &types->left) || types->cut;
}

bool pfa_types_add(pfa_types_t *types, pfa_symbols_t *symbols, uint32_t module, bool main_module)
{
    uint64_t before = types->left;
    types->main_module = main_module;
    return pfa_symbols_dwarf(symbols, module, look, types) && types->left != before;
}

static int compare_types(const void *a, const void *b)
{
    const pfa_type_t *left = a;
    const pfa_type_t *right = b;
    if (left->size != right->size) {
        return left->size < right->size ? -1 : 1;
    }
    if (left->rank != right->rank) {
        return left->rank < right->rank ? -1 : 1;
    }
    return strcmp(left->name, right->name);
}

void pfa_types_finish(pfa_types_t *types)
{
    if (types->count != 0) {
        qsort(types->list, types->count, sizeof *types->list, compare_types);
    }
    for (size_t i = 0; i < types->count; i++) {
        pfa_text_clean(types->list[i].name, strlen(types->list[i].name));
    }
}

const pfa_type_t *pfa_types_find(const pfa_types_t *types, uint32_t size, size_t *count)
{
    size_t low = 0;
    size_t high = types->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (types->list[middle].size < size) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *count = 0;
    while (low + *count < types->count && types->list[low + *count].size == size) {
        ++*count;
    }
    return types->list != NULL ? &types->list[low] : NULL;
}
