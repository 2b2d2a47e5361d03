/* Stacks of allocations and places of frees, as numbers of the depot's nodes.
 *
 * A thread keeps the stacks it took lately, by a 64-bit hash of their return addresses, so that a stack taken before costs
 * the walk and one probe. All is of the calling thread; only a stack that is new to the process takes a lock. */
#ifndef PFA_META_STACK_H
#define PFA_META_STACK_H

#include "base/compiler.h"
#include "base/tls.h"
#include "meta/thread.h"
#include "meta/unwind.h"

/* Finds out which code is ours: frames of it are not the program's. Before this no stacks are taken; in a static program
 * the C library can be asked for modules only when its own start is over, so it is called again then. */
void pfa_stack_init(bool started);

/* The stack that begins at `start`; PFA_NODE_UNKNOWN for a thread that is not set up. */
PFA_NOINLINE uint32_t pfa_stack_take(pfa_tls_t *tls, const pfa_unwind_start_t *start);
/* Of at most `depth` frames. */
uint32_t pfa_stack_take_some(pfa_tls_t *tls, const pfa_unwind_start_t *start, unsigned depth);
PFA_NOINLINE uint32_t pfa_stack_find_site(pfa_tls_t *tls, uintptr_t pc);

/* The node of a return address alone. */
PFA_INLINE uint32_t pfa_stack_site(pfa_tls_t *tls, uintptr_t pc)
{
    const pfa_thread_t *thread = tls->thread;
    const pfa_site_t *site = &thread->sites[(pc ^ pc >> 8) % PFA_SITES];
    if (PFA_LIKELY(site->pc == pc) && PFA_LIKELY(site->generation == pfa_load_relaxed(&pfa_stack_generation))) {
        return site->node;
    }
    return pfa_stack_find_site(tls, pc);
}

#endif
