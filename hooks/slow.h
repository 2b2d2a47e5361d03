/* What the two files of the long ways share: hooks/slow.c and hooks/resize.c. For nobody else. */
#ifndef PFA_HOOKS_SLOW_H
#define PFA_HOOKS_SLOW_H

#include "hooks/hooks.h"
#include "meta/depot.h"
#include "meta/ring.h"
#include "meta/stack.h"

/* Takes the stack of the caller of the function it is in, for the chunk that is made next. */
#define PFA_TAKE_STACK(tls)                                                                                            \
    do {                                                                                                               \
        if (PFA_LIKELY(!pfa_load_relaxed(&pfa_ring_closed))) {                                                         \
            pfa_unwind_start_t start_;                                                                                 \
            PFA_UNWIND_HERE(&start_);                                                                                  \
            (tls)->stack = pfa_stack_take((tls), &start_);                                                             \
        } else {                                                                                                       \
            (tls)->stack = PFA_NODE_UNKNOWN;                                                                           \
        }                                                                                                              \
    } while (0)

/* Decides whether an allocation is recorded whose bytes were just taken off the countdown. */
PFA_NOINLINE bool pfa_slow_is_due(pfa_tls_t *tls, size_t size, uint64_t *weight);
/* Frees on behalf of a caller that is noted in the thread's block already. */
void pfa_slow_free_for(void *chunk, const void *caller);
/* Says what is wrong with a pointer that was given to `call`. */
PFA_COLD void pfa_slow_refuse(void *chunk, const pfa_finding_t *finding, const void *caller, const char *call);

#endif
