/* Regions: from any address in R to its slot and record with one load, one multiply and one add.
 *
 * A region is one mimalloc page of one size class. Each 64 KiB slice of R has one word in pfa_range.slices that tells
 * everything about the region it belongs to; the word is written when the first chunk of a new page is handed out, by
 * the thread that owns the page, and read in one piece, so a reader racing with a rewrite sees one region or the other.
 *
 *   bits  0-36  reciprocal: ceil(2^40 / slot size)
 *   bits 37-51  slot size / 8
 *   bits 52-54  how many slices before this one the region begins
 *   bit  55     the first slot begins PFA_REGION_LEAD bytes into the region
 *   bits 56-62  size class, for counting
 *   bit  63     set in every valid word
 *
 *   slot   = ((address - first slot) * reciprocal) >> 40
 *   record = records + (first slice << 18) + (((first slice << 12) + (slot << 6)) mod 2^18)
 *
 * The middle term turns the records of each slice by a page against its neighbour's. Without it slot n of every region
 * had its record in the same cache set, and a few dozen regions evicted each other from the second-level cache.
 *
 * The division is exact for every offset below 2^19 (8 slices) and every slot size from 16 to 2^17: the reciprocal is
 * too big by e < slot size, so the quotient is off by offset * e / (slot size * 2^40) < 2^19 / 2^40, less than the
 * smallest distance 1/slot size of a fraction from the next integer. tests/unit/test_region.c tries them all. */
#ifndef PFA_ALLOC_REGION_H
#define PFA_ALLOC_REGION_H

#include "alloc/range.h"
#include "base/atomic.h"

#define PFA_RECIPROCAL_BITS 40
#define PFA_RECORD_TURN_SHIFT 12
#define PFA_WORD_RECIPROCAL_MASK (((uint64_t)1 << 37) - 1)
#define PFA_WORD_SIZE_SHIFT 37
#define PFA_WORD_BACK_SHIFT 52
#define PFA_WORD_LEAD_SHIFT 55
#define PFA_WORD_CLASS_SHIFT 56
#define PFA_WORD_VALID ((uint64_t)1 << 63)
_Static_assert(((uint64_t)1 << PFA_RECIPROCAL_BITS) / PFA_REGION_SLOT_MIN <= PFA_WORD_RECIPROCAL_MASK,
               "the reciprocal of the smallest slot fits its field");
_Static_assert(PFA_REGION_CHUNK_MAX / 8 < (1u << 15), "the biggest slot fits its field");
_Static_assert(PFA_REGION_SLICES_MAX <= 8, "the way back to the first slice fits its field");

PFA_INLINE uint64_t pfa_word_slot_size(uint64_t word)
{
    return ((word >> PFA_WORD_SIZE_SHIFT) & 0x7fff) << 3;
}

PFA_INLINE unsigned pfa_word_class(uint64_t word)
{
    return (unsigned)(word >> PFA_WORD_CLASS_SHIFT) & 0x7f;
}

/* The word of the slice that an offset into R lies in; 0 if no region was ever there. */
PFA_INLINE uint64_t pfa_region_word(uint64_t offset)
{
    /* Relaxed: whoever has an address of a chunk got it after the word was written. */
    return pfa_load_relaxed(&pfa_range.slices[offset >> PFA_SLICE_SHIFT]);
}

typedef struct pfa_slot {
    uint64_t start; /* offset into R of the slot's first byte */
    pfa_record_t *record;
} pfa_slot_t;

/* Where the record of a slot is, given its region's first slice. */
PFA_INLINE pfa_record_t *pfa_region_record(uint64_t first_slice, uint64_t index)
{
    uint64_t within = (first_slice << PFA_RECORD_TURN_SHIFT) + (index << PFA_RECORD_SHIFT);
    return (pfa_record_t *)(pfa_range.records + (first_slice << PFA_RECORD_STRIDE_SHIFT) +
                            (within & (((uint64_t)1 << PFA_RECORD_STRIDE_SHIFT) - 1)));
}

/* The slot that an offset into R lies in, given its slice's word. False for the lead of a region, which no slot covers.
 * The rest behind the last slot is taken for a slot too; its record is never live. */
PFA_INLINE bool pfa_region_slot(uint64_t offset, uint64_t word, pfa_slot_t *slot)
{
    uint64_t first_slice = (offset >> PFA_SLICE_SHIFT) - ((word >> PFA_WORD_BACK_SHIFT) & 7);
    uint64_t first_slot = (first_slice << PFA_SLICE_SHIFT) + ((word >> PFA_WORD_LEAD_SHIFT) & 1) * PFA_REGION_LEAD;
    uint64_t distance = offset - first_slot;
    uint64_t index = (distance * (word & PFA_WORD_RECIPROCAL_MASK)) >> PFA_RECIPROCAL_BITS;
    slot->start = first_slot + index * pfa_word_slot_size(word);
    slot->record = pfa_region_record(first_slice, index);
    return (int64_t)distance >= 0;
}

/* The word of a region's slice number `back`, of slots of that size and with or without lead. */
uint64_t pfa_region_make_word(uint64_t slot_size, bool lead, uint64_t back);

/* Makes the geometry of the page that `chunk` lies in known and its records accessible. By the thread that allocated the
 * chunk, before it is handed out. Returns 0 or an errno value. */
int pfa_region_publish(const void *chunk);

/* The class of a slot size, and the slot size of a class (0 if the class has none). */
unsigned pfa_region_class(uint64_t slot_size);
uint64_t pfa_region_class_size(unsigned class);

#endif
