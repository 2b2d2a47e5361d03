/* The table by which an address of the profiled range finds its record, as the access callbacks of instrumented programs
 * see it: numbers and types only, no state. alloc/region.h tells how the words of R come about, alloc/large.c those of L.
 *
 *   slices[(address - base) >> 16]
 *     in R   word: the geometry of the region (alloc/region.h); records: the record of its first slot
 *     in L   word: where the chunk starts; records: its record
 *            (only where accesses are recorded, and of chunks below PFA_SLICE_CHUNK_MAX; else NULL) */
#ifndef PFA_ALLOC_SLICE_H
#define PFA_ALLOC_SLICE_H

#include "base/atomic.h"
#include "meta/record.h"

#include <stdint.h>

#define PFA_SLICE_SHIFT 16  /* mimalloc's pages start on 64 KiB slices */
#define PFA_REGION_LEAD 384 /* where slots of at most 1 KiB begin in their page */

#define PFA_RECIPROCAL_BITS 36
#define PFA_WORD_RECIPROCAL_SHIFT 31
#define PFA_WORD_REACH_SHIFT 6
#define PFA_WORD_REACH_BITS 25
#define PFA_WORD_CLASS_MASK 0x3fu

/* How far the slice of a word lies behind its region's first slot. */
static inline int64_t pfa_word_reach(uint64_t word)
{
    return (int64_t)(word << (64 - PFA_WORD_RECIPROCAL_SHIFT)) >> (64 - PFA_WORD_REACH_BITS);
}

/* Where the profiled range lies if that can be had: in a window of 16 TiB that nothing else on Linux lies in by itself, on
 * either architecture. R ends with the window's first cell, L follows, and the upper half of the window is for recorded
 * chunks that L has no place for. The table has slices for all of the first cell, so that an address whose upper bits are
 * the cell's can be looked up without a thought of where R begins. */
#define PFA_WINDOW_SHIFT 44
#define PFA_WINDOW ((uintptr_t)3)
#define PFA_WINDOW_BASE (PFA_WINDOW << PFA_WINDOW_SHIFT)
#define PFA_WINDOW_SIZE ((uint64_t)1 << PFA_WINDOW_SHIFT)
#define PFA_CELL_SHIFT 40
#define PFA_CELL_SIZE ((uint64_t)1 << PFA_CELL_SHIFT)

/* Places in larger ones are not told to the byte (export/format/live.h, pfa_access_unit). */
#define PFA_SLICE_CHUNK_MAX ((uint64_t)1 << 31)

typedef struct pfa_slice {
    _Atomic uint64_t word;           /* 0: there never was a region */
    _Atomic(pfa_record_t *) records; /* NULL: there never was anything */
} pfa_slice_t;

#endif
