/* Threads and their counters.
 *
 * Each thread that allocates, or frees more than a few chunks, has a pfa_thread_t: a number, and counters by size class that it
 * alone writes and anyone may read. When a thread ends its counters are added to the process's and the block is reused.
 * Guarantees:
 *   1. pfa_thread_list_* and the sums take PFA_LOCK_THREADS: at a thread's beginning and end, never for a chunk. Nothing else
 *      here blocks.
 *   2. A block's memory is never unmapped, so a stale pointer to one reads old numbers, never faults.
 *   3. Counting is one plain add per counter: no atomics, no locks. A thread without a block counts with atomic adds.
 *   4. A signal handler that comes into the middle of that (tls->in_ring says so) counts as a thread without a block does. */
#ifndef PFA_META_THREAD_H
#define PFA_META_THREAD_H

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/tls.h"
#include "export/format/times.h"
#include "meta/unwind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Size classes as the summary shows them: 64 of regions by slot size, then powers of two for large chunks. */
enum { PFA_CLASS_REGIONS = 64, PFA_CLASS_LARGE = 64, PFA_CLASS_COUNT = 96 };

/* Chunks are counted in units of 1/1024, since a sampled chunk stands for a fractional number of chunks. */
#define PFA_COUNT_ONE 1024u

typedef struct pfa_class_counters {
    pfa_counter_t allocations; /* in 1/PFA_COUNT_ONE */
    pfa_counter_t bytes;
    pfa_counter_t frees; /* in 1/PFA_COUNT_ONE */
    pfa_counter_t freed_bytes;
} pfa_class_counters_t;
_Static_assert(offsetof(pfa_class_counters_t, bytes) == sizeof(pfa_counter_t) &&
                   offsetof(pfa_class_counters_t, freed_bytes) ==
                       offsetof(pfa_class_counters_t, frees) + sizeof(pfa_counter_t),
               "two by two");

typedef struct pfa_counters {
    pfa_class_counters_t by_class[PFA_CLASS_COUNT];
    pfa_counter_t unrecorded; /* chunks that should have, but there was no room for one */
    pfa_counter_t bad_frees;
    pfa_trace_times_t times; /* counters too, all of it */
} pfa_counters_t;

/* The call that is being measured, and the next that is due (meta/measure.h). */
typedef struct pfa_measure {
    uint32_t distance; /* calls from the last that was due to the next, itself included; 0: none was drawn yet */
    int32_t left;      /* of a block without a thread: those still to come before it */
    uint64_t cost;     /* pfa_measure_cost */
    uint64_t waited;   /* ticks that the thread has waited for the writer, and what that was when the call began */
    uint64_t waited_before;
    uint64_t allowed;   /* bytes that the call handles beside those it is asked for */
    uint64_t own_began; /* of the allocator's part */
    int64_t own_parts;  /* how long that took, in 1/PFA_TIMES_PART */
    uint32_t armed;     /* frees that are to go the way of measured ones; only the last of them is */
    bool is_rehearsed;  /* the call under way is not that one */
} pfa_measure_t;

/* Stacks and places of frees that the thread met lately (meta/stack.h). */
typedef struct pfa_known_stack {
    uint64_t hash;
    uint32_t stack;
    uint32_t generation; /* pfa_stack_generation when it was taken */
} pfa_known_stack_t;

typedef struct pfa_site {
    uintptr_t pc;
    uint32_t node;
    uint32_t generation;
} pfa_site_t;

/* How deep tags may be nested. */
enum { PFA_TAGS_NESTED = 32 };

enum { PFA_KNOWN_STACKS = 1024, PFA_SITES = 128 };

/* A stack that was taken here lately, with the words of it that the walk read: while they are the same, so is it. Behind the
 * first words of the last member lies the next trail.
 *
 * Trails are written one behind another into the thread's room for them, and over the oldest when it is full: a thread that
 * takes few stacks touches little of it. A place is counted from the thread's first trail on and never comes again, in
 * words of 8 bytes; what was written there is still there while the head is not more than the room's size beyond it.
 *
 *     trail_room     | newest | <- trail_head % PFA_TRAIL_ROOM        oldest | ...            |
 *     trail_index    sets of PFA_TRAIL_WAYS words, by pc and sp: 48 bits of a trail's place, 16 bits more of the hash
 *
 * Stacks that reach the same place at the same sp by different ways share a set: of them, four are known at a time. */
