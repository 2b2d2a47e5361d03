/* How often the chunks of a call site are at least read and written before they are freed, and whether their last accesses come
 * late: what the schedule of clock readings goes by (hooks/access/schedule.h), and nothing else. A table of hints, by the stack, the
 * thread and the size of the allocation: what two call sites share is wrong for one of them, which costs readings or, of some chunk,
 * the time of its last access.
 *
 *   bits 0-10   the least number of reads of a window, and of the chunks since then
 *   bits 11-21  of writes, likewise
 *   bits 22-43  PFA_USUAL_MOST less the least numbers of the window that is being filled; 0 of none
 *   bits 44-48  chunks in it that count
 *   bit 49      of those that are watched, did one end late?
 *   bit 50      was any window filled? Else bits 0-21 are 0
 *   bit 51      do the last accesses come late, after a pause, and are they few?
 *   bits 52-54  windows that were filled, modulo 8
 *   bit 55      are chunks watched for that now, one at a time? In the first window that is known, in every 8th from there on, and
 *               in the one behind each of these while bit 51 is 0. It ends if the first that is watched does not end late, if two
 *               do, or when PFA_USUAL_WATCHED chunks that count have died
 *   bits 56-62  of the chunk that is watched: its accesses before the last pause, as a code; 1: no pause yet; 0: none is watched
 *   bit 63      had a chunk of this window fewer than the least before it?
 *
 * A window is filled by PFA_USUAL_WINDOW chunks that count: those that were born after the last one that counted had died, and the
 * PFA_USUAL_UNCOUNTED-th after it. Twenty chunks that are used together are one case, not twenty: if each counted, a window would be over
 * after two cases, and it would be forgotten how few accesses there can be. In a cache of a million chunks, on the other hand, what
 * the first ones were like is to be forgotten before all have been replaced 32 times. The first window is shorter, and each chunk counts.
 *
 * What the bits mean may change without a new PFA_ACCESS_VERSION: who misreads them tells worse times, and nothing else.
 * Any thread may read and write a hint, and the time that goes with it, at any time; a lost update is a lost chunk, or some. A chunk's
 * entry in the table of readings (meta/reading.h) says whether it is the watched one. */
#ifndef PFA_META_USUAL_H
#define PFA_META_USUAL_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

#define PFA_USUAL_BITS 12u
#define PFA_USUAL_WINDOW 32u
#define PFA_USUAL_FIRST 8u /* chunks of the first window */
#define PFA_USUAL_UNCOUNTED 1024u
#define PFA_USUAL_TIME_BITS 54u /* half a year of nanoseconds, and then from 0 again */
#define PFA_USUAL_FIELD 11u
#define PFA_USUAL_MOST ((1u << PFA_USUAL_FIELD) - 1)
#define PFA_USUAL_FILLING (2 * PFA_USUAL_FIELD)
#define PFA_USUAL_COUNT (4 * PFA_USUAL_FIELD)
#define PFA_USUAL_ONCE ((uint64_t)1 << 49)
#define PFA_USUAL_KNOWN ((uint64_t)1 << 50)
#define PFA_USUAL_LATE ((uint64_t)1 << 51)
#define PFA_USUAL_WINDOWS 52u
#define PFA_USUAL_WINDOW_BITS ((uint64_t)7 << PFA_USUAL_WINDOWS)
#define PFA_USUAL_WATCH ((uint64_t)1 << 55)
#define PFA_USUAL_PAUSE 56u
#define PFA_USUAL_PAUSE_BITS ((uint64_t)127 << PFA_USUAL_PAUSE)
#define PFA_USUAL_TAKEN ((uint64_t)1 << PFA_USUAL_PAUSE) /* a chunk is watched, and had no pause yet */
#define PFA_USUAL_VARIES ((uint64_t)1 << 63)
#define PFA_USUAL_WATCHED 4u /* chunks that count die until the watch ends at the latest */
#define PFA_USUAL_ENOUGH 16u /* accesses; watched chunks with fewer are not judged */
#define PFA_USUAL_SHARE 32u  /* a pause is longer than this part of the time since the birth */

