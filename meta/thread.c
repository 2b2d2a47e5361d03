/* Owns the list of threads, the counters of dead ones, and the live total. See meta/thread.h for who may call what. */
#include "meta/thread.h"
#include "base/lock.h"
#include "base/sys.h"
#include "meta/ring.h"

#include <string.h>
#include <sys/mman.h>

enum { BLOCKS_PER_MAP = 16, SWEEP_LEAST = 64 };

static struct {
    pfa_thread_t *living;
    pfa_thread_t *spare;    /* blocks without a thread, linked by next */
    uint32_t count;         /* of the living, */
    uint32_t freeing;       /* and of those among them that have only freed */
    uint32_t sweep_at;      /* so many of those are looked through for threads that are gone */
    int owner;              /* the process whose threads these are; 0 before the first of them */
    pfa_counters_t of_dead; /* what threads that ended had counted */
    _Atomic uint16_t last_number;
} list;

/* What threads without a block have counted, and handlers. */
static struct {
    _Atomic uint64_t allocations;
    _Atomic uint64_t bytes;
    _Atomic uint64_t frees;
    _Atomic uint64_t freed_bytes;
} of_orphans[PFA_CLASS_COUNT];
static _Atomic uint64_t bad_frees_of_orphans;

static _Atomic(pfa_thread_t *) maps; /* all blocks there are */
static _Atomic int64_t live_bytes;
static _Atomic uint64_t live_peak;

static void add_spare_blocks(void)
{
    void *memory;
    if (pfa_sys_map(NULL, BLOCKS_PER_MAP * sizeof(pfa_thread_t), PROT_READ | PROT_WRITE, 0, &memory) != 0) {
        return;
    }
    pfa_thread_t *blocks = memory;
    blocks->next_map = pfa_load_relaxed(&maps);
    pfa_store_release(&maps, blocks);
    for (int i = BLOCKS_PER_MAP - 1; i >= 0; i--) {
        blocks[i].next = list.spare;
        list.spare = &blocks[i];
    }
}

/* A number that no thread had, or 0. */
static uint16_t next_number(void)
{
    uint16_t last = pfa_load_relaxed(&list.last_number);
    while (last < UINT16_MAX) {
        if (pfa_cas_weak_acq_rel(&list.last_number, &last, (uint16_t)(last + 1))) {
            return (uint16_t)(last + 1);
        }
    }
    return 0;
}

uint16_t pfa_thread_number(pfa_tls_t *tls)
{
    if ((uint16_t)tls->record_tail == 0) {
        uint16_t number = next_number();
        tls->record_tail = number != 0 ? number : UINT16_MAX;
    }
    return (uint16_t)tls->record_tail;
}

/* The one it has had since it first touched a chunk; or a new one; or, where there are none left, the block's last. */
static void give_number(pfa_thread_t *thread, const pfa_tls_t *tls)
{
    uint16_t number = (uint16_t)tls->record_tail != 0 && tls->leaves == 0 ? (uint16_t)tls->record_tail : next_number();
    if (number != 0) {
        thread->number = number;
    }
}

static void add_all(pfa_counter_t *to, const pfa_counter_t *from, size_t size)
{
    for (size_t i = 0; i < size / sizeof *to; i++) {
        to[i] += pfa_read_counter(&from[i]);
    }
}

static void add_counters(pfa_counters_t *sum, const pfa_counters_t *part)
{
    /* All members are counters of one type, so both are arrays of them. */
    add_all((pfa_counter_t *)sum, (const pfa_counter_t *)part, sizeof *sum);
}

static void retire(pfa_thread_t *thread)
{
    add_counters(&list.of_dead, &thread->counters);
    memset(&thread->counters, 0, sizeof thread->counters);
    thread->tls = NULL;
    thread->tid = 0;
    thread->tag_depth = 0;
    thread->ring = NULL;
    thread->previous = NULL;
    thread->next = list.spare;
    list.spare = thread;
}

