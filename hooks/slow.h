/* What the two files of the long ways share: hooks/slow.c and hooks/resize.c. For nobody else. */
#ifndef PFA_HOOKS_SLOW_H
#define PFA_HOOKS_SLOW_H

#include "hooks/hooks.h"
#include "meta/depot.h"
#include "meta/ring.h"
#include "meta/stack.h"

/* Takes the stack of the caller of the function it is in, for the chunk that is made next. `in_child` is what to do in a fork
 * child that does not know yet that it is one, and returns. */
#define PFA_TAKE_STACK_OR(tls, in_child)                                                                               \
    do {                                                                                                               \
        uint32_t state_ = pfa_wiped_now();                                                                             \
        if (PFA_LIKELY(state_ == PFA_TRACE)) {                                                                         \
            pfa_unwind_start_t start_;                                                                                 \
            PFA_UNWIND_HERE(&start_);                                                                                  \
            (tls)->stack = pfa_stack_take((tls), &start_);                                                             \
        } else if (PFA_UNLIKELY(state_ <= PFA_MENDING)) {                                                              \
            in_child;                                                                                                  \
        } else {                                                                                                       \
            (tls)->stack = PFA_NODE_UNKNOWN;                                                                           \
        }                                                                                                              \
    } while (0)
/* The same behind a pfa_wiped_check. */
#define PFA_TAKE_STACK(tls) PFA_TAKE_STACK_OR(tls, (tls)->stack = PFA_NODE_UNKNOWN)

/* Decides whether an allocation is recorded whose bytes were just taken off the countdown. */
PFA_NOINLINE bool pfa_slow_is_due(pfa_tls_t *tls, size_t size, uint64_t *weight);
/* Frees on behalf of a caller that is noted in the thread's block already. */
void pfa_slow_free_for(void *chunk, const void *caller);
/* Says what is wrong with a pointer that was given to `call`. */
PFA_COLD void pfa_slow_refuse(void *chunk, const pfa_finding_t *finding, const void *caller, const char *call);

#endif
