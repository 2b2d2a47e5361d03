/* When the clock is read for the accesses to a chunk. A reading takes as long as two accesses: too long for each of many, and nothing
 * for the first few of a chunk.
 *
 * Chunks of a call site are mostly used alike. Until a chunk was read, or written, nearly as often as the least used of the site's
 * last ones (meta/usual.h), its last access has not come: the clock is read at its first access, and not again before that. From
 * there on it is read whenever the number of reads, or that of writes, has grown by a 16th, and where it reaches the least: at each
 * access as long as these are few, or slower than those before. Of sites that not many chunks are known of yet it is read more often.
 * All other accesses are stamped with the thread's last reading, for whatever that was: malloc and free read the clock, too.
 *
 * Chunks of some sites are used again at last, a few times, after a pause. A few chunks of each site are watched for that, now and
 * then: the clock is read at each access, and it is noted whether the thread's last reading was long before it. If two of them in a
 * row had such a pause near their end, it is read at each access of the others, too, from the least number of accesses on. This does
 * not apply to chunks with more than PFA_ACCESS_WATCHED accesses. */
#ifndef PFA_HOOKS_ACCESS_SCHEDULE_H
#define PFA_HOOKS_ACCESS_SCHEDULE_H

#include "export/format/live.h"
#include "meta/usual.h"

#include <stdbool.h>

#define PFA_ACCESS_FIRST_NEW 32u /* accesses to a chunk of a call site that is not known, */
#define PFA_ACCESS_WATCHED 512u  /* and to one of those that are used late, or watched for that */
#define PFA_ACCESS_SLOW 8u       /* the part of a chunk's age that may pass between readings: an 8th */
#define PFA_ACCESS_PAUSE 8u      /* a pause after fewer accesses is not noted */

/* Reads are in the lower half of a word and writes in the upper one: both are calculated at once. */
#define PFA_BOTH(value) ((uint64_t)(value) << 32 | (value))

/* How often a chunk was read and written, by counters that are both near (export/format/live.h). */
PFA_INLINE uint64_t pfa_schedule_counts(uint64_t counters)
{
    return (counters >> PFA_ACCESS_TICK_BITS & PFA_BOTH(PFA_ACCESS_NEAR_MAX)) +
           (counters & PFA_BOTH(PFA_ACCESS_TICKS - 1)) - PFA_BOTH(PFA_ACCESS_TICKS);
}

/* How many more accesses of a kind may pass, of which there were `count` of `total`, if there are usually `usual` or more: all up to a
 * 16th before that, since the next chunk may have a few less, or to a quarter before it if these vary. Then a 16th of them, unless
 * these are few, or `close`, and not past it. `slow` counts from there on: what led there was one long step. */
PFA_INLINE uint64_t pfa_schedule_until(uint32_t count, uint32_t total, uint32_t usual, bool varies, bool close,
                                       bool slow)
{
    uint32_t most = count > total / 4 ? count : total / 4;
    uint32_t part = (most + 8) / 16;
    uint32_t nearly = varies ? usual * 3 / 4 : usual - usual / 16;
    uint32_t until = close || part == 0 || (slow && count > nearly) ? 1 : part;
    until = count < usual && usual - count < until ? usual - count : until;
    until = count < nearly ? nearly - count : until;
    return until < PFA_ACCESS_TICKS ? until : PFA_ACCESS_TICKS;
}

/* The counters of a chunk that was read and written so often, up to an access at which the clock was read; they ask for the time
 * when it is read next. 0: these are too many for counters that are both near. */
PFA_INLINE uint64_t pfa_schedule(uint64_t counts, uint64_t usual, bool slow)
{
    uint32_t reads = (uint32_t)counts;
    uint32_t writes = (uint32_t)(counts >> 32);
    uint32_t total = reads + writes;
    bool late = (usual & (PFA_USUAL_LATE | PFA_USUAL_WATCH)) != 0;
    bool known = (usual & PFA_USUAL_KNOWN) != 0;
    bool varies = (usual & PFA_USUAL_VARIES) != 0;
    bool close = late ? total < PFA_ACCESS_WATCHED : !known && total < PFA_ACCESS_FIRST_NEW;
    usual = (usual & PFA_USUAL_WATCH) != 0 ? 0 : usual;
    uint64_t until_read = pfa_schedule_until(reads, total, pfa_usual_least(usual, 0), varies, close, slow);
    uint64_t until_write =
        pfa_schedule_until(writes, total, pfa_usual_least(usual, PFA_USUAL_FIELD), varies, close, slow);
    uint64_t until = until_write << 32 | until_read;
    uint64_t asked = counts + until;
    if (PFA_UNLIKELY(((counts | asked) & PFA_BOTH(~PFA_ACCESS_NEAR_MAX)) != 0)) {
        return 0;
    }
    return (asked << PFA_ACCESS_TICK_BITS) + PFA_BOTH(PFA_ACCESS_TICKS) - until;
}

/* At a reading, after so many accesses: do they take longer than those before? Where the clock was read at each, the last one took
 * more than four times the mean of all; else the time since the thread's last reading is far more of the chunk's age than a 16th of
 * its accesses should take. `before` are the counters up to the access. */
PFA_INLINE bool pfa_schedule_is_slow(uint64_t before, uint64_t counts, uint64_t since, uint64_t age)
{
    uint64_t total = (uint32_t)counts + (uint32_t)(counts >> 32);
    bool each = (before & PFA_BOTH(PFA_ACCESS_TICKS - 1)) == PFA_BOTH(PFA_ACCESS_TICKS - 1);
    bool is_before = since >> 41 == 0; /* another processor's counter may be ahead */
    return is_before && since * (each ? total : 4 * PFA_ACCESS_SLOW) > 4 * age;
}

/* Of a chunk that is watched, after so many reads and writes: did the access come so long after the thread's last reading of the clock
 * that its time would be wrong without one? */
PFA_INLINE bool pfa_schedule_is_pause(uint64_t counts, uint64_t since, uint64_t age)
{
    uint32_t total = (uint32_t)counts + (uint32_t)(counts >> 32);
    bool is_before = since >> 58 == 0; /* another processor's counter may be ahead */
    return is_before && since * PFA_USUAL_SHARE > age && total >= PFA_ACCESS_PAUSE && total < PFA_ACCESS_WATCHED;
}

#endif
