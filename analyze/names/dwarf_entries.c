/* Owns lists of entries of debug information with their ranges. See analyze/names/dwarf_entries.h. Part of the use of elfutils,
 * like analyze/names/dwarf.c. */
#include "analyze/names/dwarf_entries.h"
#include "analyze/base/memory.h"

#include <stdlib.h>

void pfa_dwarf_entries_add(pfa_dwarf_entries_t *entries, Dwarf_Die *die)
{
    Dwarf_Addr base;
    Dwarf_Addr begin;
    Dwarf_Addr end;
    ptrdiff_t next = 0;
    size_t before = entries->spans.count;
    while ((next = dwarf_ranges(die, next, &base, &begin, &end)) > 0) {
        if (begin < end) {
            pfa_spans_add(&entries->spans, begin, end - begin, (uint32_t)entries->count);
        }
    }
    if (entries->spans.count != before) {
        entries->list = pfa_memory_grow(entries->list, &entries->room, entries->count + 1, sizeof *entries->list);
        entries->list[entries->count++] = *die;
    }
}

void pfa_dwarf_entries_sort(pfa_dwarf_entries_t *entries)
{
    pfa_spans_sort(&entries->spans);
}

void pfa_dwarf_entries_free(pfa_dwarf_entries_t *entries)
{
    pfa_memory_free(entries->list);
    pfa_spans_free(&entries->spans);
    *entries = (pfa_dwarf_entries_t){.list = NULL};
}

static void find_first(void *to, const pfa_span_t *span)
{
    uint32_t *first = to;
    *first = span->number < *first ? span->number : *first;
}

Dwarf_Die *pfa_dwarf_entries_find(const pfa_dwarf_entries_t *entries, Dwarf_Addr address)
{
    uint32_t first = UINT32_MAX;
    pfa_spans_find(&entries->spans, address, find_first, &first);
    return first != UINT32_MAX ? &entries->list[first] : NULL;
}
