/* The record: what is known of one live chunk. Records of region chunks lie in the record area, where the table of
 * slices leads to (alloc/region.h); records of large chunks lie in cells (alloc/cells.h).
 *
 *    0 alloc_time
 *    8 flags (16 bits) and size (48 bits), one word: storing it makes the record live or dead
 *   16 stack  20 type (20 bits) and link (12 bits: which realloc made the chunk, export/format/live.h)
 *   24 thread  26 tag  28 last_thread  30 lead (where the chunk starts in its slot, in units of 8 bytes)
 *
 * What was done with the chunk follows (of a region chunk in the same cache line) where accesses are recorded. Where they
 * are not, a record is half a line, and less memory is in use when everything is recorded.
 *
 *   32 first_access   the time from the allocation to it, and above that where the chunk starts
 *   40 last_access
 *   48 low  52 high    lowest and highest byte touched, from the region's first slot, or from PFA_LARGE_LEAD before a
 *                    large chunk (alloc/slice.h); one that has no slices: from its start
 *   56 reads  60 writes    saturating, adjacent so that one 64-bit add updates both; as pfa_access_counter has them
 * pfa_live_accesses of export/format/live.h tells what these mean; the access path (hooks/access) only ever compares.
 *
 * Who may write: the allocating thread before the chunk is handed out, the freeing thread when it dies, access callbacks
 * in between (races there lose counts, never more). A record's memory is never unmapped while the process lives. */
#ifndef PFA_META_RECORD_H
#define PFA_META_RECORD_H

#include "base/atomic.h"
#include "export/format/live.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pfa_record {
    uint64_t alloc_time;
    _Atomic uint64_t size_flags;
    uint32_t stack;
    uint32_t type_link;
    union {
        struct {
            uint16_t thread;
            uint16_t tag;
            uint16_t last_thread;
            uint16_t lead;
        };
        _Atomic uint64_t tail;
    };
} pfa_record_t;

typedef struct pfa_accesses {
    uint64_t first_access; /* start / 8 << PFA_FIRST_BITS | pfa_first_code(time) */
    uint64_t last_access;
    uint32_t low;
    uint32_t high;
    union {
        struct {
            uint32_t reads;
            uint32_t writes;
        };
        uint64_t counts;
    };
} pfa_accesses_t;

/* Both, where they lie together. */
typedef struct pfa_wide_record {
    pfa_record_t record;
    pfa_accesses_t accesses;
} pfa_wide_record_t;

/* How far apart records lie, with or without accesses. */
static inline uint64_t pfa_record_size(bool wide)
{
    return wide ? sizeof(pfa_wide_record_t) : sizeof(pfa_record_t);
}

#define PFA_RECORD_SHIFT 5
_Static_assert(sizeof(pfa_record_t) == 1u << PFA_RECORD_SHIFT, "a record is half a cache line");
_Static_assert(sizeof(pfa_wide_record_t) == 2 * sizeof(pfa_record_t), "a wide record is twice as long");
_Static_assert(offsetof(pfa_record_t, size_flags) == 8 && offsetof(pfa_record_t, lead) == 30, "layout as pictured");
_Static_assert(offsetof(pfa_wide_record_t, accesses.reads) == 56 && offsetof(pfa_wide_record_t, accesses.writes) == 60,
               "one word of counters");

/* Flags, in the low 16 bits of size_flags, where tests of them need no long constants. A record of zeros is of a slot
 * that never held a chunk. */
