/* Owns the use of elfutils. See analyze/names/dwarf.h. */
#include "analyze/names/dwarf.h"
#include "analyze/base/memory.h"
#include "analyze/names/debuginfod.h"
#include "analyze/names/dwarf_entries.h"
#include "analyze/names/dwarf_functions.h"
#include "analyze/names/elfsymbols.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct pfa_dwarf {
    Dwfl *dwfl;
    Dwfl_Module *module;
    pfa_elfsymbols_t symbols;
    pfa_dwarf_functions_t functions;
    pfa_dwarf_entries_t units; /* if libdwfl did not find one */
    bool has_units;
    bool loaded; /* debug information was looked for */
};

/* Of the C++ runtime, which the tool is linked with for this. */
extern char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

/* In the standard places, then from servers. */
static int find_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base, const char *file,
                          const char *link, GElf_Word checksum, char **found)
{
    const unsigned char *bits;
    GElf_Addr place;
    int fd = dwfl_standard_find_debuginfo(module, user, name, base, file, link, checksum, found);
    int size = fd < 0 ? dwfl_module_build_id(module, &bits, &place) : 0;
    return size > 0 ? pfa_debuginfod_find(*user, bits, (size_t)size, found) : fd;
}

static char *debug_path; /* NULL, always: the standard places */
static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                         .find_debuginfo = find_debuginfo,
                                         .section_address = dwfl_offline_section_address,
                                         .debuginfo_path = &debug_path};

static bool same_build(Dwfl_Module *module, const uint8_t *build_id, size_t size)
{
    const unsigned char *bits;
    GElf_Addr place;
    GElf_Addr bias;
    if (dwfl_module_getelf(module, &bias) == NULL) {
        return false;
    }
    int length = dwfl_module_build_id(module, &bits, &place);
    return size == 0 || (length == (int)size && memcmp(bits, build_id, size) == 0);
}

/* Asks the standard places and servers for the program of that build-id: it may be kept there though the path holds another
 * now. */
static Dwfl_Module *report_by_id(Dwfl *dwfl, const uint8_t *build_id, size_t size, pfa_debuginfod_t *servers)
{
    static const char hex[] = "0123456789abcdef";
    char path[32 + 2 * 64] = "/usr/lib/debug/.build-id/";
    char *at = path + strlen(path);
    if (size < 2 || size > 64) {
        return NULL;
    }
    for (size_t i = 0; i < size; i++) {
        *at++ = hex[build_id[i] >> 4];
        *at++ = hex[build_id[i] & 15];
        if (i == 0) {
            *at++ = '/';
        }
    }
    strcpy(at, ".debug");
    if (access(path, R_OK) == 0) {
        return dwfl_report_elf(dwfl, "module", path, -1, 0, true);
    }
    char *fetched = NULL;
    int fd = pfa_debuginfod_find(servers, build_id, size, &fetched);
    Dwfl_Module *module = fd >= 0 ? dwfl_report_elf(dwfl, "module", fetched, fd, 0, true) : NULL;
    if (module == NULL && fd >= 0) {
        (void)close(fd);
    }
    free(fetched);
    return module;
}

static Dwfl_Module *report(Dwfl *dwfl, const char *path, const uint8_t *build_id, size_t size,
                           pfa_debuginfod_t *servers, const char **why)
{
    struct stat status;
    bool file = path[0] == '/' && stat(path, &status) == 0 && S_ISREG(status.st_mode);
    dwfl_report_begin(dwfl);
    Dwfl_Module *module = file ? dwfl_report_elf(dwfl, "module", path, -1, 0, true) : NULL;
    *why = path[0] != '/' ? "it is no file" : access(path, F_OK) != 0 ? "it is not there" : "it cannot be read";
    if (module != NULL && !same_build(module, build_id, size)) {
        *why = "it is not the file that was run: its build-id is another";
        dwfl_report_begin(dwfl); /* forgets it */
        module = NULL;
    }
    if (module == NULL) {
        module = report_by_id(dwfl, build_id, size, servers);
    }
    (void)dwfl_report_end(dwfl, NULL, NULL);
    void **user;
    if (module != NULL && dwfl_module_info(module, &user, NULL, NULL, NULL, NULL, NULL, NULL) != NULL) {
        *user = servers; /* for find_debuginfo */
    }
    return module;
}

