/* How often the chunks of a call site are at least read and written before they are freed: what the schedule of clock readings goes
 * by (hooks/access/schedule.h), and nothing else. A table of hints, by the stack, the thread and the size of the allocation: what two call
 * sites share is wrong for one of them, which costs readings or, of some chunk, the time of its last access.
 *
 *   bits 0-13   the least number of reads of PFA_USUAL_WINDOW chunks that died one after another, and of those since then
 *   bits 14-27  of writes, likewise
 *   bits 28-55  PFA_USUAL_MOST less the least numbers of the window that is being filled; 0 of none
 *   bits 56-61  chunks in it
 *   bit 62      was any window filled? Else bits 0-27 are 0
 *
 * Any thread may read and write a hint at any time; a lost update is a lost chunk. */
#ifndef PFA_META_USUAL_H
#define PFA_META_USUAL_H

#include "base/compiler.h"

#include <stdint.h>

#define PFA_USUAL_BITS 12u
#define PFA_USUAL_WINDOW 32u
#define PFA_USUAL_FIELD 14u
#define PFA_USUAL_MOST ((1u << PFA_USUAL_FIELD) - 1)
#define PFA_USUAL_FILLING (2 * PFA_USUAL_FIELD)
#define PFA_USUAL_COUNT (4 * PFA_USUAL_FIELD)
#define PFA_USUAL_KNOWN ((uint64_t)1 << 62)

/* In the library; modules have its address in their view. */
extern uint64_t pfa_usual[1u << PFA_USUAL_BITS];

/* Stacks are numbered as they come: those of a program that has few, and asks for few sizes, share nothing. Without a trace there
 * are sizes alone. */
PFA_INLINE uint32_t pfa_usual_slot(uint32_t stack, uint32_t thread, uint64_t size)
{
    return (stack + (thread << 6) + ((uint32_t)(size >> 4) << 7)) % (1u << PFA_USUAL_BITS);
}

PFA_INLINE uint32_t pfa_usual_least(uint64_t hint, uint32_t shift)
{
    return (uint32_t)(hint >> shift) & PFA_USUAL_MOST;
}

PFA_INLINE uint64_t pfa_usual_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The hint with one more chunk. */
PFA_INLINE uint64_t pfa_usual_with(uint64_t hint, uint32_t reads, uint32_t writes)
{
    uint64_t r = pfa_usual_min(reads, PFA_USUAL_MOST);
    uint64_t w = pfa_usual_min(writes, PFA_USUAL_MOST);
    uint64_t fill_r = pfa_usual_min(r, PFA_USUAL_MOST - pfa_usual_least(hint, PFA_USUAL_FILLING));
    uint64_t fill_w = pfa_usual_min(w, PFA_USUAL_MOST - pfa_usual_least(hint, PFA_USUAL_FILLING + PFA_USUAL_FIELD));
    uint64_t count = (hint >> PFA_USUAL_COUNT) % (2 * PFA_USUAL_WINDOW) + 1;
    if (count >= PFA_USUAL_WINDOW) {
        return PFA_USUAL_KNOWN | fill_w << PFA_USUAL_FIELD | fill_r;
    }
    r = pfa_usual_min(r, pfa_usual_least(hint, 0));
    w = pfa_usual_min(w, pfa_usual_least(hint, PFA_USUAL_FIELD));
    uint64_t filling = (PFA_USUAL_MOST - fill_w) << PFA_USUAL_FIELD | (PFA_USUAL_MOST - fill_r);
    return (hint & PFA_USUAL_KNOWN) | count << PFA_USUAL_COUNT | filling << PFA_USUAL_FILLING | w << PFA_USUAL_FIELD |
           r;
}

/* At a death. */
PFA_INLINE void pfa_usual_note(uint32_t slot, uint32_t reads, uint32_t writes)
{
    uint64_t *hint = &pfa_usual[slot];
    uint64_t before = __atomic_load_n(hint, __ATOMIC_RELAXED);
    __atomic_store_n(hint, pfa_usual_with(before, reads, writes), __ATOMIC_RELAXED);
}

/* The same without a trace, which alone tells times: the clock is read as seldom as the schedule knows. Once there is one, the least of
 * the next chunks is what counts. */
PFA_INLINE void pfa_usual_forget(uint32_t slot)
{
    uint64_t never = PFA_USUAL_KNOWN | (uint64_t)PFA_USUAL_MOST << PFA_USUAL_FIELD | PFA_USUAL_MOST;
    __atomic_store_n(&pfa_usual[slot], never, __ATOMIC_RELAXED);
}

#endif
