/* The table by which an address of the profiled range finds its record, as the access callbacks of instrumented programs
 * see it: numbers and types only, no state. alloc/region.h tells how the words of R come about, alloc/large.c those of L.
 *
 *   slices[(address - base) >> 16]
 *     in R   word: the geometry of the region (alloc/region.h); records: the record of its first slot
 *     in L   word: PFA_LARGE_LEAD and how far the slice lies behind the chunk's start, below 2^31; records: the chunk's
 *            record (only where accesses are recorded, and of chunks below PFA_SLICE_CHUNK_MAX; else the word is 0) */
#ifndef PFA_ALLOC_SLICE_H
#define PFA_ALLOC_SLICE_H

#include "base/atomic.h"
#include "meta/record.h"

#include <stdbool.h>
#include <stdint.h>

#define PFA_SLICE_SHIFT 16 /* mimalloc's pages start on 64 KiB slices */
#define PFA_SLICE_SIZE ((uint64_t)1 << PFA_SLICE_SHIFT)
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

/* In L the places in a chunk are counted from one slice before it, so that no slice of a chunk has the word 0. */
#define PFA_LARGE_LEAD PFA_SLICE_SIZE

/* Else it is that of a slice in L, or 0. */
static inline bool pfa_word_is_region(uint64_t word)
{
    return word >> PFA_WORD_RECIPROCAL_SHIFT != 0;
}

/* Where the profiled range lies if that can be had: in a window of 16 TiB that nothing else on Linux lies in by itself, on
 * either architecture. R and L are in its lower half, which is called the cell, and the upper half is for recorded chunks
 * that L has no place for. The table has slices for all of the cell, so that an address whose upper bits are the cell's can
 * be looked up without a thought of where R and L begin and end. */
#define PFA_WINDOW_SHIFT 44
#define PFA_WINDOW ((uintptr_t)3)
#define PFA_WINDOW_BASE (PFA_WINDOW << PFA_WINDOW_SHIFT)
#define PFA_WINDOW_SIZE ((uint64_t)1 << PFA_WINDOW_SHIFT)
#define PFA_CELL_SHIFT (PFA_WINDOW_SHIFT - 1)
#define PFA_CELL_SIZE ((uint64_t)1 << PFA_CELL_SHIFT)

/* Places in larger ones are not told to the byte (export/format/live.h, pfa_access_unit), or not in 31 bits. */
#define PFA_SLICE_CHUNK_MAX (((uint64_t)1 << PFA_WORD_RECIPROCAL_SHIFT) - PFA_LARGE_LEAD)

typedef struct pfa_slice {
    _Atomic uint64_t word;           /* 0: there never was a region, or there is no large chunk */
    _Atomic(pfa_record_t *) records; /* NULL: there never was anything */
} pfa_slice_t;

#endif
