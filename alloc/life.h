/* The life of a region chunk, hot: its record from the first store to the last, and the counts. Inline, for the entry
 * points that record everything; everyone else goes through alloc/chunk.h.
 *
 * Budget beyond mimalloc's own: birth eight loads, one multiply, half a cache line written, two stores that keep handlers
 * off, three counters; death eight loads, one multiply, one store, three that keep handlers off, three counters. No call, no
 * atomic read-modify-write, no lock. */
#ifndef PFA_ALLOC_LIFE_H
#define PFA_ALLOC_LIFE_H

#include "alloc/region.h"
#include "meta/measure.h"
#include "meta/ring.h"
#include "meta/stack.h"
#include "meta/thread.h"

/* What a chunk counts for: itself alone, unless it was sampled. */
typedef struct pfa_share {
    uint64_t chunks;
    uint64_t bytes;
} pfa_share_t;

PFA_NOINLINE pfa_share_t pfa_life_sampled_share(uint64_t size_flags);

PFA_INLINE pfa_share_t pfa_life_share(uint64_t size_flags)
{
    if (PFA_UNLIKELY((size_flags & PFA_WEIGHT_MASK) != 0)) {
        return pfa_life_sampled_share(size_flags);
    }
    return (pfa_share_t){PFA_COUNT_ONE, pfa_size_of(size_flags)};
}

/* Samples are allowed the wider slack. */
PFA_INLINE bool pfa_life_settles(const pfa_tls_t *tls, uint64_t size_flags)
{
    int64_t delta = tls->live_delta;
    return (size_flags & PFA_WEIGHT_MASK) == 0 || delta > PFA_LIVE_SLACK_SAMPLED || delta < -PFA_LIVE_SLACK_SAMPLED;
}

/* True when the live total should be settled (meta/thread.h). */
PFA_INLINE bool pfa_life_count_birth(pfa_tls_t *tls, unsigned class, uint64_t size_flags)
{
    pfa_share_t share = pfa_life_share(size_flags);
    bool settle = pfa_count_alloc(tls, class, share.chunks, share.bytes);
    return settle && pfa_life_settles(tls, size_flags);
}

/* For a thread with or without counters. */
PFA_INLINE void pfa_life_count_death(pfa_tls_t *tls, unsigned class, uint64_t size_flags)
{
    pfa_share_t share = pfa_life_share(size_flags);
    if (tls->thread == NULL) {
        pfa_count_orphan_free(class, share.chunks, share.bytes);
    } else if (pfa_count_free(tls, tls->thread, class, share.chunks, share.bytes) &&
               pfa_life_settles(tls, size_flags)) {
        pfa_live_settle(tls);
    }
}

/* What was done with a chunk. Of a wide record. */
PFA_INLINE pfa_event_accesses_t pfa_life_accesses(pfa_record_t *record, uint64_t size_flags)
{
    _Static_assert(sizeof(pfa_live_accesses_t) == sizeof(pfa_accesses_t), "one layout");
    const pfa_live_accesses_t *live = (const pfa_live_accesses_t *)(const void *)pfa_record_accesses(record);
    return pfa_live_accesses(live, record->alloc_time, pfa_size_of(size_flags));
}

/* What is told beside the event; and where the next event of a ring is. Out of line: most traces have only events. */
PFA_NOINLINE void pfa_life_more(pfa_event_more_t *more, pfa_record_t *record, uint64_t size_flags, uintptr_t address,
                                uint64_t now);
PFA_NOINLINE void pfa_life_tell_more(const pfa_ring_t *ring, pfa_record_t *record, uint64_t size_flags,
                                     uintptr_t address, uint64_t now);

/* Where no death is told: then nobody asks when its site's chunks were used (meta/usual.h). */
PFA_NOINLINE void pfa_life_forget_use(const pfa_record_t *record);

/* Hands a death to the writer, then marks the record dead. In this order: a thread that is killed in between leaves both, and
 * the reader knows that (export/format/live.h). A signal handler that frees meanwhile has neither the same entry nor the one
 * behind it. */
PFA_INLINE void pfa_life_tell(pfa_tls_t *tls, uintptr_t address, pfa_record_t *record, uint64_t size_flags,
                              uint64_t event_flags, uint32_t free_stack, uint64_t now)
{
    pfa_event_t aside;
    bool in_handler = tls->in_ring;
    tls->in_ring = true;
    pfa_fence_compiler();
    pfa_ring_t *ring = tls->ring;
    pfa_event_t *event = in_handler ? NULL : pfa_ring_next(ring);
    if (PFA_UNLIKELY(event == NULL)) {
        event = &aside;
    }
    event->alloc_time = record->alloc_time;
    event->free_time = now;
    event->size_flags = (size_flags & ~(uint64_t)PFA_FLAGS_SILENT) | event_flags;
    event->stack = record->stack;
    event->free_stack = free_stack;
    event->type_link = record->type_link;
    uint64_t tail = pfa_load_relaxed(&record->tail);
    event->thread = (uint16_t)tail;
    event->tag = (uint16_t)(tail >> 16);
    event->free_thread = (uint16_t)tls->record_tail;
    event->last_thread = (uint16_t)(tail >> 32);
    event->moved_link = event_flags != 0 ? tls->link : 0;
    if (PFA_UNLIKELY(event == &aside)) {
        pfa_event_more_t more;
        pfa_life_more(&more, record, size_flags, address, now);
        tls->in_ring = in_handler;
        pfa_ring_push_slowly(tls, event, &more, &record->size_flags, pfa_record_ended(size_flags));
        return;
    }
    if (PFA_UNLIKELY(ring->has_more)) {
        pfa_life_tell_more(ring, record, size_flags, address, now);
    }
    pfa_ring_commit(ring);
    pfa_store_relaxed(&record->size_flags, pfa_record_ended(size_flags));
    pfa_fence_compiler();
    tls->in_ring = false;
}