typedef struct pfa_trail {
    uintptr_t pc; /* of the start; its sp is in the words */
    uintptr_t fp;
    uint32_t stack;
    uint32_t depth; /* that was asked for */
    pfa_unwind_words_t words;
} pfa_trail_t;

enum {
    PFA_TRAIL_WAYS = 4,
    PFA_TRAIL_SET_BITS = 8,
    PFA_TRAIL_TAG_BITS = 16,
    PFA_TRAIL_ROOM = 16384,
    PFA_TRAIL_MOST = sizeof(pfa_trail_t) / 8, /* room that one may take */
    PFA_TRAIL_STRIDE = 4,                     /* words that are compared at a time */
    PFA_TRAIL_LUCK = 32
};
_Static_assert(sizeof(pfa_trail_t) % 8 == 0 && PFA_TRAIL_MOST * 8 < PFA_TRAIL_ROOM, "room for some, in words");

/* Stacks besides the one in use whose ranges are known (pfa_tls_t.stack_range): of coroutines, of signal handlers. */
enum { PFA_STACK_RANGES = 8 };

/* Counts up whenever code was unloaded. */
extern _Atomic uint32_t pfa_stack_generation;

/* Where the kernel is not to be asked (pfa_sys_be_frugal): the block of a thread that is past its destructors stays then. */
#define PFA_TID_UNKNOWN (-1)

typedef struct pfa_thread {
    pfa_counters_t counters;
    struct pfa_thread *next;
    struct pfa_thread *previous;
    struct pfa_thread *next_map;    /* of the first block of a map, the first of another */
    pfa_tls_t *tls;                 /* NULL: it has only freed so far, and its end may come without a word */
    int tid;                        /* of such a thread, by which it is known to be gone, or PFA_TID_UNKNOWN; else 0 */
    struct pfa_ring *ring;          /* that the thread has (meta/ring.h), if any */
    uint16_t number;                /* 1 and up, reused after the end only when there are no others left; 0: unknown */
    uint16_t tags[PFA_TAGS_NESTED]; /* in force, outermost first */
    uint32_t tag_depth;             /* also counts those that found no room */
    uint32_t trail_walks;           /* stacks for which no trail held */
    uint32_t trail_next;            /* which of the ways is written over next */
    int32_t trail_luck;        /* of these walks: goes up when a trail held since the last one, down when none did */
    uint32_t trail_generation; /* pfa_stack_generation that they are of */
    bool trail_held;
    bool trail_busy; /* they are being read or written */
    uint32_t stack_range_next;
    uint64_t stack_ranges[PFA_STACK_RANGES];
    pfa_measure_t measure;
    uint64_t trail_head; /* where the next trail begins */
    uint64_t trail_index[PFA_TRAIL_WAYS << PFA_TRAIL_SET_BITS];
    pfa_site_t sites[PFA_SITES];
    pfa_known_stack_t stacks[PFA_KNOWN_STACKS];
    uint64_t trail_room[PFA_TRAIL_ROOM];
} pfa_thread_t;

/* The calling thread's number, also before it has a block. Takes no lock. */
uint16_t pfa_thread_number(pfa_tls_t *tls);
/* Gives the calling thread a block and puts it on the list; NULL if there is no memory for one. */
pfa_thread_t *pfa_thread_list_join(pfa_tls_t *tls);
/* The same for a thread that has only freed so far: its TLS is left alone by everyone else. */
pfa_thread_t *pfa_thread_list_join_to_free(const pfa_tls_t *tls);
/* It allocates from now on, and its end will be told. */
void pfa_thread_list_stay(pfa_thread_t *thread, pfa_tls_t *tls);
/* Takes the calling thread's block off the list and keeps its counts. */
void pfa_thread_list_leave(pfa_thread_t *thread);
/* In a fork child, alone: only the caller lives on. Whatever another thread was in the middle of, all blocks are found by the
 * maps they came in; of a thread that was just ending, what it had counted may be there twice or not at all. */
void pfa_thread_list_after_fork(pfa_thread_t *survivor);

