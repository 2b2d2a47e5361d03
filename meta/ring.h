/* Event rings: how deaths get from the threads to the writer. Each thread has a ring in the live table that it alone fills
 * and the writer alone empties; what is in it when the process is killed is read from there.
 *
 *   1. pfa_ring_next and pfa_ring_commit store an event with plain stores and one release; no lock, no atomic read-modify-write. A thread
 *      without a ring (gone, or beyond the memory allowed) shares one, under PFA_LOCK_RINGS.
 *   2. A full ring makes its thread wait for the writer, at most PFA_RING_PATIENCE_NS each time the writer has stood still
 *      since; then deaths are folded: added to the totals of their stack, exactly. They are never lost.
 *   3. Entries are numbered from 0 for as long as the ring lives, whatever threads have it.
 *   4. Only the writer (under PFA_LOCK_WRITER) calls pfa_ring_pending and pfa_ring_done. */
#ifndef PFA_META_RING_H
#define PFA_META_RING_H

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/tls.h"
#include "base/wiped.h"
#include "export/format/live.h"

#include <stdbool.h>
#include <stddef.h>

#define PFA_RINGS 4096
#define PFA_RING_PATIENCE_NS 5000000

typedef struct pfa_ring {
    uint64_t head;  /* entries stored */
    uint64_t limit; /* entries for which there is room, as far as known */
    uint64_t mask;
    pfa_event_t *entries;
    pfa_event_accesses_t *accesses; /* of each entry, where they are recorded; else NULL */
    pfa_live_ring_t *shared;
    uint64_t waited;    /* ticks that its thread has waited for room, not told yet */
    uint64_t wake_mask; /* the writer is told when head is a multiple of this and one */
    bool impatient;     /* the writer stood still the last time it was waited for */
    bool taken;
    uint32_t number;
} pfa_ring_t;

/* Called when a ring is half full. Set once at start. */
extern void (*pfa_ring_want_writer)(void);
/* Called when a ring is full and may be emptied by its own thread; false: that cannot be now. Set once at start. */
extern bool (*pfa_ring_write_here)(void);
/* Is there a trace? Else events are dropped: while there is no session, or after its end. The answer is in the word by which
 * a fork child knows itself (base/wiped.h). */
PFA_INLINE bool pfa_ring_is_open(void)
{
    return pfa_wiped_now() == PFA_TRACE;
}
PFA_INLINE void pfa_ring_set_open(bool open)
{
    pfa_store_release(&pfa_wiped.word, (uint32_t)(open ? PFA_TRACE : PFA_NO_TRACE));
}

/* Stores the event where there is no room at hand, and `ended` in the word of its record, before another thread's event can
 * come behind it in a ring they share: of a ring, only the last may be of a record that is still live (live.h). */
PFA_NOINLINE void pfa_ring_push_slowly(pfa_tls_t *tls, const pfa_event_t *event, const pfa_event_accesses_t *accesses,
                                       _Atomic uint64_t *word, uint64_t ended);
PFA_NOINLINE void pfa_ring_wake(void);

/* The entry to fill next, NULL if there is none at hand. */
PFA_INLINE pfa_event_t *pfa_ring_next(const pfa_ring_t *ring)
{
    if (PFA_UNLIKELY(ring == NULL) || PFA_UNLIKELY(ring->head == ring->limit)) {
        return NULL;
    }
    return &ring->entries[ring->head & ring->mask];
}

/* The accesses that belong to it, if they are recorded. */
PFA_INLINE pfa_event_accesses_t *pfa_ring_next_accesses(const pfa_ring_t *ring)
{
    return &ring->accesses[ring->head & ring->mask];
}

/* It is filled. */
PFA_INLINE void pfa_ring_commit(pfa_ring_t *ring)
{
    uint64_t head = ++ring->head;
    pfa_store_release(&ring->shared->head, head); /* partner: pfa_ring_pending */
    if (PFA_UNLIKELY((head & ring->wake_mask) == 0)) {
        pfa_ring_wake();
    }
}

/* The calling thread's end. */
void pfa_ring_leave(pfa_tls_t *tls);
/* Rings are numbered from 0 to below this. */
uint32_t pfa_ring_count(void);
/* Entries of a ring that are not in the trace yet: from *from to before *to. */
pfa_ring_t *pfa_ring_pending(uint32_t number, uint64_t *from, uint64_t *to);
/* The entries before `to` are in the trace. */
void pfa_ring_done(pfa_ring_t *ring, uint64_t to);
/* Makes room for the totals of all stacks that there are, while there is some: on a full disk they would be lost. */
void pfa_ring_prepare(void);
/* Waits for whoever stores an event in the ring of threads without one, until the record says so too. */
void pfa_ring_settle(void);
/* How many wait in all rings. */
uint64_t pfa_ring_backlog(bool *urgent);

/* Entries up to before `to` cannot be written: adds them to the totals of their stacks. */
void pfa_ring_fold_pending(pfa_ring_t *ring, uint64_t to);
/* The totals of a stack, NULL if none were added near it. */
const pfa_live_fold_t *pfa_fold_at(uint32_t stack);
/* What a death counts for, in 1/1024 chunks and in bytes; set once, by whoever knows the weights of samples. */
extern void (*pfa_fold_share)(uint64_t size_flags, uint64_t *chunks, uint64_t *bytes);

/* For another trace: what is in the rings now is of it, and there are no folds. */
void pfa_ring_begin_again(void);
/* In a fork child: there are no rings and no folds yet. */
void pfa_ring_after_fork(pfa_tls_t *tls);

#endif
