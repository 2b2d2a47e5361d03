/* Debug information that is not there, in place of analyze/names/dwarf.c: for fuzz targets whose inputs name files of this
 * machine. See tests/fuzz/run.sh. */
#include "analyze/names/dwarf.h"

pfa_dwarf_t *pfa_dwarf_open(const char *path, const uint8_t *build_id, size_t build_id_size, pfa_debuginfod_t *servers,
                            const char **why)
{
    (void)path;
    (void)build_id;
    (void)build_id_size;
    (void)servers;
    *why = "not here";
    return NULL;
}

void pfa_dwarf_close(pfa_dwarf_t *dwarf)
{
    (void)dwarf;
}

void pfa_dwarf_find(pfa_dwarf_t *dwarf, uint64_t address, void (*visit)(void *to, const pfa_symbol_t *symbol), void *to)
{
    (void)dwarf;
    (void)address;
    (void)visit;
    (void)to;
}

bool pfa_dwarf_types(pfa_dwarf_t *dwarf, pfa_dwarf_type_visit_t *visit, void *to, uint64_t *left)
{
    (void)dwarf;
    (void)visit;
    (void)to;
    (void)left;
    return true;
}
