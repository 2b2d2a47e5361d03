/* The last readings of the clock for accesses to chunks: what the time of a chunk's last access is estimated from when it dies, where the
 * clock was not read for it (hooks/access/schedule.h). The accesses since the last reading are taken to be as far apart as those of
 * the step before it, or as all of them.
 *
 * A table by the chunk's record. Any thread may read and write an entry at any time. Two chunks, perhaps of two threads, may share an
 * entry, and a signal handler may come between two stores: then an estimate is missing, or wrong by what belongs to the other chunk.
 * It is never before the last reading that the record has, nor after the death.
 *
 * Modules write to it: entry, length and place are part of the interface that PFA_ACCESS_VERSION counts (hooks/access/view.h). */
#ifndef PFA_META_READING_H
#define PFA_META_READING_H

#include "base/atomic.h"
#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All loads and stores are relaxed: nothing is published by an entry. */
typedef struct pfa_reading {
    _Alignas(PFA_CACHE_LINE) _Atomic(const void *) record; /* the chunk's; NULL: of none */
    _Atomic uint64_t clock;                                /* the last reading */
    _Atomic uint64_t from_clock;                           /* the reading that the present step began with */
    _Atomic uint64_t took;                                 /* the time of the step before that; 0: not known */
    _Atomic uint32_t step;                                 /* and its accesses */
    _Atomic uint32_t total;                                /* accesses up to `clock` */
    _Atomic uint32_t from_total;                           /* and up to `from_clock` */
    _Atomic uint32_t watched; /* is it the chunk of its call site that is watched (meta/usual.h)? */
} pfa_reading_t;
_Static_assert(sizeof(pfa_reading_t) == 64, "an entry has a line of the cache for itself");

#define PFA_READING_BITS 12u
#define PFA_READINGS (1u << PFA_READING_BITS)

/* In the library; modules have its address in their view. */
extern pfa_reading_t pfa_readings[PFA_READINGS];

/* The accesses of a step are this part of all, or more. Of fewer, the readings themselves take up the time. */
#define PFA_READING_STEP 32u

/* A step had a pause in it if it took more than this part of the time since the first access, or if its accesses were so much further
 * apart than all of them are. */
#define PFA_READING_PAUSE 4u

/* Nothing is estimated of chunks that were used for longer than this many bits of ticks: half an hour, if one is a nanosecond. */
#define PFA_READING_SPAN 41u

/* The entry of a chunk, if it has one. Records of one size class lie at regular distances, and those of two threads often at the same
 * places of their segments: the place is hashed. */
PFA_INLINE pfa_reading_t *pfa_reading_of(pfa_reading_t *readings, const void *record)
{
    uint64_t place = (uint64_t)(uintptr_t)record >> 6; /* records that accesses are noted in have 64 bytes */
    return &readings[place * 0x9e3779b97f4a7c15u >> (64 - PFA_READING_BITS)];
}

/* Is it this chunk's? */
PFA_INLINE bool pfa_reading_is_of(const pfa_reading_t *reading, const void *record)
{
    return pfa_load_relaxed(&reading->record) == record;
}

/* Is it this chunk's, and is the chunk the one of its call site that is watched? */
PFA_INLINE bool pfa_reading_is_watched(const pfa_reading_t *reading, const void *record)
{
    return pfa_reading_is_of(reading, record) && pfa_load_relaxed(&reading->watched) != 0;
}

/* At a death, and where a chunk's readings are no longer kept up. */
PFA_INLINE void pfa_reading_end(pfa_reading_t *reading, const void *record)
{
    if (pfa_reading_is_of(reading, record)) {
        pfa_store_relaxed(&reading->record, NULL);
    }
}

/* At a chunk's first access. */
PFA_INLINE void pfa_reading_begin(pfa_reading_t *reading, const void *record, uint64_t now, uint32_t total,
                                  bool watched)
{
    pfa_store_relaxed(&reading->record, record);
    pfa_store_relaxed(&reading->clock, now);
    pfa_store_relaxed(&reading->from_clock, now);
    pfa_store_relaxed(&reading->took, 0);
    pfa_store_relaxed(&reading->step, 0);
    pfa_store_relaxed(&reading->total, total);
    pfa_store_relaxed(&reading->from_total, total);
    pfa_store_relaxed(&reading->watched, watched);
}

/* At another one, after which there are `total`. */
PFA_INLINE void pfa_reading_note(pfa_reading_t *reading, const void *record, uint64_t now, uint32_t total)
{
    bool same = pfa_reading_is_of(reading, record);
    uint32_t step = total - pfa_load_relaxed(&reading->from_total);
    if (!same || step >= total / PFA_READING_STEP) {
        pfa_store_relaxed(&reading->took, same ? now - pfa_load_relaxed(&reading->from_clock) : 0);
        pfa_store_relaxed(&reading->step, step);
        pfa_store_relaxed(&reading->from_clock, now);
        pfa_store_relaxed(&reading->from_total, total);
        if (!same) {
            pfa_store_relaxed(&reading->watched, 0);
            pfa_store_relaxed(&reading->record, record);
        }
    }
    pfa_store_relaxed(&reading->total, total);
    pfa_store_relaxed(&reading->clock, now);
}

/* When the last of `total` accesses was, the first at `first`: by this estimate, or `last` if that is later. */
PFA_INLINE uint64_t pfa_reading_last(const pfa_reading_t *reading, uint64_t first, uint64_t last, uint64_t death,
                                     uint32_t total)
{
    uint64_t clock = pfa_load_relaxed(&reading->clock);
    uint64_t took = pfa_load_relaxed(&reading->took);
    uint64_t step = pfa_load_relaxed(&reading->step);
    uint64_t known = pfa_load_relaxed(&reading->total);
    uint64_t span = clock - first;
    /* A chunk that died before its second reading may have many more: one reading tells nothing of how far apart they are. */
    if (clock < first || span >> PFA_READING_SPAN != 0 || total <= known || total - known > known / 4) {
        return last;
    }
    uint64_t more = total - known;
    bool is_even =
        took != 0 && step != 0 && took < span / PFA_READING_PAUSE && took * known / PFA_READING_PAUSE < span * step;
    uint64_t gaps = is_even ? took * more / step : span * more / known;
    uint64_t estimate = clock + gaps < death ? clock + gaps : death;
    return estimate > last ? estimate : last;
}

#endif