/* Has every thread that ever allocated ended? At once: false also while another thread has the list. */
bool pfa_thread_list_empty(void);
/* Has every one but this? */
bool pfa_thread_list_alone(const pfa_thread_t *thread);
/* Makes the next allocation of every thread that is not at this epoch of the mode leave the fast path. Where subtracting
 * from memory takes several instructions, one that was put to sleep in the middle of them may overwrite that; so it is to
 * be called again later, as pfa_thread_list_remind, which costs little. */
void pfa_thread_list_interrupt(uint32_t epoch);
void pfa_thread_list_remind(uint32_t epoch);

/* Sum over all threads, dead ones included. Not of one moment: a chunk's death may be in it and its birth not. */
void pfa_counters_sum(pfa_counters_t *sum);

/* The same of the times alone. */
void pfa_times_sum(pfa_trace_times_t *sum);
/* False, and nothing, if somebody else has the list. Where thousands of threads begin at once, it may take long to come to it. */
bool pfa_times_try_sum(pfa_trace_times_t *sum);

/* Counts in whole chunks; what is live is never negative, see above. */
typedef struct pfa_figures {
    uint64_t allocations;
    uint64_t bytes;
    uint64_t frees;
    uint64_t freed_bytes;
    uint64_t live;
    uint64_t live_bytes;
} pfa_figures_t;

/* Of the classes from `first` to before `end`. */
pfa_figures_t pfa_counters_figures(const pfa_counters_t *counters, unsigned first, unsigned end);

/* Live bytes and their peak. Exact with one thread; with more, each can hold back up to PFA_LIVE_SLACK bytes, or in
 * samples, where a chunk stands for more than that, PFA_LIVE_SLACK_SAMPLED. */
#define PFA_LIVE_SLACK (64 * 1024)
#define PFA_LIVE_SLACK_SAMPLED (2 * 1024 * 1024)
void pfa_live_settle(pfa_tls_t *tls);
uint64_t pfa_live_peak(void);

/* For a thread without a block (it has freed no more than a few chunks, or its destructors have run), or in a handler. */
PFA_COLD void pfa_count_orphan_free(unsigned class, uint64_t chunks, uint64_t bytes);
PFA_COLD void pfa_count_orphan_alloc(unsigned class, uint64_t chunks, uint64_t bytes);
PFA_COLD void pfa_count_bad_free(pfa_tls_t *tls);

/* Between these two the thread's counts are its own: none of a handler is lost, and none of what it came into. */
PFA_INLINE void pfa_count_begin(pfa_tls_t *tls)
{
    tls->in_ring = true;
    pfa_fence_compiler();
}

PFA_INLINE void pfa_count_end(pfa_tls_t *tls)
{
    pfa_fence_compiler();
    tls->in_ring = false;
}

/* True when the thread holds back so much that the live total should be settled now. */
static inline bool pfa_count_alloc(pfa_tls_t *tls, unsigned class, uint64_t chunks, uint64_t bytes)
{
    if (PFA_UNLIKELY(tls->in_ring)) {
        pfa_count_orphan_alloc(class, chunks, bytes);
        return false;
    }
    pfa_count_begin(tls);
    pfa_class_counters_t *counters = &tls->thread->counters.by_class[class];
    pfa_own_add_two(&counters->allocations, chunks, bytes);
    int64_t delta = tls->live_delta += (int64_t)bytes;
    bool is_peak = PFA_UNLIKELY(delta > tls->live_delta_peak); /* else it cannot be the first beyond the slack */
    if (is_peak) {
        tls->live_delta_peak = delta;
    }
    pfa_count_end(tls);
    return is_peak && PFA_UNLIKELY(delta > PFA_LIVE_SLACK);
}

static inline bool pfa_count_free(pfa_tls_t *tls, pfa_thread_t *thread, unsigned class, uint64_t chunks, uint64_t bytes)
{
    if (PFA_UNLIKELY(tls->in_ring)) {
        pfa_count_orphan_free(class, chunks, bytes);
        return false;
    }
    pfa_count_begin(tls);
    pfa_class_counters_t *counters = &thread->counters.by_class[class];
    pfa_own_add_two(&counters->frees, chunks, bytes);
    int64_t delta = tls->live_delta -= (int64_t)bytes;
    pfa_count_end(tls);
    return PFA_UNLIKELY(delta < -PFA_LIVE_SLACK);
}

#endif
