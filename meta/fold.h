/* Folds: totals, by stack, of deaths that could not be told one by one, for want of room or of time. They are in the live table,
 * and in the trace's particulars.
 *
 * Adding takes PFA_LOCK_FOLDS, and PFA_LOCK_DEPOT where there are no totals near a stack yet: whoever folds has waited before,
 * or cannot write. */
#ifndef PFA_META_FOLD_H
#define PFA_META_FOLD_H

#include "meta/ring.h"

/* Adds a death to the totals of its stack. It is of this ring; `tail`, if not 0, is what the ring's becomes by that. */
void pfa_fold_event(const pfa_event_t *event, pfa_ring_t *ring, uint64_t tail);
/* The same for a thread that has none and found none. All of those share the word of which was the last, so `ended` is in the
 * word of the record before another's can be: after a kill, no other that was folded may be of a record that is still live. */
void pfa_fold_without_ring(const pfa_event_t *event, _Atomic uint64_t *word, uint64_t ended);
/* Entries up to before `to` cannot be written: adds them. The writer's. */
void pfa_fold_pending(pfa_ring_t *ring, uint64_t to);
/* The totals of a stack, NULL if none were added near it. */
const pfa_live_fold_t *pfa_fold_at(uint32_t stack);
/* Makes room for the totals of all stacks that there are, while there is some: on a full disk they would be lost. */
void pfa_fold_prepare(void);
/* What a death counts for, in 1/1024 chunks and in bytes; set once, by whoever knows the weights of samples. */
extern void (*pfa_fold_share)(uint64_t size_flags, uint64_t *chunks, uint64_t *bytes);

/* For another trace: there are none. */
void pfa_fold_begin_again(void);
/* In a fork child: they are the parent's. */
void pfa_fold_after_fork(void);

#endif
