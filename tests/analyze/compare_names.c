/* The indexes of symbols and functions against going through all there are. Takes a number of random addresses, a seed, and
 * files of programs; asks for the addresses in their sections with code, and for those where symbols begin and end. Prints for
 * each file how many addresses it asked for, of how many there was a symbol, and how many functions were around them, inlined
 * ones too; or says where an answer is another, and fails. */
/* sources: analyze/names/dwarf_entries.c analyze/names/dwarf_functions.c analyze/names/elfsymbols.c analyze/names/spans.c analyze/base/slots.c analyze/base/memory.c analyze/base/notes.c analyze/base/progress.c analyze/base/text.c */
#include "analyze/names/dwarf_functions.h"
#include "analyze/names/elfsymbols.h"
#include "analyze/base/memory.h"
#include "tests/checked.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

typedef struct comparison {
    const char *path;
    Dwfl_Module *module;
    pfa_elfsymbols_t symbols;
    pfa_dwarf_functions_t functions;
    size_t asked;
    size_t named;
    size_t around;
} comparison_t;

static void fail(const comparison_t *comparison, GElf_Addr address, const char *ours, const char *expected)
{
    fprintf(stderr, "%s: 0x%llx is %s, expected %s\n", comparison->path, (unsigned long long)address,
            ours != NULL ? ours : "nothing", expected != NULL ? expected : "nothing");
    exit(1);
}

static void compare_symbol(comparison_t *comparison, GElf_Addr address)
{
    GElf_Off expected_offset = 0;
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char *expected =
        dwfl_module_addrinfo(comparison->module, address, &expected_offset, &symbol, NULL, NULL, NULL);
    const char *ours = pfa_elfsymbols_find(&comparison->symbols, comparison->module, address, &offset);
    if ((ours == NULL) != (expected == NULL) ||
        (ours != NULL && (strcmp(ours, expected) != 0 || offset != expected_offset))) {
        fail(comparison, address, ours, expected);
    }
    comparison->named += ours != NULL;
}

/* All functions of the unit with the address, wherever they are, each inside the one before. Of two side by side, which
 * assembler has under two names, the first counts. */
static void find_all(Dwarf_Die *around, Dwarf_Addr address, pfa_chain_t *chain)
{
    Dwarf_Die die;
    size_t before = chain->count;
    int status = dwarf_child(around, &die);
    for (; status == 0 && chain->count == before; status = dwarf_siblingof(&die, &die)) {
        int tag = dwarf_tag(&die);
        if ((tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) && dwarf_haspc(&die, address) > 0) {
            chain->list = pfa_memory_grow(chain->list, &chain->room, chain->count + 1, sizeof *chain->list);
            chain->list[chain->count++] = die;
        }
        find_all(&die, address, chain);
    }
}

static void compare_functions(comparison_t *comparison, GElf_Addr address)
{
    Dwarf_Addr bias;
    Dwarf_Die *unit = dwfl_module_addrdie(comparison->module, address, &bias);
    pfa_chain_t ours = {.list = NULL};
    pfa_chain_t expected = {.list = NULL};
    if (unit == NULL) {
        return;
    }
    find_all(unit, address - bias, &expected);
    bool found = pfa_dwarf_functions_find(&comparison->functions, unit, address - bias, &ours);
    if (found != (expected.count != 0) || ours.count != expected.count) {
        fail(comparison, address, found ? "in functions" : NULL, expected.count != 0 ? "others" : NULL);
    }
    for (size_t i = 0; i < ours.count; i++) {
        if (ours.list[i].addr != expected.list[i].addr) {
            fail(comparison, address, dwarf_diename(&ours.list[i]), dwarf_diename(&expected.list[i]));
        }
    }
    comparison->around += ours.count;
    pfa_memory_free(ours.list);
    pfa_memory_free(expected.list);
}

static void compare(comparison_t *comparison, GElf_Addr address)
{
    comparison->asked++;
    compare_symbol(comparison, address);
    compare_functions(comparison, address);
}

static GElf_Addr chance(GElf_Addr below)
{
    return (((GElf_Addr)random() << 31) ^ (GElf_Addr)random()) % below;
}

static void compare_edges(comparison_t *comparison, size_t count)
{
    int symbols = dwfl_module_getsymtab(comparison->module);
    for (size_t i = 0; i < count && symbols > 1; i++) {
        GElf_Sym symbol;
        GElf_Addr start;
        int number = 1 + (int)chance((GElf_Addr)symbols - 1);
        if (dwfl_module_getsym_info(comparison->module, number, &symbol, &start, NULL, NULL, NULL) != NULL) {
            compare(comparison, start - (i & 1));
            compare(comparison, start + symbol.st_size - (i & 1));
        }
    }
}

static void compare_section(comparison_t *comparison, const GElf_Shdr *section, GElf_Addr bias, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        /* a little beyond, too */
        compare(comparison, bias + section->sh_addr + chance(section->sh_size + 16));
    }
}

static void compare_sections(comparison_t *comparison, size_t count)
{
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(comparison->module, &bias);
    must(elf != NULL);
    for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn != NULL; scn = elf_nextscn(elf, scn)) {
        GElf_Shdr section;
        must(gelf_getshdr(scn, &section) != NULL);
        if ((section.sh_flags & SHF_EXECINSTR) != 0) {
            bool small = section.sh_size < count;
            compare_section(comparison, &section, bias, small ? section.sh_size : count);
        }
    }
}

static void compare_file(const char *path, size_t count)
{
    static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                             .find_debuginfo = dwfl_standard_find_debuginfo,
                                             .section_address = dwfl_offline_section_address};
    Dwfl *dwfl = dwfl_begin(&callbacks);
    must(dwfl != NULL);
    dwfl_report_begin(dwfl);
    comparison_t comparison = {.path = path, .module = dwfl_report_elf(dwfl, "module", path, -1, 0, true)};
    must(comparison.module != NULL && dwfl_report_end(dwfl, NULL, NULL) == 0);
    compare_sections(&comparison, count);
    compare_edges(&comparison, count / 4);
    printf("%zu %zu %zu %s\n", comparison.asked, comparison.named, comparison.around, path);
    pfa_elfsymbols_free(&comparison.symbols);
    pfa_dwarf_functions_free(&comparison.functions);
    dwfl_end(dwfl);
}

int main(int argc, char **argv)
{
    must(argc > 3);
    srandom((unsigned)strtoul(argv[2], NULL, 10));
    for (int i = 3; i < argc; i++) {
        compare_file(argv[i], strtoul(argv[1], NULL, 10));
    }
    return 0;
}