static void end_dwfl(void *object)
{
    const pfa_dwarf_t *dwarf = object;
    if (dwarf->dwfl != NULL) {
        dwfl_end(dwarf->dwfl);
    }
}

pfa_dwarf_t *pfa_dwarf_open(const char *path, const uint8_t *build_id, size_t build_id_size, pfa_debuginfod_t *servers,
                            const char **why)
{
    pfa_dwarf_t *dwarf = pfa_memory_object(sizeof *dwarf, end_dwfl);
    dwarf->dwfl = dwfl_begin(&callbacks);
    if (dwarf->dwfl != NULL) {
        dwarf->module = report(dwarf->dwfl, path, build_id, build_id_size, servers, why);
    }
    if (dwarf->module == NULL) {
        pfa_dwarf_close(dwarf);
        return NULL;
    }
    return dwarf;
}

void pfa_dwarf_close(pfa_dwarf_t *dwarf)
{
    if (dwarf == NULL) {
        return;
    }
    pfa_elfsymbols_free(&dwarf->symbols);
    pfa_dwarf_functions_free(&dwarf->functions);
    pfa_dwarf_entries_free(&dwarf->units);
    pfa_memory_free(dwarf);
}

/* libdw would end the process. Its own state is not used again: all names are given up (analyze/names/symbols.c). */
__attribute__((noreturn)) static void leave_work(void)
{
    pfa_memory_leave(ENOMEM);
}

/* Before libdw is asked for anything of the module. */
static void load(pfa_dwarf_t *dwarf)
{
    Dwarf_Addr bias;
    Dwarf *information = dwarf->loaded ? NULL : dwfl_module_getdwarf(dwarf->module, &bias);
    if (information != NULL) {
        (void)dwarf_new_oom_handler(information, leave_work);
        Dwarf *shared = dwarf_getalt(information);
        if (shared != NULL) {
            (void)dwarf_new_oom_handler(shared, leave_work);
        }
    }
    dwarf->loaded = true;
}

Dwfl_Module *pfa_dwarf_module(pfa_dwarf_t *dwarf)
{
    load(dwarf);
    return dwarf->module;
}

static void visit_named(void (*visit)(void *, const pfa_symbol_t *), void *to, const char *name, pfa_symbol_t *symbol)
{
    int status = -1;
    const char *version = name != NULL ? strchr(name, '@') : NULL; /* of the symbol, as in "read@@GLIBC_2.17" */
    char *cut = version != NULL && version != name ? pfa_memory_text(name, (size_t)(version - name)) : NULL;
    name = cut != NULL ? cut : name;
    void **plain = pfa_memory_hold(free);
    *plain = name != NULL && name[0] == '_' ? __cxa_demangle(name, NULL, NULL, &status) : NULL;
    symbol->function = status == 0 && *plain != NULL ? *plain : name;
    visit(to, symbol);
    pfa_memory_free(plain);
    pfa_memory_free(cut);
}

/* The linkage name tells arguments and scopes; the plain one is what C has. */
static const char *name_of(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    const char *name = NULL;
    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) != NULL ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute) != NULL) {
        name = dwarf_formstring(&attribute);
    }
    return name != NULL ? name : dwarf_diename(die);
}

static const char *call_file(Dwarf_Die *unit, Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Files *files;
    Dwarf_Word number;
    if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &number) != 0 ||
        dwarf_getsrcfiles(unit, &files, NULL) != 0) {
        return NULL;
    }
    return dwarf_filesrc(files, number, NULL, NULL);
}

static uint32_t call_line(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Word line = 0;
    return dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &line) == 0 ? (uint32_t)line : 0;
}

/* `address` is the last byte of the call. */
static uint32_t offset_of(Dwarf_Addr address, Dwarf_Addr start)
{
    return address >= start && address - start < UINT32_MAX ? (uint32_t)(address - start) + 1 : 0;
}