_Static_assert(PFA_USUAL_UNCOUNTED == 1u << (64 - PFA_USUAL_TIME_BITS), "all bits of pfa_usual_died");
_Static_assert(PFA_USUAL_COUNT + 5 == 49 && PFA_USUAL_WINDOW <= 32, "the bits above are for what follows");

/* In the library; modules have its address in their view. */
extern uint64_t pfa_usual[1u << PFA_USUAL_BITS];
/* The library's alone: when the last chunk that counted died, and in the bits above PFA_USUAL_TIME_BITS, how many have died
 * since. */
extern uint64_t pfa_usual_died[1u << PFA_USUAL_BITS];

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

PFA_INLINE uint32_t pfa_usual_chunks(uint64_t hint)
{
    return (uint32_t)(hint >> PFA_USUAL_COUNT) % PFA_USUAL_WINDOW;
}

PFA_INLINE bool pfa_usual_is_watched(uint64_t hint)
{
    return (hint & PFA_USUAL_WATCH) != 0;
}

/* At the first access to a chunk: is it to be watched? Then PFA_USUAL_TAKEN is set. */
PFA_INLINE bool pfa_usual_wants(uint64_t hint)
{
    return (hint & (PFA_USUAL_WATCH | PFA_USUAL_PAUSE_BITS)) == PFA_USUAL_WATCH;
}

/* A number of accesses, less than 2^16, as a code: a code more is an eighth more of them, or less. 0: fewer than 8. */
PFA_INLINE uint64_t pfa_usual_code(uint32_t total)
{
    uint32_t highest = 31u - (uint32_t)__builtin_clz(total | 1);
    return total < 8 ? 0 : (uint64_t)highest << 3 | (total >> (highest - 3) & 7);
}

/* The hint after an access that came after a pause, and after so many others. */
PFA_INLINE uint64_t pfa_usual_with_pause(uint64_t hint, uint32_t total)
{
    return (hint & ~PFA_USUAL_PAUSE_BITS) | pfa_usual_code(total) << PFA_USUAL_PAUSE;
}

/* Of a chunk that was watched: did accesses come after a pause, and so few that a schedule by their number alone would miss some? */
PFA_INLINE bool pfa_usual_ends_late(uint64_t hint, uint32_t total)
{
    uint64_t paused = (hint & PFA_USUAL_PAUSE_BITS) >> PFA_USUAL_PAUSE;
    return paused > 1 && pfa_usual_code(total) <= paused + 1;
}

/* The hint after the chunk that was watched, with so many accesses: two that end late are not chance. */
PFA_INLINE uint64_t pfa_usual_with_watched(uint64_t hint, uint32_t total)
{
    bool late = pfa_usual_ends_late(hint, total);
    bool once = (hint & PFA_USUAL_ONCE) != 0;
    hint &= ~PFA_USUAL_PAUSE_BITS;
    if (total < PFA_USUAL_ENOUGH || (once && !late)) {
        return hint;
    }
    if (!once && late) {
        return hint | PFA_USUAL_ONCE;
    }
    return (hint & ~(PFA_USUAL_WATCH | PFA_USUAL_ONCE | PFA_USUAL_LATE)) | (late ? PFA_USUAL_LATE : 0);
}

