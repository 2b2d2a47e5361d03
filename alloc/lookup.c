/* Owns the look-ups that are not hot, and the types of chunks. See alloc/lookup.h and alloc/chunk.h. */
#include "alloc/lookup.h"
#include "alloc/chunk.h"
#include "alloc/rcu.h"
#include "base/tls.h"

uint32_t pfa_chunk_type(uintptr_t address)
{
    uintptr_t start;
    pfa_wide_record_t copy;
    return pfa_lookup_copy(address, &start, &copy) && start == address ? copy.record.type_link & PFA_TYPE_MASK : 0;
}

bool pfa_chunk_set_type(uintptr_t address, uint32_t type)
{
    pfa_hit_t hit;
    bool entered = pfa_rcu_enter(&pfa_tls);
    bool found = !pfa_range.blind && pfa_lookup(address, &hit) && hit.start == address;
    if (found) { /* nobody else writes it while the chunk lives */
        uint32_t link = __atomic_load_n(&hit.record->type_link, __ATOMIC_RELAXED) & ~PFA_TYPE_MASK;
        __atomic_store_n(&hit.record->type_link, link | (type & PFA_TYPE_MASK), __ATOMIC_RELAXED);
    }
    pfa_rcu_leave(entered);
    return found;
}

bool pfa_lookup_copy(uintptr_t address, uintptr_t *start, pfa_wide_record_t *copy)
{
    pfa_hit_t hit;
    bool entered = pfa_rcu_enter(&pfa_tls);
    bool found = pfa_lookup(address, &hit);
    if (found) {
        *start = hit.start;
        copy->record = *hit.record;
        pfa_accesses_begin(&copy->accesses);
        if (pfa_range_has_accesses(pfa_load_relaxed(&copy->record.size_flags))) {
            copy->accesses = *pfa_record_accesses(hit.record);
        }
    }
    pfa_rcu_leave(entered);
    return found;
}