static void take_off(pfa_thread_t *thread)
{
    list.count--;
    list.freeing -= thread->tls == NULL;
    if (thread->previous != NULL) {
        thread->previous->next = thread->next;
    } else {
        list.living = thread->next;
    }
    if (thread->next != NULL) {
        thread->next->previous = thread->previous;
    }
    retire(thread);
}

/* Takes the blocks back of threads that have only freed and are gone without a word: the C library may free what it had for a
 * thread after the last destructors. */
static void sweep(void)
{
    pfa_thread_t *thread = list.living;
    if (pfa_sys_is_frugal() || pfa_sys_pid() != list.owner) {
        return; /* a child in our memory, of vfork say: the threads are not its own, and look gone to it */
    }
    if (list.freeing != 0 && pfa_sys_is_shut_in()) {
        return; /* asking for a thread may be forbidden: the blocks stay */
    }
    while (thread != NULL) {
        pfa_thread_t *next = thread->next;
        if (thread->tls == NULL && pfa_sys_is_gone(thread->tid)) {
            if (thread->ring != NULL) {
                pfa_ring_leave_behind(thread->ring);
                thread->ring = NULL;
            }
            take_off(thread);
        }
        thread = next;
    }
    list.sweep_at = 2 * list.freeing + SWEEP_LEAST;
}

static int own_tid(void)
{
    return pfa_sys_is_frugal() ? PFA_TID_UNKNOWN : pfa_sys_tid();
}

static int own_pid(void)
{
    return pfa_sys_is_frugal() ? 0 : pfa_sys_pid();
}

static pfa_thread_t *join(const pfa_tls_t *tls, pfa_tls_t *known_as)
{
    pfa_lock(PFA_LOCK_THREADS);
    if (known_as == NULL && list.owner == 0) {
        list.owner = own_pid();
    }
    if (list.spare == NULL && list.freeing >= list.sweep_at) {
        sweep();
    }
    if (list.spare == NULL) {
        add_spare_blocks();
    }
    pfa_thread_t *thread = list.spare;
    if (thread != NULL) {
        list.spare = thread->next;
        give_number(thread, tls);
        memset(thread->stack_ranges, 0, sizeof thread->stack_ranges); /* of stacks that another thread had */
        thread->trail_busy = false; /* as a thread may have been that a fork left behind */
        thread->tls = known_as;
        thread->tid = known_as == NULL ? own_tid() : 0;
        list.count++;
        list.freeing += known_as == NULL;
        thread->previous = NULL;
        thread->next = list.living;
        if (list.living != NULL) {
            list.living->previous = thread;
        }
        list.living = thread;
    }
    pfa_unlock(PFA_LOCK_THREADS);
    return thread;
}

pfa_thread_t *pfa_thread_list_join(pfa_tls_t *tls)
{
    return join(tls, tls);
}

pfa_thread_t *pfa_thread_list_join_to_free(const pfa_tls_t *tls)
{
    return join(tls, NULL);
}

void pfa_thread_list_stay(pfa_thread_t *thread, pfa_tls_t *tls)
{
    pfa_lock(PFA_LOCK_THREADS);
    list.freeing -= thread->tls == NULL;
    thread->tls = tls;
    pfa_unlock(PFA_LOCK_THREADS);
}

void pfa_thread_list_leave(pfa_thread_t *thread)
{
    pfa_lock(PFA_LOCK_THREADS);
    take_off(thread);
    pfa_unlock(PFA_LOCK_THREADS);
}

void pfa_thread_list_after_fork(pfa_thread_t *survivor)
{
    list.spare = NULL;
    for (pfa_thread_t *map = pfa_load_relaxed(&maps); map != NULL; map = map->next_map) {
        for (pfa_thread_t *thread = map; thread < map + BLOCKS_PER_MAP; thread++) {
            if (thread == survivor) {
                continue;
            }
            thread->ring = NULL;
            if (thread->tls != NULL || thread->tid != 0) {
                retire(thread);
            } else {
                thread->next = list.spare;
                list.spare = thread;
            }
        }
    }
    list.living = survivor;
    if (survivor != NULL) {
        survivor->next = NULL;
        survivor->previous = NULL;
        survivor->tid = survivor->tls == NULL ? own_tid() : 0;
    }
    list.owner = survivor != NULL && survivor->tls == NULL ? own_pid() : 0;
    list.count = survivor != NULL;
    list.freeing = survivor != NULL && survivor->tls == NULL;
}

