/* Gives inline functions of the runtime a body that tests/checks/golden.py can disassemble. Never called. */
#include "hooks/access/access.h"
#include "alloc/lookup.h"

PFA_EXPORT bool probe_lookup(uintptr_t address, pfa_hit_t *hit);

bool probe_lookup(uintptr_t address, pfa_hit_t *hit)
{
    return pfa_lookup(address, hit);
}

/* The access callbacks: as a module has them, with its own view. */
pfa_access_view_t pfa_access_view;

PFA_EXPORT void probe_access(uintptr_t address);
PFA_EXPORT void probe_access(uintptr_t address) /* no branch taken: of no concern */
{
    pfa_access(address, 8, PFA_ACCESS_READ);
}

PFA_EXPORT void probe_access_at(uintptr_t address);
PFA_EXPORT void probe_access_at(uintptr_t address) /* a chunk of a region, touched before by this thread */
{
    pfa_access_at(address, 7, PFA_ACCESS_READ);
}
