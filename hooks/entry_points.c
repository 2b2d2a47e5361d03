/* Holds every entry point by name and address, so that one that is listed and not defined here does not link, and one
 * that another library took over shows. Used by the test that each resolves to us. */
#include "hooks/entry_points.h"

#define PFA_ENTRY(symbol, kind) extern const char pfa_at_##symbol[] __asm__(#symbol);
#include "hooks/entry_points.def"
#undef PFA_ENTRY

const pfa_entry_point_t pfa_entry_points[] = {
#define PFA_ENTRY(symbol, kind) {#symbol, pfa_at_##symbol},
#include "hooks/entry_points.def"
#undef PFA_ENTRY
    {NULL, NULL},
};
