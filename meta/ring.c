/* Owns the rings, and the totals of what did not fit into them. See meta/ring.h. */
#include "meta/ring.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/options.h"
#include "base/sys.h"
#include "meta/accesses.h"
#include "meta/extents.h"
#include "meta/thread.h"

#include <string.h>

enum { BIG_RINGS = 4, BIG = 65536, SMALL = 4096, FOLD_CHUNKS = 4096 };
#define FOLDS_SIZE (PFA_LIVE_NODES * sizeof(pfa_live_fold_t))

void (*pfa_ring_want_writer)(void);
bool (*pfa_ring_write_here)(void);
void (*pfa_fold_share)(uint64_t size_flags, uint64_t *chunks, uint64_t *bytes);

static pfa_ring_t rings[PFA_RINGS];
static _Atomic uint32_t ring_count;
static uint64_t memory_used;
static _Atomic(pfa_ring_t *) of_orphans; /* of all threads without one; under PFA_LOCK_RINGS */
static _Atomic uint32_t progress;        /* counts what the writer has emptied; those who wait sleep on it */
static _Atomic(pfa_live_fold_t *) folds[FOLD_CHUNKS];

/* What readers of the live table are told. */
static void describe(const pfa_ring_t *ring)
{
    ring->shared->number = ring->number;
    ring->shared->entry_size = sizeof(pfa_event_t);
    ring->shared->capacity = ring->mask + 1;
}

static size_t size_of(uint64_t capacity)
{
    size_t entry = sizeof(pfa_event_t) + (pfa_accesses_kept ? sizeof(pfa_event_accesses_t) : 0);
    size_t size = PFA_LIVE_RING_ENTRIES + capacity * entry;
    return (size + PFA_LIVE_PAGE - 1) & ~(size_t)(PFA_LIVE_PAGE - 1);
}

static bool make_ring(pfa_ring_t *ring, uint32_t number)
{
    bool big = number < BIG_RINGS && memory_used + size_of(BIG) <= pfa_options.buffers;
    uint64_t capacity = big ? BIG : SMALL;
    size_t size = size_of(capacity);
    void *memory;
    uint32_t extent;
    if (memory_used + size > pfa_options.buffers) {
        return false;
    }
    if (pfa_extents_add(PFA_EXTENT_RING, number, size, NULL, &memory, &extent) != 0 ||
        pfa_extents_make_room(extent, 0, size) != 0) {
        return false;
    }
    memory_used += size;
    pfa_live_ring_t *shared = memory;
    *ring = (pfa_ring_t){.limit = capacity,
                         .mask = capacity - 1,
                         .entries = (pfa_event_t *)((char *)memory + PFA_LIVE_RING_ENTRIES),
                         .shared = shared,
                         .wake_mask = capacity / 4 - 1,
                         .number = number};
    if (pfa_accesses_kept) {
        ring->accesses = (pfa_event_accesses_t *)(void *)(ring->entries + capacity);
    }
    describe(ring);
    return true;
}

/* A ring that nobody has, or another. */
static pfa_ring_t *find_ring(void)
{
    uint32_t count = pfa_load_relaxed(&ring_count);
    for (uint32_t i = 0; i < count; i++) {
        if (!rings[i].taken) {
            rings[i].taken = true;
            return &rings[i];
        }
    }
    if (count == PFA_RINGS || !make_ring(&rings[count], count)) {
        return NULL;
    }
    rings[count].taken = true;
    pfa_store_release(&ring_count, count + 1); /* partner: pfa_ring_count */
    return &rings[count];
}

void pfa_ring_wake(void)
{
    if (pfa_ring_want_writer != NULL) {
        pfa_ring_want_writer();
    }
}

static bool has_room(pfa_ring_t *ring)
{
    /* Partner: the release store in pfa_ring_done: the writer has read what is overwritten now. */
    uint64_t tail = pfa_load_acquire(&ring->shared->tail);
    uint64_t limit = tail + ring->mask + 1;
    if (limit == ring->limit) {
        return ring->head != limit;
    }
    ring->limit = limit;
    ring->impatient = false;
    return true;
}

