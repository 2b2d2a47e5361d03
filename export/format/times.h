/* Time in allocation routines, as a process measured it: one call in PFA_TIMES_MEAN, at random, while everything is recorded.
 * Sums since the start of the trace, in COUNTERS blocks and in the live table.
 *
 *   all calls          n measured of `calls`: their mean times `calls` estimates the time of all of them; the squares tell
 *                      how far off that may be. Waiting for the writer is rare and long, so it is never estimated: it is
 *                      measured each time (`waited`) and taken out of the calls that it falls into
 *   whole              from the entry to the long way to its end, with recording
 *   own                the part of it that is the allocator's, which it would take without recording too: finding memory
 *                      and giving it back, zeros of calloc, the copy of realloc. A measured call is one or the other, as
 *                      a reading of the counter in the middle would count for the whole
 *
 * The time that reading the counter takes is taken off, so a sum of few can be negative. A thread can lose its processor in
 * the middle: a call counts at most for PFA_TIMES_MOMENTS moments and one for each 1 << PFA_TIMES_BYTES_SHIFT bytes it
 * handles (a moment is two microseconds: calloc and realloc of large chunks do take their time), and those that took longer
 * are counted in `capped`. */
#ifndef PFA_EXPORT_FORMAT_TIMES_H
#define PFA_EXPORT_FORMAT_TIMES_H

#include <stdint.h>

#define PFA_TIMES_MEAN 512u
#define PFA_TIMES_PART 16 /* ticks are told in sixteenths */
#define PFA_TIMES_MOMENTS 8u
#define PFA_TIMES_BYTES_SHIFT 11
#define PFA_TIMES_BYTES_MAX ((uint64_t)64 << 20) /* more of them make no difference: squares must not overflow */

/* Calls that begin a life are allocations, those of realloc too. */
typedef enum pfa_times_kind { PFA_TIMES_ALLOCATIONS, PFA_TIMES_FREES, PFA_TIMES_KINDS } pfa_times_kind_t;

typedef struct pfa_trace_timed {
    uint64_t measured;
    uint64_t ticks;   /* their sum in 1/PFA_TIMES_PART, signed */
    uint64_t squares; /* of whole ticks */
    uint64_t capped;
} pfa_trace_timed_t;

typedef struct pfa_trace_times {
    uint64_t calls;  /* up to the last one measured of each thread, by the distances between those */
    uint64_t waited; /* ticks */
    pfa_trace_timed_t whole[PFA_TIMES_KINDS];
    pfa_trace_timed_t own[PFA_TIMES_KINDS];
} pfa_trace_times_t;
_Static_assert(sizeof(pfa_trace_times_t) == 144, "layout as written");

#endif