/* The same where nothing is known of the thread, with what it has noted of the free: if there is a trace. Else the record is
 * as it was. */
PFA_NOINLINE void pfa_life_tell_slowly(pfa_tls_t *tls, uintptr_t address, pfa_record_t *record, uint64_t size_flags);

/* For the record of a chunk that the realloc under way makes. */
PFA_INLINE uint32_t pfa_life_link(const pfa_tls_t *tls)
{
    return tls->link << PFA_TYPE_BITS;
}

PFA_INLINE void pfa_life_next_link(pfa_tls_t *tls)
{
    tls->link = (tls->link + 1) & PFA_LINK_MASK;
}

/* What to ask the backing for. */
PFA_INLINE size_t pfa_life_slot_size(size_t size)
{
    return size < PFA_REGION_SLOT_MIN ? PFA_REGION_SLOT_MIN : size;
}

/* Writes the record of a chunk just taken from the region heap, of a page that was published, and counts it. True when
 * the live total should be settled. */
PFA_INLINE bool pfa_life_begin(pfa_tls_t *tls, uintptr_t chunk, uint64_t size_flags, uint64_t now)
{
    uint64_t offset = chunk - pfa_range.base;
    pfa_place_t place = pfa_region_place(offset);
    uint64_t tail = tls->record_tail;
    if (PFA_UNLIKELY((size_flags & PFA_FLAG_ALIGNED) != 0) && !pfa_place_is_start(&place)) {
        tail |= pfa_record_tail(0, (uint16_t)(pfa_place_within(&place) >> PFA_LEAD_SHIFT));
        size_flags |= PFA_FLAG_LEAD;
    }
    if (PFA_UNLIKELY(pfa_range_is_wide())) {
        pfa_accesses_begin(pfa_record_accesses(place.record));
    }
    uint32_t link = (size_flags & PFA_FLAG_REALLOC) != 0 ? pfa_life_link(tls) : 0;
    pfa_record_begin(place.record, now, size_flags, tls->stack, link, tail);
    return pfa_life_count_birth(tls, pfa_word_class(place.word), size_flags);
}

typedef enum pfa_ending {
    PFA_LIFE_NOT,         /* nothing done: it is not the frequent case */
    PFA_LIFE_ENDED,       /* dead and counted: the caller gives the chunk to the backing */
    PFA_LIFE_ENDED_SETTLE /* and settles the live total */
} pfa_ending_t;

/* Tells the death of a region chunk, marks it dead and counts it, in the frequent case: it is live, starts at the address
 * and with its slot, was not sampled, and the thread has counters and no reason to go the long way. The backing gets it
 * after that, since the slot's next owner writes the same record. */
PFA_INLINE pfa_ending_t pfa_life_end(pfa_tls_t *tls, uintptr_t address)
{
    pfa_thread_t *thread = tls->short_free;
    uint64_t offset = address - pfa_range.base;
    if (PFA_UNLIKELY(thread == NULL) || PFA_UNLIKELY(offset >= pfa_range.region_span)) {
        return PFA_LIFE_NOT;
    }
    /* A word of zeros has the reciprocal 0, and nothing is a start by it. */
    pfa_place_t place = pfa_region_place(offset);
    if (PFA_UNLIKELY(!pfa_place_is_start(&place))) {
        return PFA_LIFE_NOT;
    }
    uint64_t size_flags = pfa_load_relaxed(&place.record->size_flags);
    if (PFA_UNLIKELY((size_flags & (PFA_FLAGS_SILENT | PFA_FLAG_LEAD | PFA_WEIGHT_MASK)) != PFA_FLAG_LIVE)) {
        return PFA_LIFE_NOT;
    }
    uint32_t state = pfa_wiped_now();
    if (PFA_LIKELY(state == PFA_TRACE)) {
        uint32_t site = pfa_stack_site(tls, tls->free_site);
        pfa_life_tell(tls, address, place.record, size_flags, 0, site, pfa_measure_now(tls));
    } else if (state == PFA_NO_TRACE) {
        if (PFA_UNLIKELY(pfa_range_is_wide())) {
            pfa_life_forget_use(place.record);
        }
        pfa_store_relaxed(&place.record->size_flags, pfa_record_ended(size_flags));
    } else {
        return PFA_LIFE_NOT; /* the record is not this process's */
    }
    return pfa_count_free(tls, thread, pfa_word_class(place.word), PFA_COUNT_ONE, pfa_size_of(size_flags))
               ? PFA_LIFE_ENDED_SETTLE
               : PFA_LIFE_ENDED;
}

#endif
