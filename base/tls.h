/* The thread's block of fast-path state. Owned by its thread; other threads write `countdown` alone.
 *
 * One countdown covers every reason to leave malloc's fast path (STYLE, habit 5): each allocation takes its bytes off it,
 * and below zero malloc goes the long way. A block starts there, so the first allocation of a thread gets its set-up;
 * recording everything leaves it below zero; sampling sets it to the distance of the next sample point; off sets it to
 * PFA_COUNTDOWN_OFF; and a mode change stores -1 from outside. That store can be lost when it falls into the middle of
 * the owner's subtraction: whoever changes the mode looks again (pfa_thread_list_interrupt), and off is not for ever. */
#ifndef PFA_BASE_TLS_H
#define PFA_BASE_TLS_H

#include "base/atomic.h"
#include "base/compiler.h"

#include <stdint.h>

typedef enum pfa_thread_state {
    PFA_THREAD_NEW,      /* not seen yet */
    PFA_THREAD_ENTERING, /* being set up, or left: allocations made meanwhile are plain */
    PFA_THREAD_READY,
    PFA_THREAD_GONE /* its destructors have run: allocations are plain from now on */
} pfa_thread_state_t;

#define PFA_COUNTDOWN_OFF ((int64_t)64 << 20)

typedef struct pfa_tls {
    int64_t countdown;    /* bytes until malloc leaves the fast path */
    void *heap;           /* where plain chunks come from: never NULL, one without memory at first (alloc/backing.c) */
    uint64_t record_tail; /* the last word of the records it makes: its number (meta/record.h) */
    struct pfa_thread *thread;     /* its counters and identity (meta/thread.h) */
    struct pfa_thread *short_free; /* the same, NULL while its next free is to go the long way (meta/measure.h) */
    void *region_heap;             /* backing heaps in the profiled range, made on first use */
    void *large_heap;
    void *large_anchor;            /* a chunk of that one that keeps its segment (alloc/large.c) */
    void *large_spare;             /* memory of a large chunk freed last, for the next (alloc/large.c) */
    void *region_heap_aside;       /* the region heap while it waits after a failure */
    struct pfa_ring *ring;         /* where its deaths go (meta/ring.h), once there was one */
    struct pfa_rcu_reader *reader; /* its place in the registry of RCU (alloc/rcu.h), once it was in a read section */
    uintptr_t free_site;           /* where the program frees: a return address */
    uint64_t moved_time;           /* of a death by realloc, the birth of the chunk that follows; else 0 */
    uint32_t stack;                /* of the allocation that is being made (meta/depot.h) */
    uint32_t free_stack;           /* of the free that is being made, if more than its site was taken; else 0 */
    uint64_t clock;                /* the last time given to a record (meta/clock.h) */
    uint64_t clock_reading;        /* the last reading of the counter */
    uint64_t random;               /* state of the sampler's generator */
    int64_t live_delta;            /* live bytes not yet added to the process total, and their highest value since */
    int64_t live_delta_peak;
    uint64_t stack_range;    /* of the stack, known to be readable (meta/unwind.c) */
    _Atomic uint32_t epoch;  /* of the mode that the countdown was set for; 0: not set up, or gone */
    int32_t clock_skips;     /* times to give out before the counter is read again */
    uint32_t clock_dense;    /* calls in a row that came right after one another */
    int32_t measure_left;    /* calls before the next one measured, less clock_skips (meta/measure.h) */
    uint32_t link;           /* number of the last realloc (export/format/live.h) */
    uint32_t region_backoff; /* allocations to let pass before the region heap is tried again after a failure */
    uint32_t large_backoff;
    uint8_t state;          /* pfa_thread_state_t */
    uint8_t mode;           /* pfa_mode_t that the countdown was set for */
    uint8_t weight_class;   /* of the sample point that the countdown leads to */
    uint8_t clock_may_skip; /* is the mode one in which times may be skipped? */
    uint8_t leaves;         /* times it has been taken for dead */
    uint8_t is_main;
    uint8_t in_depot; /* is it adding a node? */
    uint8_t in_ring;  /* is it telling a death, or counting? A handler that comes in does so elsewhere (meta/ring.h) */
    uint8_t measures_own; /* is the call under way one of which the allocator's part is measured? */
    uint8_t locks;        /* how many of ours it holds (base/lock.h), and whether it is busy (below) */
    uint8_t freed;        /* chunks that it has freed without ever having allocated, up to a few (hooks/thread.c) */
    uint64_t asked_time;  /* that the allocation under way was given before, or 0: it counts once (meta/measure.h) */
    uint64_t locks_again; /* how often it has taken each lock once more, in handlers */
} pfa_tls_t;

_Static_assert(sizeof(pfa_tls_t) <= 224, "static TLS is scarce: keep the block small");

/* In alloc/backing.c. */
extern PFA_THREAD_LOCAL pfa_tls_t pfa_tls;

/* Between these two the thread's allocations are plain: they are ours, not the program's. Epoch 0 is no mode's, so the
 * first allocation after it sets the thread up for the mode in force again. */
static inline uint8_t pfa_tls_pause(pfa_tls_t *tls)
{
    uint8_t before = tls->state;
    tls->state = PFA_THREAD_ENTERING;
    pfa_store_relaxed(&tls->epoch, 0);
    tls->clock_skips = 0;
    tls->clock_may_skip = 0;
    return before;
}

static inline void pfa_tls_resume(pfa_tls_t *tls, uint8_t before)
{
    tls->state = before;
}

/* Between these two the thread is in the middle of something that only it may do, once at a time: what a signal handler
 * allocates meanwhile is plain. Not where the clock is skipped (meta/clock.h), which does not look. */
static inline void pfa_tls_begin_busy(pfa_tls_t *tls)
{
    if (tls->clock_skips > 0) {
        tls->measure_left += tls->clock_skips; /* they are still to come */
        tls->clock_skips = 0;
    }
    tls->locks++;
    pfa_fence_compiler();
}

static inline void pfa_tls_end_busy(pfa_tls_t *tls)
{
    pfa_fence_compiler();
    tls->locks--;
}

/* Makes the next allocation leave the fast path and set the countdown for the mode in force. */
static inline void pfa_tls_disarm(pfa_tls_t *tls)
{
    tls->countdown = -1;
    tls->clock_skips = 0;
    pfa_store_relaxed(&tls->epoch, 0);
}

#endif
