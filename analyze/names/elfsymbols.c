/* Owns the index of a module's symbols, and the choice between several at one address. See analyze/names/elfsymbols.h.
 *
 * The choice is that of libdwfl, which goes through the table and keeps the best so far; which one is best can depend on
 * their order there. tests/unit/test_elfsymbols.c holds it against libdwfl itself. */
#include "analyze/names/elfsymbols.h"
#include "analyze/base/memory.h"

#include <stdlib.h>

typedef struct candidate {
    int number;
    int rank; /* by its binding; the higher is preferred */
    GElf_Addr start;
    GElf_Xword size;
    const char *name;
} candidate_t;

/* Of one address: the symbols with a size that have it. */
typedef struct search {
    Dwfl_Module *module;
    int first_global;
    bool label; /* one without a size, and not local, is exactly there */
    candidate_t *list;
    size_t count;
    size_t room;
} search_t;

static int rank_of(const GElf_Sym *symbol)
{
    switch (GELF_ST_BIND(symbol->st_info)) {
    case STB_GLOBAL:
        return 3;
    case STB_WEAK:
        return 2;
    case STB_LOCAL:
        return 1;
    default:
        return 0;
    }
}

/* False: it cannot be what is at an address. */
static bool get_symbol(Dwfl_Module *module, int number, candidate_t *found)
{
    GElf_Sym symbol;
    found->number = number;
    found->name = dwfl_module_getsym_info(module, number, &symbol, &found->start, NULL, NULL, NULL);
    if (found->name == NULL || found->name[0] == '\0' || symbol.st_shndx == SHN_UNDEF) {
        return false;
    }
    found->rank = rank_of(&symbol);
    found->size = symbol.st_size;
    int type = GELF_ST_TYPE(symbol.st_info);
    return type != STT_SECTION && type != STT_FILE && type != STT_TLS;
}

static void make_index(pfa_elfsymbols_t *symbols, Dwfl_Module *module)
{
    int count = dwfl_module_getsymtab(module);
    symbols->made = true;
    symbols->first_global = dwfl_module_getsymtab_first_global(module);
    for (int i = 1; i < count; i++) {
        candidate_t symbol;
        if (get_symbol(module, i, &symbol)) {
            pfa_spans_add(&symbols->spans, symbol.start, symbol.size != 0 ? symbol.size : 1, (uint32_t)i);
        }
    }
    pfa_spans_sort(&symbols->spans);
}

void pfa_elfsymbols_free(pfa_elfsymbols_t *symbols)
{
    pfa_spans_free(&symbols->spans);
    symbols->made = false;
}

static void add_candidate(void *to, const pfa_span_t *span)
{
    search_t *search = to;
    candidate_t symbol;
    if (!get_symbol(search->module, (int)span->number, &symbol)) {
        return;
    }
    if (symbol.size == 0) {
        search->label = search->label || symbol.number >= search->first_global;
    } else {
        search->list = pfa_memory_grow(search->list, &search->room, search->count + 1, sizeof *search->list);
        search->list[search->count++] = symbol;
    }
}

static int compare_candidates(const void *left, const void *right)
{
    const candidate_t *a = left;
    const candidate_t *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

static bool is_better(const candidate_t *symbol, const candidate_t *best)
{
    return best == NULL || symbol->start > best->start || symbol->rank > best->rank ||
           (symbol->start == best->start && symbol->rank == best->rank && symbol->size < best->size);
}

/* Local ones count only where no other has the address, nor is exactly there. NULL: none counts. */
static const candidate_t *choose(const search_t *search)
{
    const candidate_t *best = NULL;
    bool local = search->list[search->count - 1].number < search->first_global;
    for (size_t i = 0; i < search->count && !(local && search->label); i++) {
        const candidate_t *symbol = &search->list[i];
        if ((local || symbol->number >= search->first_global) && is_better(symbol, best)) {
            best = symbol;
        }
    }
    return best;
}

/* Where no symbol with a size has the address, one without may be told, if nothing begins or ends between it and the
 * address. */
static bool may_be_label(const pfa_elfsymbols_t *symbols, Dwfl_Module *module, GElf_Addr address)
{
    candidate_t label;
    const pfa_span_t *span = pfa_spans_before(&symbols->spans, address);
    return span != NULL && get_symbol(module, (int)span->number, &label) && label.size == 0;
}

/* libdwfl knows whether one without a size is in the section of the address. */
static const char *ask_libdwfl(Dwfl_Module *module, GElf_Addr address, GElf_Off *offset)
{
    GElf_Sym symbol;
    return dwfl_module_addrinfo(module, address, offset, &symbol, NULL, NULL, NULL);
}

const char *pfa_elfsymbols_find(pfa_elfsymbols_t *symbols, Dwfl_Module *module, GElf_Addr address, GElf_Off *offset)
{
    if (!symbols->made) {
        make_index(symbols, module);
    }
    search_t search = {.module = module, .first_global = symbols->first_global};
    pfa_spans_find(&symbols->spans, address, add_candidate, &search);
    if (search.count == 0) {
        return may_be_label(symbols, module, address) ? ask_libdwfl(module, address, offset) : NULL;
    }
    qsort(search.list, search.count, sizeof *search.list, compare_candidates);
    const candidate_t *best = choose(&search);
    const char *name = best != NULL ? best->name : ask_libdwfl(module, address, offset);
    if (best != NULL) {
        *offset = address - best->start;
    }
    pfa_memory_free(search.list);
    return name;
}
