/* Regions: from any address in R to its slot and record with two loads from one cache line of a table and one multiply.
 *
 * A region is one mimalloc page of one size class. Each 64 KiB slice of R has a pfa_slice_t: where its region's records
 * begin, and a word that tells its geometry. They are written when the first chunk of a new page is handed out, by the
 * thread that owns the page. The word is read in one piece, so a reader racing with a rewrite sees one geometry or the
 * other; and whichever records it sees with it, there are accessible ones before and behind them, as far as any word
 * reaches (alloc/places.h).
 *
 *   bits  0-5   size class
 *   bits  6-30  reach, signed: how far the slice's first byte lies behind the first slot; before it by PFA_REGION_LEAD
 *               at most
 *   bits 31-63  reciprocal: ceil(2^36 / slot size), never 0
 *
 *   distance = (address mod 2^16) + reach      from the first slot
 *   slot     = (distance * reciprocal) >> 36, negative before the first slot
 *   record   = records + slot records, which are wide or not (meta/record.h)
 *
 * The division is exact: the reciprocal times the slot size is 2^36 + e with e < slot size <= 2^17, and distances are
 * below 2^19, so distance * e < 2^36. The lower 36 bits of the product are the place within the slot, scaled: below the
 * reciprocal exactly for the slot's first byte. (Before the first slot the result can be one too low.) tests/unit/test_region.c tries all sizes and offsets. */
#ifndef PFA_ALLOC_REGION_H
#define PFA_ALLOC_REGION_H

#include "alloc/places.h"
#include "base/atomic.h"

_Static_assert(((uint64_t)1 << PFA_RECIPROCAL_BITS) / PFA_REGION_SLOT_MIN <= (uint64_t)1 << 32,
               "the reciprocal of the smallest slot fits its 33 bits");
_Static_assert((PFA_REGION_SLICES_MAX << PFA_SLICE_SHIFT) <= 1 << 19, "distances have 19 bits");
_Static_assert(PFA_WORD_REACH_SHIFT + PFA_WORD_REACH_BITS == PFA_WORD_RECIPROCAL_SHIFT, "no bit twice, none unused");
_Static_assert((PFA_REGION_LEAD / PFA_REGION_SLOT_MIN + 2) * sizeof(pfa_wide_record_t) <= PFA_RECORD_GAP,
               "the lead's records lie in the gap");

PFA_INLINE uint64_t pfa_word_reciprocal(uint64_t word)
{
    return word >> PFA_WORD_RECIPROCAL_SHIFT;
}

PFA_INLINE unsigned pfa_word_class(uint64_t word)
{
    return (unsigned)(word & PFA_WORD_CLASS_MASK);
}

/* How many slices of the region lie before this one. */
PFA_INLINE uint64_t pfa_word_back(uint64_t word)
{
    return (uint64_t)(pfa_word_reach(word) + PFA_REGION_LEAD) >> PFA_SLICE_SHIFT;
}

/* Slot sizes by class. */
extern _Atomic uint32_t pfa_region_sizes[PFA_WORD_CLASS_MASK + 1];

PFA_INLINE uint64_t pfa_word_slot_size(uint64_t word)
{
    return pfa_load_relaxed(&pfa_region_sizes[pfa_word_class(word)]);
}

/* Where an offset into R lies in its region. */
typedef struct pfa_place {
    uint64_t word;    /* of its slice; 0 if no region was ever there */
    int64_t distance; /* from the first slot; negative in the lead of a region, which no slot covers */
    int64_t scaled;   /* distance * reciprocal */
    pfa_record_t *record;
} pfa_place_t;

/* The lead of a region and the rest behind its last slot are taken for slots too; their records are never live. */
PFA_INLINE pfa_place_t pfa_place_by(uint64_t offset, uint64_t word, pfa_record_t *records)
{
    int64_t distance = (int64_t)(offset & 0xffff) + pfa_word_reach(word);
    int64_t scaled = distance * (int64_t)pfa_word_reciprocal(word);
    uint64_t at = (uint64_t)(scaled >> PFA_RECIPROCAL_BITS) << PFA_RECORD_SHIFT;
    at += at & pfa_range.wide_mask;
    return (pfa_place_t){word, distance, scaled, (pfa_record_t *)((uintptr_t)records + at)};
}

PFA_INLINE pfa_place_t pfa_region_place(uint64_t offset)
{
    const pfa_slice_t *slice = &pfa_range.slices[offset >> PFA_SLICE_SHIFT];
    /* Partner: the release in pfa_region_publish. Whoever has the address of a chunk got it after that; for any other
     * value this makes sure that records are there where a word is. */
    uint64_t word = pfa_load_acquire(&slice->word);
    return pfa_place_by(offset, word, pfa_load_relaxed(&slice->records));
}

/* Is it the first byte of a slot? */
PFA_INLINE bool pfa_place_is_start(const pfa_place_t *place)
{
    uint64_t within = (uint64_t)place->scaled & (((uint64_t)1 << PFA_RECIPROCAL_BITS) - 1);
    return within < pfa_word_reciprocal(place->word);
}

/* How far into its slot it is. */
PFA_INLINE uint64_t pfa_place_within(const pfa_place_t *place)
{
    uint64_t slot = (uint64_t)(place->scaled >> PFA_RECIPROCAL_BITS);
    return (uint64_t)place->distance - slot * pfa_word_slot_size(place->word);
}

/* The word of a region's slice number `back`, of slots of that size and with or without lead. */
uint64_t pfa_region_make_word(uint64_t slot_size, bool lead, uint64_t back);

/* Of a region of so many slices; the word is that of its first. */
pfa_need_t pfa_region_need(uint64_t word, uint64_t slices);

/* Makes the geometry of the page that `chunk` lies in known and its records accessible. By the thread that allocated the
 * chunk, before it is handed out. Returns 0 or an errno value. */
int pfa_region_publish(const void *chunk);

/* The class of a slot size. */
unsigned pfa_region_class(uint64_t slot_size);

#endif
