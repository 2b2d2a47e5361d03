/* The address space we hold, and which of it means what.
 *
 * None of it is reserved, where the kernel lets us choose addresses: a segment is mapped when mimalloc takes it. So it costs
 * nothing, and a limit on address space, whenever it is set, is kept by the kernel. Elsewhere all of it is reserved.
 *
 *   plain space D          chunks without a record: mimalloc's default heaps take their segments from here
 *   +--------------------------------------------+
 *   ^ plain_base                                  plain_base + plain_span: somewhere in the plain zone if that can be had,
 *                                                 since free knows that without a load
 *
 *   the profiled range: region space R | large space L, both when recording first starts, in the window if that
 *   can be had (alloc/slice.h)
 *   +-----------------------------+---------------------------------------+
 *   ^ base                        ^ base + region_max                      base + total_span
 *     64 KiB slices                 64 KiB granules
 *     slices[(a - base) >> 16]      large.granules[(a - large.base) >> 16], and where accesses are recorded slices too
 *
 * The records of the regions in R lie where there is room (alloc/places.h).
 *
 * free() of an address in the plain zone that is a multiple of 8 goes straight to mimalloc, also where D is elsewhere: nobody else's
 * memory is there unless the program asks for such addresses. D elsewhere costs free and realloc a longer way. One compare against
 * total_span rejects every address without a record. Everything here is written under PFA_LOCK_RANGE
 * before the first address of the space is handed out, and never changes after, but for region_span: the tables of R are
 * mapped in steps, so that a program that has few threads does not pay for 10,000 of them in address space. */
#ifndef PFA_ALLOC_RANGE_H
#define PFA_ALLOC_RANGE_H

#include "alloc/backing.h"
#include "alloc/intervalmap.h"
#include "base/compiler.h"
#include "meta/record.h"

#include <stdbool.h>
#include <stdint.h>

/* Region slots are at least 16 bytes, so a slice has at most 4096 of them. */
#define PFA_REGION_SLOT_MIN 16
#define PFA_RECORDS_PER_SLICE (((size_t)1 << PFA_SLICE_SHIFT) / PFA_REGION_SLOT_MIN)
/* One page before the home of each slice: without it slot n of every region had its record in the same cache set, and
 * a few dozen regions evicted each other from the second-level cache. And what lies before the first slot of a region
 * finds a record there that is never live. */
#define PFA_RECORD_GAP 4096

/* Records are made accessible for this many slices at a time: a unit. */
#define PFA_UNIT_SLICES 16

/* Of a unit's shared part. */
typedef struct pfa_record_place {
    uint16_t first;
    uint16_t count : 15;   /* 0: the slice has none */
    uint16_t has_room : 1; /* on the disk, for all of them, and keeps it (alloc/places.c) */
} pfa_record_place_t;

typedef struct pfa_record_unit {
    _Atomic uint16_t extent; /* that it is in, plus one; 0: none yet */
    _Atomic uint16_t used;   /* records of the shared part that are taken */
    /* In the first unit of each group: the group's extent, and the twin of it that some of its units are in; plus one. */
    _Atomic uint16_t group_extent;
    _Atomic uint16_t group_twin;
    pfa_record_place_t places[PFA_UNIT_SLICES]; /* each is its slice's owner's */
    char *_Atomic records;                      /* of the first unit of each group: where the group's are */
} pfa_record_unit_t;

typedef struct pfa_range {
    uintptr_t plain_base;
    uint64_t plain_span; /* 0 without plain space */
    uintptr_t base;
    uint64_t region_span; /* what of R has its tables: grows, before the first segment of what is added is handed out */
    uint64_t total_span;
    pfa_slice_t *slices;
    uint64_t wide_mask; /* all ones where records are wide (meta/record.h), else 0 */
    bool inherited;     /* in a fork child: records that say nothing may be of chunks of before */
    bool blind;         /* in a fork child: its records are its parent's, and are not looked at (alloc/inherit.h) */
    bool wide;          /* the same, to be read on its own: a register kept for it was one too many in malloc */
    bool whole_cell;    /* R and L lie in the window's cell, and all of that has slices */
    bool open;          /* R and L are addresses that we use and have not reserved */
    pfa_record_unit_t *units;
    uint64_t group_units;    /* whose records are one extent */
    pfa_intervalmap_t large; /* over L, with a second level for everything else */
    uint64_t region_max;     /* what R can grow to: L begins there */
    uint64_t home_stride;    /* from the home of a slice's records to the next */
    int region_arena;
    int large_arena;
} pfa_range_t;

extern _Alignas(PFA_CACHE_LINE) pfa_range_t pfa_range;

/* The plain zone: where neither the kernel nor mimalloc nor the shadows of sanitizers are, and addresses have the bit that says to
 * instrumented code that they are of no concern (hooks/access/access.h). Where there are no addresses so high, D is elsewhere. */
#define PFA_PLAIN_ZONE ((uintptr_t)PFA_ADDRESS_USUAL_BIT + ((uintptr_t)8 << 40))
#define PFA_PLAIN_ZONE_SHIFT 41

/* Reserves plain space; without it (no address space for it) everything works, but a foreign pointer given to free can
 * no longer be told from a chunk. */
void pfa_range_open_plain(void);

/* Reserves the profiled range on the first call. Returns 0 or an errno value: ENOMEM when there is no room for it, in
 * which case nothing can be recorded. Sizes of 0 choose from the machine's memory and limits. `wide`: with room for
 * accesses in each record. */
int pfa_range_open_profiled(uint64_t region_size, uint64_t large_size, bool wide);
/* In a fork child: nobody else is making R longer any more. */
void pfa_range_after_fork(void);

PFA_INLINE bool pfa_range_is_wide(void)
{
    return pfa_range.wide;
}

PFA_INLINE bool pfa_range_in_window(void)
{
    return pfa_range.base >> PFA_WINDOW_SHIFT == PFA_WINDOW;
}

/* How far apart records lie. */
PFA_INLINE uint64_t pfa_range_record_size(void)
{
    return pfa_record_size(pfa_range_is_wide());
}

/* Accesses are there in all records of R or in none, and in those of all large chunks. */
PFA_INLINE bool pfa_range_has_accesses(uint64_t size_flags)
{
    return pfa_range_is_wide() || (size_flags & PFA_FLAG_LARGE) != 0;
}

/* Is it in plain space, wherever that is? */
PFA_INLINE bool pfa_range_plain(uintptr_t address)
{
    return address - pfa_range.plain_base < pfa_range.plain_span;
}

/* True for every address in the profiled range. */
PFA_INLINE bool pfa_range_profiled(uintptr_t address)
{
    return address - pfa_range.base < pfa_range.total_span;
}

#endif
