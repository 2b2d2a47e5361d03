/* Gives inline functions of the runtime a body that tests/checks/golden.py can disassemble. Never called. */
#include "alloc/lookup.h"

PFA_EXPORT bool probe_lookup(uintptr_t address, pfa_hit_t *hit);

bool probe_lookup(uintptr_t address, pfa_hit_t *hit)
{
    return pfa_lookup(address, hit);
}
