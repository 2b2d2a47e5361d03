/* Where rings come from, and where they go when their thread ends. Inside meta/; the rest of the runtime has meta/ring.h.
 *
 * Rings have one of four sizes. A thread begins with a small one and exchanges it for a larger when it was found full, while
 * the option `buffers` allows it; half of that memory is kept for tiny ones, so that 10 000 threads can have one each. A ring
 * that is given back is another thread's next.
 *
 *   1. Nothing here takes a lock or waits. A ring is in one place at a time: with a thread, in the pool, or lent out.
 *   2. Everything that its last holder stored is seen by the next.
 *   3. A fork child starts anew with pfa_ringpool_after_fork, whatever the other threads were in the middle of. */
#ifndef PFA_META_RINGPOOL_H
#define PFA_META_RINGPOOL_H

#include "meta/ring.h"

/* For threads that may all be there at once: for so many there is memory in the default of `buffers`. */
#define PFA_RINGS_WANTED 10000
/* Rings that are lent out for one event each. */
#define PFA_RINGS_LENT 16

/* A ring for a thread that stays with it; NULL: there is none. */
pfa_ring_t *pfa_ringpool_take(void);
/* A larger one than this. */
pfa_ring_t *pfa_ringpool_take_larger(const pfa_ring_t *ring);
/* Is it smaller than those of the middle size, and does a thread stay with it? And one of that size. */
bool pfa_ringpool_is_small(const pfa_ring_t *ring);
pfa_ring_t *pfa_ringpool_take_middle(void);
/* For one event of a thread that can have none of its own. NULL: all of them are lent out now, or there is no memory. */
pfa_ring_t *pfa_ringpool_borrow(void);
/* The same for one that was borrowed and is full: a larger one in its place, or itself. */
pfa_ring_t *pfa_ringpool_borrow_larger(pfa_ring_t *ring);
/* Are there any to be lent? */
bool pfa_ringpool_lends(void);
/* Does another thread make some just now? Then there may be more in a moment. */
bool pfa_ringpool_makes(void);
/* The end of each of these. */
void pfa_ringpool_give(pfa_ring_t *ring);

/* Rings are numbered from 0 to below this; NULL: this one is not made yet. */
uint32_t pfa_ringpool_count(void);
pfa_ring_t *pfa_ringpool_at(uint32_t number);

void pfa_ringpool_after_fork(void);

#endif