static uint32_t offset_in(Dwarf_Die *function, Dwarf_Addr address)
{
    Dwarf_Addr start;
    return dwarf_entrypc(function, &start) == 0 ? offset_of(address, start) : 0;
}

/* From the innermost function outwards: each inlined one says where in the next it was called. */
static bool visit_inlined(pfa_dwarf_functions_t *functions, Dwarf_Die *unit, Dwarf_Addr address, pfa_symbol_t *symbol,
                          const char *outermost, uint32_t offset, void (*visit)(void *, const pfa_symbol_t *), void *to)
{
    pfa_chain_t chain = {.list = NULL};
    bool found = pfa_dwarf_functions_find(functions, unit, address, &chain);
    for (size_t i = chain.count; i-- > 0;) {
        Dwarf_Die *die = &chain.list[i];
        symbol->inlined = dwarf_tag(die) == DW_TAG_inlined_subroutine;
        if (!symbol->inlined) {
            symbol->offset = outermost != NULL ? offset : offset_in(die, address);
        }
        visit_named(visit, to, symbol->inlined || outermost == NULL ? name_of(die) : outermost, symbol);
        if (!symbol->inlined) {
            break;
        }
        *symbol = (pfa_symbol_t){.file = call_file(unit, die), .line = call_line(die)};
    }
    pfa_memory_free(chain.list);
    return found;
}

/* libdwfl looks in .debug_aranges alone, which only some compilers write: Clang does not. The units have ranges of their own. */
static Dwarf_Die *find_unit(pfa_dwarf_t *dwarf, Dwarf_Addr address, Dwarf_Addr *bias)
{
    Dwarf_Die *unit = dwfl_module_addrdie(dwarf->module, address, bias);
    if (unit != NULL || dwfl_module_getdwarf(dwarf->module, bias) == NULL) {
        return unit;
    }
    if (!dwarf->has_units) {
        Dwarf_Addr same;
        for (Dwarf_Die *at = NULL; (at = dwfl_module_nextcu(dwarf->module, at, &same)) != NULL;) {
            pfa_dwarf_entries_add(&dwarf->units, at);
        }
        pfa_dwarf_entries_sort(&dwarf->units);
        dwarf->has_units = true;
    }
    return pfa_dwarf_entries_find(&dwarf->units, address - *bias);
}

static void find_line(Dwarf_Die *unit, Dwarf_Addr address, pfa_symbol_t *symbol)
{
    Dwarf_Line *line = dwarf_getsrc_die(unit, address);
    int number = 0;
    if (line != NULL) {
        symbol->file = dwarf_linesrc(line, NULL, NULL);
        symbol->line = dwarf_lineno(line, &number) == 0 && number > 0 ? (uint32_t)number : 0;
    }
}

/* Assemblers write lines, but not always functions. */
static bool is_assembler(Dwarf_Die *unit)
{
    return dwarf_srclang(unit) == DW_LANG_Mips_Assembler;
}

void pfa_dwarf_find(pfa_dwarf_t *dwarf, uint64_t address, void (*visit)(void *to, const pfa_symbol_t *symbol), void *to)
{
    pfa_symbol_t symbol = {.function = NULL};
    GElf_Off offset;
    load(dwarf);
    const char *name = pfa_elfsymbols_find(&dwarf->symbols, dwarf->module, address, &offset);
    Dwarf_Addr bias = 0;
    Dwarf_Die *unit = find_unit(dwarf, address, &bias);
    if (unit != NULL) {
        find_line(unit, address - bias, &symbol);
    }
    uint32_t distance = name != NULL ? offset_of(offset, 0) : 0;
    if (unit != NULL && visit_inlined(&dwarf->functions, unit, address - bias, &symbol, name, distance, visit, to)) {
        return;
    }
    if (unit != NULL && !is_assembler(unit)) {
        symbol = (pfa_symbol_t){.function = NULL}; /* the line may be of a function that was inlined into this one */
    }
    symbol.offset = distance;
    visit_named(visit, to, name, &symbol);
}