/* The hint with one more chunk, which counts or not. */
PFA_INLINE uint64_t pfa_usual_with(uint64_t hint, uint32_t reads, uint32_t writes, bool watched, bool counts)
{
    if (watched && pfa_usual_is_watched(hint)) {
        hint = pfa_usual_with_watched(hint, reads + writes);
    }
    uint64_t r = pfa_usual_min(reads, PFA_USUAL_MOST);
    uint64_t w = pfa_usual_min(writes, PFA_USUAL_MOST);
    uint64_t fill_r = pfa_usual_min(r, PFA_USUAL_MOST - pfa_usual_least(hint, PFA_USUAL_FILLING));
    uint64_t fill_w = pfa_usual_min(w, PFA_USUAL_MOST - pfa_usual_least(hint, PFA_USUAL_FILLING + PFA_USUAL_FIELD));
    uint64_t count = pfa_usual_chunks(hint) + (counts ? 1 : 0);
    uint64_t windows = hint & PFA_USUAL_WINDOW_BITS;
    uint64_t late = hint & PFA_USUAL_LATE;
    if (count >= ((hint & PFA_USUAL_KNOWN) != 0 ? PFA_USUAL_WINDOW : PFA_USUAL_FIRST)) {
        windows = (windows + ((uint64_t)1 << PFA_USUAL_WINDOWS)) & PFA_USUAL_WINDOW_BITS;
        uint64_t number = windows >> PFA_USUAL_WINDOWS;
        uint64_t watch = number == 1 || (number == 2 && late == 0) ? PFA_USUAL_WATCH : 0;
        return late | watch | windows | PFA_USUAL_KNOWN | fill_w << PFA_USUAL_FIELD | fill_r;
    }
    uint64_t watching = PFA_USUAL_WATCH | PFA_USUAL_ONCE | PFA_USUAL_PAUSE_BITS;
    uint64_t watch = pfa_usual_is_watched(hint) && count < PFA_USUAL_WATCHED ? hint & watching : 0;
    bool fewer = r < pfa_usual_least(hint, 0) || w < pfa_usual_least(hint, PFA_USUAL_FIELD);
    uint64_t varies = fewer ? PFA_USUAL_VARIES : hint & PFA_USUAL_VARIES;
    r = pfa_usual_min(r, pfa_usual_least(hint, 0));
    w = pfa_usual_min(w, pfa_usual_least(hint, PFA_USUAL_FIELD));
    uint64_t filling = (PFA_USUAL_MOST - fill_w) << PFA_USUAL_FIELD | (PFA_USUAL_MOST - fill_r);
    return (hint & PFA_USUAL_KNOWN) | late | varies | watch | windows | count << PFA_USUAL_COUNT |
           filling << PFA_USUAL_FILLING | w << PFA_USUAL_FIELD | r;
}

/* At a death, with the chunk's times. */
PFA_INLINE void pfa_usual_note(uint32_t slot, uint32_t reads, uint32_t writes, bool watched, uint64_t born,
                               uint64_t now)
{
    uint64_t *hint = &pfa_usual[slot];
    uint64_t before = __atomic_load_n(hint, __ATOMIC_RELAXED);
    uint64_t died = __atomic_load_n(&pfa_usual_died[slot], __ATOMIC_RELAXED);
    uint64_t one = (uint64_t)1 << PFA_USUAL_TIME_BITS;
    bool is_next = born % one >= died % one;
    bool counts = (before & PFA_USUAL_KNOWN) == 0 || is_next || died / one == PFA_USUAL_UNCOUNTED - 1;
    died = counts ? now % one : died + one;
    __atomic_store_n(&pfa_usual_died[slot], died, __ATOMIC_RELAXED);
    __atomic_store_n(hint, pfa_usual_with(before, reads, writes, watched, counts), __ATOMIC_RELAXED);
}

/* The same without a trace, which alone tells times: the clock is read as seldom as the schedule knows. Once there is one, the least of
 * the next chunks is what matters. */
PFA_INLINE void pfa_usual_forget(uint32_t slot)
{
    uint64_t never = PFA_USUAL_KNOWN | (uint64_t)PFA_USUAL_MOST << PFA_USUAL_FIELD | PFA_USUAL_MOST;
    __atomic_store_n(&pfa_usual[slot], never, __ATOMIC_RELAXED);
}

#endif
