/* A word that the kernel clears in a fork child (MADV_WIPEONFORK): by it a child knows that it is one, although nobody told it.
 * Fork handlers are not called in a child of _Fork, of the bare system call, or of clone; and handlers of others may be
 * called before ours. A child that shares our memory (vfork, posix_spawn) has the word as it was, rightly.
 *
 * It is the word that recorded calls of malloc and free read anyway, whether there is a trace, so that asking costs nothing.
 * Whoever is about to look at records, or to take a lock, calls pfa_wiped_check first. Where the kernel does not know the
 * advice (before 4.14), a child of which no handler is told writes into its parent's table. */
#ifndef PFA_BASE_WIPED_H
#define PFA_BASE_WIPED_H

#include "base/atomic.h"
#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum pfa_wiped_state {
    PFA_WIPED,   /* nothing was recorded yet, or this is a child that does not know it yet */
    PFA_MENDING, /* a child that sets its state right: the records are its parent's still */
    PFA_NO_TRACE,
    PFA_TRACE,
    PFA_BLIND /* a child that has no records of its own and must not look at its parent's */
} pfa_wiped_state_t;

/* In a page of its own. */
typedef union pfa_wiped_page {
    _Alignas(PFA_PAGE_MAX) _Atomic uint32_t word;
    char page[PFA_PAGE_MAX];
} pfa_wiped_page_t;
extern pfa_wiped_page_t pfa_wiped;

PFA_INLINE uint32_t pfa_wiped_now(void)
{
    return pfa_load_relaxed(&pfa_wiped.word);
}

/* Has the kernel clear the word in children, and says what a child does that finds it so. The word is set before. */
void pfa_wiped_open(void (*notice)(void));
/* Does the kernel? */
bool pfa_wiped_works(void);

PFA_COLD void pfa_wiped_found(void);
PFA_INLINE void pfa_wiped_check(void)
{
    if (PFA_UNLIKELY(pfa_wiped_now() <= PFA_MENDING)) {
        pfa_wiped_found();
    }
}

#endif
