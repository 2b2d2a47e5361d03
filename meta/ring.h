/* Event rings: how deaths get from the threads to the writer. Each thread has a ring in the live table that it alone fills
 * and the writer alone empties; what is in it when the process is killed is read from there.
 *
 *   1. pfa_ring_next and pfa_ring_commit store an event with plain stores and one release; no lock, no atomic read-modify-write.
 *      No other call takes a lock either, but for folding. A thread that can have no ring of its own (its destructors have run,
 *      or there are more threads than the memory allowed has rings for) borrows one for each event (meta/ringpool.h).
 *   2. A thread whose ring is full goes on in a larger one. (So does one whose small ring was filled several times: the writer
 *      is called less often then, and what it writes costs it less.) If it can have none it waits for the writer: until that has
 *      waited for the disk for PFA_RING_DISK_NS, since nobody else is to, and for PFA_RING_PATIENCE_NS at most, since it may be
 *      that it gets no processor. Then deaths are folded: added to the totals of their stack, exactly. They are never lost. A
 *      thread that has waited in vain does not wait again before the writer has been there.
 *   3. Entries are numbered from 0 for as long as the ring lives, whatever threads have it.
 *   4. Only the writer (under PFA_LOCK_WRITER) calls pfa_ring_pending, pfa_ring_done and those for urgent rings. */
#ifndef PFA_META_RING_H
#define PFA_META_RING_H

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/tls.h"
#include "base/wiped.h"
#include "export/format/live.h"

#include <stdbool.h>
#include <stddef.h>

#define PFA_RINGS 16384
#define PFA_RING_DISK_NS 20000000
#define PFA_RING_PATIENCE_NS 10000000000

/* What is told of a death beside the event, if the trace is to have it. */
typedef struct pfa_event_more {
    pfa_event_accesses_t accesses;
    uint64_t address;
} pfa_event_more_t;

typedef struct pfa_ring {
    /* Its thread's: */
    _Alignas(64) uint64_t head; /* entries stored */
    uint64_t limit;             /* entries for which there is room, as far as known */
    uint64_t mask;
    pfa_event_t *entries;
    pfa_event_accesses_t *accesses; /* of each entry, where they are recorded; else NULL */
    uint64_t *addresses;            /* likewise */
    pfa_live_ring_t *shared;
    uint32_t wake_mask; /* the writer is told when head is a multiple of this and one */
    bool has_more;      /* are there accesses, or addresses? */
    /* Of both sides: */
    _Alignas(64) _Atomic uint32_t progress; /* counts what the writer has emptied; the thread sleeps on it */
    _Atomic uint32_t waiting;               /* 1: the thread sleeps, or is about to */
    _Atomic uint32_t urgent;                /* 1: it is on the list of those that want the writer, */
    _Atomic uint32_t next_urgent;           /* before this one: its number and 1 */
    _Atomic uint32_t next_free;             /* the same in the pool */
    uint32_t number;
    _Atomic bool ready;
    bool impatient;   /* the writer stood still the last time it was waited for */
    bool is_lent;     /* is it one of those that are lent out? */
    bool is_outgrown; /* should its thread have a larger one, if there is one? */
    uint8_t size;     /* which of the pool's sizes */
    uint64_t waited;  /* ticks that its thread has waited for room, not told yet */
} pfa_ring_t;
_Static_assert(offsetof(pfa_ring_t, progress) == 64, "what each event needs is one cache line");

/* Called when another part of a ring is full (meta/ringpool.c). Set once at start. */
extern void (*pfa_ring_want_writer)(void);
/* Called while a thread waits for room, which empties rings itself if there is no background thread; false: that cannot be now.
 * Set once at start. */
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

/* Stores the event where there is no room at hand, and `ended` in the word of its record, before another event can come behind
 * it: of a ring, only the last may be of a record that is still live (live.h). With tls->in_ring, the caller is a signal handler
 * that came into the middle of the thread's own: it borrows a ring. */
PFA_NOINLINE void pfa_ring_push_slowly(pfa_tls_t *tls, const pfa_event_t *event, const pfa_event_more_t *more,
                                       _Atomic uint64_t *word, uint64_t ended);
/* Another part of it is full: tells the writer. */
PFA_NOINLINE void pfa_ring_wake(pfa_ring_t *ring);

/* The entry to fill next, NULL if there is none at hand. */
PFA_INLINE pfa_event_t *pfa_ring_next(const pfa_ring_t *ring)
{
    if (PFA_UNLIKELY(ring == NULL) || PFA_UNLIKELY(ring->head == ring->limit)) {
        return NULL;
    }
    return &ring->entries[ring->head & ring->mask];
}

/* What else belongs to it, of a ring that has more. */
PFA_INLINE void pfa_ring_put_more(const pfa_ring_t *ring, const pfa_event_more_t *more)
{
    if (ring->accesses != NULL) {
        ring->accesses[ring->head & ring->mask] = more->accesses;
    }
    if (ring->addresses != NULL) {
        ring->addresses[ring->head & ring->mask] = more->address;
    }
}

/* It is filled. */
PFA_INLINE void pfa_ring_commit(pfa_ring_t *ring)
{
    uint64_t head = ++ring->head;
    pfa_store_release(&ring->shared->head, head); /* partner: pfa_ring_pending */
    if (PFA_UNLIKELY((head & ring->wake_mask) == 0)) {
        pfa_ring_wake(ring);
    }
}

/* The calling thread's end. */
void pfa_ring_leave(pfa_tls_t *tls);
/* The end of a thread that is gone without a word, whose ring this was. */
void pfa_ring_leave_behind(pfa_ring_t *ring);
/* Rings are numbered from 0 to below this. */
uint32_t pfa_ring_count(void);
/* Is there a ring that has asked for the writer? */
bool pfa_ring_any_urgent(void);
/* Takes all of those, then gives one at a time, each once; NULL: no more. */
void pfa_ring_take_urgent(void);
pfa_ring_t *pfa_ring_next_urgent(void);
/* All of them are looked at now anyway. */
void pfa_ring_forget_urgent(void);
/* Entries of a ring that are not in the trace yet: from *from to before *to. NULL: it is still being made. */
pfa_ring_t *pfa_ring_pending(uint32_t number, uint64_t *from, uint64_t *to);
/* The entries before `to` are in the trace. */
void pfa_ring_done(pfa_ring_t *ring, uint64_t to);
/* Waits, for a while, for those who have borrowed a ring: until each of their records says what the event does. False: somebody
 * still has one. */
bool pfa_ring_settle(void);
/* Around a system call of the writer's that may wait for the disk. */
void pfa_ring_goes_to_disk(void);
void pfa_ring_comes_from_disk(void);
/* How many wait in all rings. */
uint64_t pfa_ring_backlog(bool *urgent);

/* For another trace: what is in the rings now is of it. */
void pfa_ring_begin_again(void);
/* In a fork child: there are no rings yet. */
void pfa_ring_after_fork(pfa_tls_t *tls);

#endif