/* Waits for the writer, for a moment at most. */
static bool wait_for_room(pfa_ring_t *ring)
{
    if (ring->impatient) {
        return false;
    }
    if (ring != pfa_load_relaxed(&of_orphans) && pfa_ring_write_here != NULL && pfa_ring_write_here() &&
        has_room(ring)) {
        return true;
    }
    uint64_t until = pfa_sys_nanoseconds() + PFA_RING_PATIENCE_NS;
    for (uint64_t now = until - PFA_RING_PATIENCE_NS; now < until; now = pfa_sys_nanoseconds()) {
        uint32_t seen = pfa_load_acquire(&progress);
        if (has_room(ring)) {
            return true;
        }
        pfa_ring_wake();
        pfa_sys_futex_wait(&progress, seen, until - now);
    }
    ring->impatient = !has_room(ring);
    return !ring->impatient;
}

static bool wait_measured(pfa_ring_t *ring)
{
    uint64_t began = pfa_counter();
    bool room = wait_for_room(ring);
    ring->waited += pfa_counter() - began;
    return room;
}

/* So much of a free was no work of its own (meta/measure.h). */
static void tell_waited(pfa_thread_t *thread, pfa_ring_t *ring)
{
    if (ring->waited != 0 && thread != NULL) {
        thread->measure.waited += ring->waited;
        pfa_own_add(&thread->counters.times.waited, ring->waited);
        ring->waited = 0;
    }
}

/* Is it of a chunk from before the trace? */
static bool is_before(const pfa_event_t *event)
{
    return event->alloc_time < __atomic_load_n(&pfa_extents_head->start_counter, __ATOMIC_RELAXED);
}

static pfa_live_fold_t *folds_of(uint32_t stack)
{
    uint32_t chunk = stack / PFA_LIVE_NODES;
    if (chunk >= FOLD_CHUNKS) {
        return NULL;
    }
    pfa_live_fold_t *memory = pfa_load_acquire(&folds[chunk]);
    if (memory != NULL) {
        return memory;
    }
    void *fresh = NULL;
    uint32_t extent;
    pfa_lock(PFA_LOCK_DEPOT);
    memory = pfa_load_acquire(&folds[chunk]);
    bool made = memory == NULL && pfa_extents_add(PFA_EXTENT_FOLDS, chunk, FOLDS_SIZE, NULL, &fresh, &extent) == 0;
    if (made && pfa_extents_make_room(extent, 0, FOLDS_SIZE) != 0) {
        /* That was the moment when the disk was found full: once more, in memory. */
        made = pfa_extents_add(PFA_EXTENT_FOLDS, chunk, FOLDS_SIZE, NULL, &fresh, &extent) == 0;
    }
    if (made) {
        memory = fresh;
        pfa_store_release(&folds[chunk], memory);
    }
    pfa_unlock(PFA_LOCK_DEPOT);
    return memory;
}

/* What the totals become is noted first: a kill in the middle leaves a fold that is either added or not (live.h). */
static void add_fold(pfa_live_fold_t *fold, const pfa_event_t *event, pfa_ring_t *ring, uint64_t tail)
{
    pfa_live_folded_t chunk = {event->alloc_time, event->size_flags, event->stack, event->thread};
    pfa_live_fold_log_t *log = &pfa_extents_head->fold_log;
    uint64_t chunks = 1024;
    uint64_t bytes = event->size_flags >> PFA_RECORD_SIZE_SHIFT;
    if (pfa_fold_share != NULL) {
        pfa_fold_share(event->size_flags, &chunks, &bytes);
    }
    pfa_store_relaxed(&log->state, 0);
    pfa_fence_compiler(); /* the partner of all of these is a reader after the process's death */
    log->stack = event->stack;
    log->chunks = fold->chunks + chunks;
    log->bytes = fold->bytes + bytes;
    log->chunk = chunk;
    log->ring = ring != NULL ? ring->number : 0;
    log->tail = tail;
    pfa_store_release(&log->state, 1);
    pfa_fence_compiler();
    __atomic_store_n(&fold->chunks, log->chunks, __ATOMIC_RELAXED);
    __atomic_store_n(&fold->bytes, log->bytes, __ATOMIC_RELAXED);
    pfa_add_relaxed(&pfa_extents_head->folded, 1);
    if (tail != 0) {
        pfa_store_release(&ring->shared->tail, tail);
    } else {
        *(ring != NULL ? &ring->shared->folded_last : &pfa_extents_head->folded_last) = chunk;
    }
    pfa_fence_compiler();
}

