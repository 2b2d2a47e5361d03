/* The stack of the calling thread, as return addresses. Works through code without frame pointers, by the rules that
 * compilers leave in .eh_frame; a rule once found is kept by program counter, so that a frame met before costs a probe of
 * a table, an addition and two loads.
 *
 * Guarantees:
 * 1. Nothing is invented: where there are no rules, or they cannot be followed, the walk ends and says BROKEN. Only code
 *    that no rules describe (made at run time, hand-written) is left by its frame pointer, and only if that leads to a
 *    saved pair on this stack whose return address is code of a loaded module. If that code has no pair of its own, the pair
 *    is its caller's, and the caller is the frame that is missing.
 * 2. Nothing faults, whatever `start` and the stack hold. Memory is read inside a range of the stack that was found
 *    readable (pfa_tls_t.stack_range); beyond it every page is asked for first. When the thread is met on another stack the
 *    range is kept, and taken up again when the thread is back and its last page can still be read. (So a stack unmapped
 *    and mapped again, shorter, with no walk in between on any other stack, or with something else where it ended, is
 *    taken for readable in its old length. That matters only to a walk that does not end where the stack does.)
 * 3. No locks, no allocation, errno is kept; may be called from signal handlers, also from one that interrupts a walk.
 * 4. The stack pointer rises from frame to frame, but for frames interrupted by a signal, which may lie on another stack;
 *    and there are at most `max` frames. So every walk ends.
 *    Frames of more than 4 MiB, and code above 2^48, are not followed.
 * 5. Code that the loader unmapped and replaced is walked by its own rules after pfa_unwind_forget. Before it is called,
 *    the first walk that meets a program counter not yet known in the new module notices by itself, if the module begins
 *    where the old one did; a walk that only meets addresses at which the old module was walked may end early or wrong. */
#ifndef PFA_META_UNWIND_H
#define PFA_META_UNWIND_H

#include "base/tls.h"
#include "base/unwind_arch.h" /* PFA_UNWIND_HERE(start) */

#include <stdbool.h>

/* Where the walk begins: the state in the caller right after the call returned. An odd sp says that all three are the
 * state of a frame not to be reported, which the walk leaves first. */
typedef struct pfa_unwind_start {
    uintptr_t pc; /* the return address: the first frame reported */
    uintptr_t sp; /* the callee's canonical frame address */
    uintptr_t fp; /* the caller's rbp / x29 */
} pfa_unwind_start_t;

typedef enum pfa_unwind_end {
    PFA_UNWIND_COMPLETE,
    PFA_UNWIND_TRUNCATED, /* max frames, more follow */
    PFA_UNWIND_BROKEN     /* the last frame has no rules, or its stack cannot be read */
} pfa_unwind_end_t;

/* Fills pcs, innermost first, at most max; returns how many. They are return addresses; for a frame interrupted by a signal
 * it is the interrupted instruction plus one. So minus one always lies inside the instruction that the frame is at. */
unsigned pfa_unwind(pfa_tls_t *tls, const pfa_unwind_start_t *start, uintptr_t *pcs, unsigned max,
                    pfa_unwind_end_t *end);

/* What a walk has read of the stack, in this order: the same start, with all these words as they were, leads to the same
 * frames. A word is in 64 bits:
 *
 *      63 ... 48                                    47 ... 0
 *      its distance from sp, in words of 8 bytes    its value, as pfa_unwind_strip leaves it */
enum { PFA_UNWIND_WORDS = 128, PFA_UNWIND_UP_BITS = 64 - PFA_UNWIND_PC_BITS };
typedef struct pfa_unwind_words {
    uintptr_t sp;
    uint32_t count;
    bool uses_fp; /* the start's fp, too, has to be the same */
    bool whole;   /* these are all; false if there were more, or frames of another kind, or the end is doubtful */
    uint64_t word[PFA_UNWIND_WORDS];
} pfa_unwind_words_t;

static inline uint64_t pfa_unwind_word_up(uint64_t word)
{
    return word >> PFA_UNWIND_PC_BITS;
}

static inline uint64_t pfa_unwind_word_value(uint64_t word)
{
    return word & (((uint64_t)1 << PFA_UNWIND_PC_BITS) - 1);
}

/* The same, noting what it reads. */
unsigned pfa_unwind_noting(pfa_tls_t *tls, const pfa_unwind_start_t *start, uintptr_t *pcs, unsigned max,
                           pfa_unwind_end_t *end, pfa_unwind_words_t *words);

/* What is there now. To be asked of the words of a whole list in their order, of each only if those before it are as they
 * were: so what is read is a word of the same frame again. With the start's sp as it was. */
PFA_NO_ASAN static inline uint64_t pfa_unwind_word_now(uint64_t up, uintptr_t sp)
{
    typedef uintptr_t any_word_t __attribute__((aligned(1), may_alias));
    return pfa_unwind_strip(*(const any_word_t *)(sp + up * 8));
}

static inline bool pfa_unwind_word_holds(uint64_t word, uintptr_t sp)
{
    return pfa_unwind_word_now(pfa_unwind_word_up(word), sp) == pfa_unwind_word_value(word);
}

/* To be called when the loader has unmapped a module. Walks may go on meanwhile, in other threads as well. */
void pfa_unwind_forget(void);

#endif