/* Is nobody there but `thread`? Looking through many for those that are gone is slow, so it is done only where it matters. */
static bool is_nobody_but(const pfa_thread_t *thread)
{
    if (list.count - list.freeing <= 1 && list.freeing != 0) {
        sweep();
    }
    return list.count == 0 || (list.count == 1 && list.living == thread);
}

bool pfa_thread_list_empty(void)
{
    if (!pfa_try_lock(PFA_LOCK_THREADS)) {
        return false; /* somebody comes or goes, or counts */
    }
    bool empty = is_nobody_but(NULL);
    pfa_unlock(PFA_LOCK_THREADS);
    return empty;
}

bool pfa_thread_list_alone(const pfa_thread_t *thread)
{
    pfa_lock(PFA_LOCK_THREADS);
    bool alone = is_nobody_but(thread);
    pfa_unlock(PFA_LOCK_THREADS);
    return alone;
}

/* One pass over the threads; true if one of them may not have noticed yet. */
static bool interrupt_once(uint32_t epoch)
{
    bool pending = false;
    for (pfa_thread_t *thread = list.living; thread != NULL; thread = thread->next) {
        if (thread->tls == NULL) {
            continue; /* its first allocation leaves the fast path anyway */
        }
        if (pfa_load_relaxed(&thread->tls->epoch) == epoch) {
            continue; /* calls that are skipped are counted beforehand (meta/measure.h): none without need */
        }
        int64_t *countdown = &thread->tls->countdown;
        /* Relaxed: see pfa_thread_list_interrupt. */
        if (__atomic_load_n(countdown, __ATOMIC_RELAXED) >= 0) {
            __atomic_store_n(countdown, -1, __ATOMIC_RELAXED);
            pending = true;
        }
        /* Lost like the other store can be, this one is made good after the few calls that were left. */
        __atomic_store_n(&thread->tls->clock_skips, 0, __ATOMIC_RELAXED);
    }
    return pending;
}

void pfa_thread_list_interrupt(uint32_t epoch)
{
    enum { PASSES = 64, QUIET = 3 };
    int quiet = 0;
    pfa_lock(PFA_LOCK_THREADS);
    /* The caller has stored the new mode. Partner: hooks/slow.c rearm(). A thread that sets its countdown now either sees
     * the new epoch after that, or has stored the countdown for us to see. */
    if (list.living != NULL) {
        pfa_sys_fence_all();
    }
    for (int pass = 0; pass < PASSES && quiet < QUIET && list.living != NULL; pass++) {
        quiet = interrupt_once(epoch) ? 0 : quiet + 1;
        /* So that a subtraction that was under way, of more than one instruction on some machines, ends and shows
         * itself, and our own store is not just seen by ourselves. */
        pfa_sys_fence_all();
    }
    pfa_unlock(PFA_LOCK_THREADS);
}

void pfa_thread_list_remind(uint32_t epoch)
{
    if (pfa_try_lock(PFA_LOCK_THREADS)) {
        (void)interrupt_once(epoch);
        pfa_unlock(PFA_LOCK_THREADS);
    }
}

void pfa_counters_sum(pfa_counters_t *sum)
{
    memset(sum, 0, sizeof *sum);
    pfa_lock(PFA_LOCK_THREADS);
    add_counters(sum, &list.of_dead);
    for (unsigned class = 0; class < PFA_CLASS_COUNT; class ++) {
        sum->by_class[class].allocations += pfa_load_relaxed(&of_orphans[class].allocations);
        sum->by_class[class].bytes += pfa_load_relaxed(&of_orphans[class].bytes);
        sum->by_class[class].frees += pfa_load_relaxed(&of_orphans[class].frees);
        sum->by_class[class].freed_bytes += pfa_load_relaxed(&of_orphans[class].freed_bytes);
    }
    sum->bad_frees += pfa_load_relaxed(&bad_frees_of_orphans);
    for (const pfa_thread_t *thread = list.living; thread != NULL; thread = thread->next) {
        add_counters(sum, &thread->counters);
    }
    pfa_unlock(PFA_LOCK_THREADS);
}