/* Adds a death to the totals of its stack; `tail`, if not 0, is what the ring's becomes by that. */
static void fold_event(const pfa_event_t *event, pfa_ring_t *ring, uint64_t tail)
{
    if (is_before(event)) {
        if (tail != 0) { /* it was counted when it was tried to write it */
            pfa_store_release(&ring->shared->tail, tail);
        } else {
            pfa_add_relaxed(&pfa_extents_head->inherited, 1);
        }
        return;
    }
    pfa_live_fold_t *folds_near = folds_of(event->stack);
    if (folds_near == NULL) {
        pfa_add_relaxed(&pfa_extents_head->unrecorded, 1);
        return;
    }
    pfa_lock(PFA_LOCK_FOLDS);
    add_fold(&folds_near[event->stack % PFA_LIVE_NODES], event, ring, tail);
    pfa_unlock(PFA_LOCK_FOLDS);
}

void pfa_ring_fold_pending(pfa_ring_t *ring, uint64_t to)
{
    uint64_t from = pfa_load_relaxed(&ring->shared->tail);
    if (ring->shared->folded_from == 0) {
        ring->shared->folded_from = from + 1;
        pfa_fence_compiler();
    }
    for (uint64_t at = from; at < to; at++) {
        fold_event(&ring->entries[at & ring->mask], ring, at + 1);
    }
}

static void put(pfa_ring_t *ring, const pfa_event_t *event, const pfa_event_accesses_t *accesses)
{
    if (ring->head == ring->limit && !has_room(ring) && !wait_measured(ring)) {
        fold_event(event, ring, 0);
        return;
    }
    ring->entries[ring->head & ring->mask] = *event;
    if (ring->accesses != NULL) {
        *pfa_ring_next_accesses(ring) = *accesses;
    }
    pfa_store_release(&ring->shared->head, ++ring->head); /* partner: pfa_ring_pending */
    if ((ring->head & ring->wake_mask) == 0) {
        pfa_ring_wake();
    }
}

static void push_as_orphan(const pfa_event_t *event, const pfa_event_accesses_t *accesses, _Atomic uint64_t *word,
                           uint64_t ended)
{
    pfa_lock(PFA_LOCK_RINGS);
    pfa_ring_t *ring = pfa_load_relaxed(&of_orphans);
    if (ring == NULL) {
        ring = find_ring();
        pfa_store_relaxed(&of_orphans, ring);
    }
    if (ring != NULL) {
        put(ring, event, accesses);
    } else {
        fold_event(event, NULL, 0);
    }
    pfa_store_relaxed(word, ended);
    pfa_unlock(PFA_LOCK_RINGS);
}

void pfa_ring_push_slowly(pfa_tls_t *tls, const pfa_event_t *event, const pfa_event_accesses_t *accesses,
                          _Atomic uint64_t *word, uint64_t ended)
{
    if (!pfa_ring_is_open()) {
        return;
    }
    if (tls->ring == NULL && tls->thread != NULL) {
        pfa_lock(PFA_LOCK_RINGS);
        tls->ring = find_ring();
        pfa_unlock(PFA_LOCK_RINGS);
    }
    if (tls->ring == NULL) {
        push_as_orphan(event, accesses, word, ended);
    } else {
        put(tls->ring, event, accesses);
        tell_waited(tls->thread, tls->ring);
    }
}