#define PFA_FLAG(n) (1ull << (n))
#define PFA_FLAG_LIVE PFA_FLAG(0)  /* the chunk is allocated */
#define PFA_FLAG_FREED PFA_FLAG(1) /* it was, and the slot has not been reused */
/* Both of them: the chunk is there, but this life of it is not recorded (a realloc in place that was not sampled). */
#define PFA_FLAGS_SILENT (PFA_FLAG_LIVE | PFA_FLAG_FREED)
#define PFA_FLAG_ALIGNED PFA_FLAG(2) /* asked for with an alignment */
#define PFA_FLAG_REALLOC PFA_FLAG(3) /* came from realloc of another chunk */
#define PFA_FLAG_ZEROED PFA_FLAG(4)  /* calloc */
#define PFA_FLAG_NEW PFA_FLAG(5)     /* operator new */
#define PFA_FLAG_ARRAY PFA_FLAG(6)   /* operator new[] */
#define PFA_FLAG_LARGE PFA_FLAG(7)   /* tracked by the interval map */
#define PFA_FLAG_SHARED PFA_FLAG(8)  /* touched by more than one thread; known to instrumented modules (hooks/access) */
#define PFA_FLAG_LEAD PFA_FLAG(15)   /* does not start with its slot: `lead` says where */
/* Bits 9 to 14: the weight class, an index of the sampling periods used so far (alloc/sampler.h); 0: every chunk. */
#define PFA_WEIGHT_SHIFT 9
#define PFA_WEIGHT_CLASSES 64
#define PFA_WEIGHT_MASK ((uint64_t)(PFA_WEIGHT_CLASSES - 1) << PFA_WEIGHT_SHIFT)
#define PFA_FLAG_MASK 0xffffull
#define PFA_SIZE_SHIFT 16
#define PFA_SIZE_MAX (UINT64_MAX >> PFA_SIZE_SHIFT)

#define PFA_LEAD_SHIFT 3

static inline uint64_t pfa_size_flags(uint64_t size, uint64_t flags)
{
    return size << PFA_SIZE_SHIFT | flags;
}

static inline uint64_t pfa_size_of(uint64_t size_flags)
{
    return size_flags >> PFA_SIZE_SHIFT;
}

/* Is it of a chunk that is live and recorded? */
static inline bool pfa_is_live(uint64_t size_flags)
{
    return (size_flags & (PFA_FLAG_LIVE | PFA_FLAG_FREED)) == PFA_FLAG_LIVE;
}

static inline unsigned pfa_weight_class_of(uint64_t size_flags)
{
    return (unsigned)((size_flags & PFA_WEIGHT_MASK) >> PFA_WEIGHT_SHIFT);
}

/* Of a wide record. */
static inline pfa_accesses_t *pfa_record_accesses(pfa_record_t *record)
{
    return &((pfa_wide_record_t *)record)->accesses;
}

/* Nothing was done yet: before the record begins. */
static inline void pfa_accesses_begin(pfa_accesses_t *accesses)
{
    *accesses = (pfa_accesses_t){.low = UINT32_MAX, /* the empty interval */
                                 .counts = (uint64_t)PFA_ACCESS_NONE << 32 | PFA_ACCESS_NONE};
}

/* Fills a record for a new chunk; `tail` is its last word: thread, tag 0, last_thread 0, lead. The last store makes it
 * live; a reader that sees it live through the chunk's own publication by the program sees the rest too. */
static inline void pfa_record_begin(pfa_record_t *record, uint64_t now, uint64_t size_flags, uint32_t stack,
                                    uint32_t type_link, uint64_t tail)
{
    record->alloc_time = now;
    record->stack = stack;
    record->type_link = type_link;
    pfa_store_relaxed(&record->tail, tail);
    pfa_store_release(&record->size_flags, size_flags | PFA_FLAG_LIVE);
}

/* The word of a freed chunk, from what it was before. */
static inline uint64_t pfa_record_ended(uint64_t size_flags)
{
    return (size_flags | PFA_FLAG_FREED) & ~PFA_FLAG_LIVE;
}

/* Makes the record one of a freed chunk, given what was read of the word. */
static inline void pfa_record_end(pfa_record_t *record, uint64_t size_flags)
{
    pfa_store_relaxed(&record->size_flags, pfa_record_ended(size_flags));
}

/* Where in its slot the chunk starts, in bytes. Relaxed: a look-up may meet a record that is just being written. */
static inline uint64_t pfa_record_lead(const pfa_record_t *record)
{
    return (pfa_load_relaxed(&record->tail) >> 48) << PFA_LEAD_SHIFT;
}

/* The last word of a record: a little-endian view of its four halves, on both architectures. */
static inline uint64_t pfa_record_tail(uint16_t thread, uint16_t lead)
{
    return (uint64_t)thread | (uint64_t)lead << 48;
}

#endif
