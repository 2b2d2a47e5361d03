/* When the clock is read for the accesses to a chunk. A reading takes as long as two accesses: too long for each of many, and nothing
 * for the first few of a chunk.
 *
 * Chunks of a call site are mostly used alike. Until a chunk was read, or written, nearly as often as the least used of the site's
 * last ones (meta/usual.h), its last access has not come: the clock is read at its first access, and not again before that. From
 * there on it is read whenever the number of reads, or that of writes, has grown by a 12th or 13th, and where it reaches the least: at
 * each access as long as these are few. Of sites that not many chunks are known of yet it is read more often. It is also read at each
 * access to a chunk that another thread touched last. All other accesses are stamped with the thread's last reading, for whatever that
 * was: malloc and free read the clock, too.
 * When the chunk dies, the time of its last access is estimated from its last readings (meta/reading.h).
 *
 * Chunks of some sites are used again at last, a few times, after a pause. Now and then chunks of each site are watched for that, one
 * at a time: the clock is read at each access, and it is noted whether the thread's last reading was long before it. If two of them
 * had such a pause near their end, it is read at each access of the others, too, from the least number of accesses on. This does not
 * apply to chunks with more than PFA_ACCESS_WATCHED accesses. */
#ifndef PFA_HOOKS_ACCESS_SCHEDULE_H
#define PFA_HOOKS_ACCESS_SCHEDULE_H

#include "export/format/live.h"
#include "meta/usual.h"

#include <stdbool.h>

#define PFA_ACCESS_FIRST_NEW 32u /* accesses to a chunk of a call site that is not known, */
#define PFA_ACCESS_WATCHED 1024u /* and to one of those that are used late, or watched for that */
#define PFA_ACCESS_PAUSE 8u      /* a pause after fewer accesses is not noted */

/* Reads are in the lower half of a word and writes in the upper one: both are calculated at once. */
#define PFA_BOTH(value) ((uint64_t)(value) << 32 | (value))

/* How often a chunk was read and written, by counters that are both near (export/format/live.h). */
PFA_INLINE uint64_t pfa_schedule_counts(uint64_t counters)
{
    return (counters >> PFA_ACCESS_TICK_BITS & PFA_BOTH(PFA_ACCESS_NEAR_MAX)) +
           (counters & PFA_BOTH(PFA_ACCESS_TICKS - 1)) - PFA_BOTH(PFA_ACCESS_TICKS);
}

/* Both together. */
PFA_INLINE uint32_t pfa_schedule_total(uint64_t counts)
{
    return (uint32_t)counts + (uint32_t)(counts >> 32);
}

/* How many more accesses of a kind may pass, of which there were `count` of `total`, if there are usually `usual` or more: all up to a
 * 16th before that, since the next chunk may have a few less, or to an 8th before it if these vary. Then 5/64 of them, unless
 * these are few, or `close`, and not past it. */
PFA_INLINE uint64_t pfa_schedule_until(uint32_t count, uint32_t total, uint32_t usual, bool varies, bool close)
{
    uint32_t most = count > total / 4 ? count : total / 4;
    uint32_t part = (most * 5 + 32) / 64;
    uint32_t nearly = usual - (usual >> (varies ? 3 : 4));
    uint32_t until = close || part == 0 ? 1 : part;
    until = count < usual && usual - count < until ? usual - count : until;
    until = count < nearly ? nearly - count : until;
    return until < PFA_ACCESS_TICKS ? until : PFA_ACCESS_TICKS;
}

/* The counters of a chunk that was read and written so often, up to an access at which the clock was read; they ask for the time
 * when it is read next. 0: these are too many for counters that are both near. */
PFA_INLINE uint64_t pfa_schedule(uint64_t counts, uint64_t usual, bool watched)
{
    uint32_t reads = (uint32_t)counts;
    uint32_t writes = (uint32_t)(counts >> 32);
    uint32_t total = pfa_schedule_total(counts);
    bool late = watched || (usual & PFA_USUAL_LATE) != 0;
    bool known = (usual & PFA_USUAL_KNOWN) != 0;
    bool varies = (usual & PFA_USUAL_VARIES) != 0;
    bool close = late ? total < PFA_ACCESS_WATCHED : !known && total < PFA_ACCESS_FIRST_NEW;
    usual = watched ? 0 : usual;
    uint64_t until_read = pfa_schedule_until(reads, total, pfa_usual_least(usual, 0), varies, close);
    uint64_t until_write = pfa_schedule_until(writes, total, pfa_usual_least(usual, PFA_USUAL_FIELD), varies, close);
    uint64_t until = until_write << 32 | until_read;
    uint64_t asked = counts + until;
    if (PFA_UNLIKELY(((counts | asked) & PFA_BOTH(~PFA_ACCESS_NEAR_MAX)) != 0)) {
        return 0;
    }
    return (asked << PFA_ACCESS_TICK_BITS) + PFA_BOTH(PFA_ACCESS_TICKS) - until;
}

/* Of a chunk that is watched, after so many reads and writes: did the access come so long after the thread's last reading of the clock
 * that its time would be wrong without one? */
PFA_INLINE bool pfa_schedule_is_pause(uint64_t counts, uint64_t since, uint64_t age)
{
    uint32_t total = pfa_schedule_total(counts);
    bool is_before = since >> 58 == 0; /* another processor's counter may be ahead */
    return is_before && since * PFA_USUAL_SHARE > age && total >= PFA_ACCESS_PAUSE && total < PFA_ACCESS_WATCHED;
}

#endif
