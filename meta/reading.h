/* A thread's last readings of the clock for accesses, a few chunks' of them: what the time of a chunk's last access is estimated from
 * when it dies, where the clock was not read for it (hooks/access/schedule.h). The accesses since the last reading are taken to be as
 * far apart as those of the step before it, or as all of them.
 *
 * An entry is the thread's own. Two chunks may want the same one, and a signal handler may come between two stores: then an estimate
 * is missing or wrong. It is never before the thread's last reading, nor after the death. */
#ifndef PFA_META_READING_H
#define PFA_META_READING_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct pfa_reading {
    const void *record;  /* the chunk's; NULL: of none */
    uint64_t clock;      /* the last reading */
    uint64_t from_clock; /* the reading that the present step began with */
    uint64_t took;       /* the time of the step before that; 0: not known */
    uint32_t step;       /* and its accesses */
    uint32_t total;      /* accesses up to `clock` */
    uint32_t from_total; /* and up to `from_clock` */
    uint32_t watched;    /* is it the chunk of its call site that is watched (meta/usual.h)? */
} pfa_reading_t;

#define PFA_READINGS 4u /* a thread has: static TLS is scarce */

/* The accesses of a step are this part of all, or more. Of fewer, the readings themselves take up the time. */
#define PFA_READING_STEP 32u

/* A step had a pause in it if it took more than this part of the time since the first access, or if its accesses were so much further
 * apart than all of them are. */
#define PFA_READING_PAUSE 4u

/* Nothing is estimated of chunks that were used for longer than this many bits of ticks: half an hour, if one is a nanosecond. */
#define PFA_READING_SPAN 41u

PFA_INLINE pfa_reading_t *pfa_reading_of(pfa_reading_t *readings, const void *record)
{
    return &readings[((uintptr_t)record >> 6) % PFA_READINGS]; /* records that accesses are noted in have 64 bytes */
}

/* At a chunk's first access. */
PFA_INLINE void pfa_reading_begin(pfa_reading_t *reading, const void *record, uint64_t now, uint32_t total,
                                  bool watched)
{
    *reading = (pfa_reading_t){
        .record = record, .clock = now, .from_clock = now, .total = total, .from_total = total, .watched = watched};
}

/* At another one, after which there are `total`. */
PFA_INLINE void pfa_reading_note(pfa_reading_t *reading, const void *record, uint64_t now, uint32_t total)
{
    bool same = reading->record == record;
    uint32_t step = total - reading->from_total;
    if (!same || step >= total / PFA_READING_STEP) {
        reading->took = same ? now - reading->from_clock : 0;
        reading->step = step;
        reading->from_clock = now;
        reading->from_total = total;
        reading->watched = same ? reading->watched : 0;
        reading->record = record;
    }
    reading->total = total;
    reading->clock = now;
}

/* When the last of `total` accesses was, the first at `first`: by this estimate, or `last` if that is later. */
PFA_INLINE uint64_t pfa_reading_last(const pfa_reading_t *reading, uint64_t first, uint64_t last, uint64_t death,
                                     uint32_t total)
{
    uint64_t span = reading->clock - first;
    uint64_t more = total - reading->total;
    bool is_known = reading->clock >= first && span >> PFA_READING_SPAN == 0 && total > reading->total;
    /* A chunk that died before its second reading may have many more: one reading tells nothing of how far apart they are. */
    if (!is_known || more > reading->total / 4) {
        return last;
    }
    bool is_even = reading->took != 0 && reading->step != 0 && reading->took < span / PFA_READING_PAUSE &&
                   reading->took * reading->total / PFA_READING_PAUSE < span * reading->step;
    uint64_t gaps = is_even ? reading->took * more / reading->step : span * more / reading->total;
    uint64_t estimate = reading->clock + gaps < death ? reading->clock + gaps : death;
    return estimate > last ? estimate : last;
}

#endif