static void sum_times(pfa_trace_times_t *sum)
{
    memset(sum, 0, sizeof *sum);
    add_all((pfa_counter_t *)sum, (const pfa_counter_t *)&list.of_dead.times, sizeof *sum);
    for (const pfa_thread_t *thread = list.living; thread != NULL; thread = thread->next) {
        add_all((pfa_counter_t *)sum, (const pfa_counter_t *)&thread->counters.times, sizeof *sum);
    }
}

void pfa_times_sum(pfa_trace_times_t *sum)
{
    pfa_lock(PFA_LOCK_THREADS);
    sum_times(sum);
    pfa_unlock(PFA_LOCK_THREADS);
}

bool pfa_times_try_sum(pfa_trace_times_t *sum)
{
    bool locked = pfa_try_lock(PFA_LOCK_THREADS);
    if (locked) {
        sum_times(sum);
        pfa_unlock(PFA_LOCK_THREADS);
    }
    return locked;
}

void pfa_count_orphan_free(unsigned class, uint64_t chunks, uint64_t bytes)
{
    pfa_add_relaxed(&of_orphans[class].frees, chunks);
    pfa_add_relaxed(&of_orphans[class].freed_bytes, bytes);
    pfa_add_relaxed(&live_bytes, -(int64_t)bytes);
}

static void raise_peak(int64_t to)
{
    if (to > 0) {
        pfa_atomic_max(&live_peak, (uint64_t)to);
    }
}

void pfa_count_orphan_alloc(unsigned class, uint64_t chunks, uint64_t bytes)
{
    pfa_add_relaxed(&of_orphans[class].allocations, chunks);
    pfa_add_relaxed(&of_orphans[class].bytes, bytes);
    raise_peak(pfa_add_relaxed(&live_bytes, (int64_t)bytes) + (int64_t)bytes);
}

/* Rare: atomic also where the thread has a block, whatever a handler comes into. */
void pfa_count_bad_free(pfa_tls_t *tls)
{
    if (tls->thread != NULL) {
        (void)__atomic_fetch_add(&tls->thread->counters.bad_frees, 1, __ATOMIC_RELAXED);
    } else {
        pfa_add_relaxed(&bad_frees_of_orphans, 1);
    }
}

static uint64_t difference(uint64_t more, uint64_t less)
{
    return more > less ? more - less : 0;
}

static uint64_t whole_chunks(uint64_t count)
{
    return (count + PFA_COUNT_ONE / 2) / PFA_COUNT_ONE;
}

pfa_figures_t pfa_counters_figures(const pfa_counters_t *counters, unsigned first, unsigned end)
{
    pfa_figures_t f = {0, 0, 0, 0, 0, 0};
    for (unsigned class = first; class < end; class ++) {
        const pfa_class_counters_t *each = &counters->by_class[class];
        f.allocations += each->allocations;
        f.bytes += each->bytes;
        f.frees += each->frees;
        f.freed_bytes += each->freed_bytes;
    }
    f.live = whole_chunks(difference(f.allocations, f.frees));
    f.live_bytes = difference(f.bytes, f.freed_bytes);
    f.allocations = whole_chunks(f.allocations);
    f.frees = whole_chunks(f.frees);
    return f;
}

void pfa_live_settle(pfa_tls_t *tls)
{
    if (tls->in_ring) {
        return; /* in a handler that came into the middle of counting: later */
    }
    pfa_count_begin(tls);
    int64_t before = pfa_add_relaxed(&live_bytes, tls->live_delta);
    raise_peak(before + tls->live_delta_peak);
    tls->live_delta = 0;
    tls->live_delta_peak = 0;
    pfa_count_end(tls);
}

uint64_t pfa_live_peak(void)
{
    return pfa_load_relaxed(&live_peak);
}