void pfa_ring_leave(pfa_tls_t *tls)
{
    if (tls->ring == NULL) {
        return;
    }
    pfa_lock(PFA_LOCK_RINGS);
    tls->ring->taken = false;
    pfa_unlock(PFA_LOCK_RINGS);
    tls->ring = NULL;
}

uint32_t pfa_ring_count(void)
{
    return pfa_load_acquire(&ring_count);
}

pfa_ring_t *pfa_ring_pending(uint32_t number, uint64_t *from, uint64_t *to)
{
    pfa_ring_t *ring = &rings[number];
    *from = pfa_load_relaxed(&ring->shared->tail);
    *to = pfa_load_acquire(&ring->shared->head);
    return ring;
}

void pfa_ring_done(pfa_ring_t *ring, uint64_t to)
{
    pfa_store_release(&ring->shared->tail, to); /* partner: has_room() */
    pfa_add_release(&progress, 1);
    pfa_sys_futex_wake(&progress, INT32_MAX);
}

void pfa_ring_prepare(void)
{
    uint32_t nodes = pfa_load_acquire(&pfa_extents_head->node_count);
    for (uint32_t stack = 0; stack < nodes; stack += PFA_LIVE_NODES) {
        (void)folds_of(stack);
    }
}

void pfa_ring_settle(void)
{
    pfa_lock(PFA_LOCK_RINGS);
    pfa_unlock(PFA_LOCK_RINGS);
}

uint64_t pfa_ring_backlog(bool *urgent)
{
    uint64_t sum = 0;
    *urgent = false;
    for (uint32_t i = 0; i < pfa_ring_count(); i++) {
        uint64_t from;
        uint64_t to;
        const pfa_ring_t *ring = pfa_ring_pending(i, &from, &to);
        sum += to - from;
        *urgent = *urgent || to - from > ring->mask / 4;
    }
    return sum;
}

const pfa_live_fold_t *pfa_fold_at(uint32_t stack)
{
    uint32_t chunk = stack / PFA_LIVE_NODES;
    const pfa_live_fold_t *memory = chunk < FOLD_CHUNKS ? pfa_load_acquire(&folds[chunk]) : NULL;
    return memory != NULL ? &memory[stack % PFA_LIVE_NODES] : NULL;
}

void pfa_ring_after_fork(pfa_tls_t *tls)
{
    memset(rings, 0, pfa_ring_count() * sizeof *rings);
    memset(folds, 0, sizeof folds);
    pfa_store_relaxed(&ring_count, 0);
    memory_used = 0;
    pfa_store_relaxed(&of_orphans, (pfa_ring_t *)NULL);
    tls->ring = NULL;
}

void pfa_ring_begin_again(void)
{
    pfa_lock(PFA_LOCK_FOLDS);
    for (uint32_t i = 0; i < FOLD_CHUNKS; i++) {
        pfa_live_fold_t *memory = pfa_load_relaxed(&folds[i]);
        if (memory != NULL) {
            memset(memory, 0, FOLDS_SIZE);
        }
    }
    pfa_extents_head->folded_last = (pfa_live_folded_t){.alloc_time = 0};
    pfa_store_relaxed(&pfa_extents_head->fold_log.state, 0);
    pfa_store_relaxed(&pfa_extents_head->folded, 0);
    for (uint32_t i = 0; i < pfa_ring_count(); i++) {
        pfa_live_ring_t *shared = rings[i].shared;
        shared->folded_last = (pfa_live_folded_t){.alloc_time = 0};
        shared->folded_from = 0;
        shared->base = pfa_load_relaxed(&shared->tail);
    }
    pfa_unlock(PFA_LOCK_FOLDS);
}
