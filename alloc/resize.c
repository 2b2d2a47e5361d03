/* Owns what realloc does to the record of a chunk that stays where it is. See alloc/chunk.h for who may call what. */
#include "alloc/chunk.h"
#include "alloc/finding.h"
#include "alloc/large.h"
#include "alloc/life.h"
#include "meta/clock.h"
#include "meta/thread.h"

static void resize(pfa_tls_t *tls, uintptr_t address, pfa_record_t *record, unsigned class, size_t size, bool due,
                   uint64_t weight)
{
    uint64_t old = pfa_load_relaxed(&record->size_flags);
    uint64_t kept = old & (PFA_FLAG_LARGE | PFA_FLAG_ALIGNED | PFA_FLAG_LEAD);
    bool large = (old & PFA_FLAG_LARGE) != 0;
    uint64_t now = pfa_clock_now(tls);
    pfa_life_next_link(tls);
    if (pfa_is_live(old)) {
        tls->moved_time = now;
        pfa_life_tell_slowly(tls, address, record, old);
        tls->moved_time = 0;
        /* Not live while it is neither the old life nor the new one: a kill in between would leave a third. */
        pfa_record_end(record, old);
        pfa_fence_release();
        pfa_life_count_death(tls, large ? pfa_large_class(pfa_size_of(old)) : class, old);
    } else {
        pfa_chunk_count_inherited(old);
    }
    if (!due) {
        pfa_store_relaxed(&record->size_flags, pfa_size_flags(size, kept | PFA_FLAGS_SILENT));
        return;
    }
    uint64_t fresh = pfa_size_flags(size, kept | PFA_FLAG_REALLOC | weight);
    if (pfa_range_has_accesses(old)) {
        pfa_accesses_begin(pfa_record_accesses(record));
    }
    uint32_t type = pfa_is_live(old) ? record->type_link & PFA_TYPE_MASK : 0;
    pfa_record_begin(record, now, fresh, tls->stack, pfa_life_link(tls) | type,
                     tls->record_tail | pfa_record_tail(0, record->lead));
    if (pfa_life_count_birth(tls, large ? pfa_large_class(size) : class, fresh)) {
        pfa_live_settle(tls);
    }
}

static uint64_t inherited_large_flags(const pfa_large_t *node)
{
    return PFA_FLAG_LARGE | (node->aligned ? PFA_FLAG_ALIGNED : 0);
}

void pfa_chunk_resize(pfa_tls_t *tls, uintptr_t address, size_t size, bool due, uint64_t weight)
{
    uint64_t offset = address - pfa_range.base;
    if (PFA_UNLIKELY(pfa_range.blind)) {
        return;
    }
    if (offset < pfa_range.region_span) {
        pfa_place_t place = pfa_region_place(offset);
        if (pfa_finding_is_inherited(place.record) && pfa_place_within(&place) != 0) {
            uint16_t lead = (uint16_t)(pfa_place_within(&place) >> PFA_LEAD_SHIFT);
            pfa_store_relaxed(&place.record->tail, pfa_record_tail(0, lead));
            pfa_store_relaxed(&place.record->size_flags, PFA_FLAG_ALIGNED | PFA_FLAG_LEAD | PFA_FLAGS_SILENT);
        }
        resize(tls, address, place.record, pfa_word_class(place.word), size, due, weight);
        return;
    }
    bool entered = pfa_rcu_enter(tls);
    pfa_large_t *node = pfa_intervalmap_find(&pfa_range.large, address);
    if (node != NULL) {
        if (pfa_finding_is_inherited(node->record)) { /* what it says of itself, it has forgotten */
            pfa_store_relaxed(&node->record->size_flags, inherited_large_flags(node));
        }
        resize(tls, address, node->record, 0, size, due, weight);
    }
    pfa_rcu_leave(entered);
}
