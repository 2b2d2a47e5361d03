/* Owns the totals of deaths that did not get into the trace one by one. See meta/fold.h. */
#include "meta/fold.h"
#include "base/lock.h"
#include "meta/extents.h"
#include "meta/ringpool.h"

#include <string.h>

enum { FOLD_CHUNKS = 4096 };
#define FOLDS_SIZE (PFA_LIVE_NODES * sizeof(pfa_live_fold_t))

void (*pfa_fold_share)(uint64_t size_flags, uint64_t *chunks, uint64_t *bytes);

static _Atomic(pfa_live_fold_t *) folds[FOLD_CHUNKS];

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

/* `word` is NULL, or says `ended` before another can be the last that was folded. */
static void fold(const pfa_event_t *event, pfa_ring_t *ring, uint64_t tail, _Atomic uint64_t *word, uint64_t ended)
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
        if (tail != 0) { /* it is done with */
            pfa_store_release(&ring->shared->tail, tail);
        }
        return;
    }
    pfa_lock(PFA_LOCK_FOLDS);
    add_fold(&folds_near[event->stack % PFA_LIVE_NODES], event, ring, tail);
    if (word != NULL) {
        pfa_store_relaxed(word, ended);
    }
    pfa_unlock(PFA_LOCK_FOLDS);
}

void pfa_fold_event(const pfa_event_t *event, pfa_ring_t *ring, uint64_t tail)
{
    fold(event, ring, tail, NULL, 0);
}

void pfa_fold_without_ring(const pfa_event_t *event, _Atomic uint64_t *word, uint64_t ended)
{
    fold(event, NULL, 0, word, ended);
}

void pfa_fold_pending(pfa_ring_t *ring, uint64_t to)
{
    uint64_t from = pfa_load_relaxed(&ring->shared->tail);
    if (ring->shared->folded_from == 0) {
        ring->shared->folded_from = from + 1;
        pfa_fence_compiler();
    }
    for (uint64_t at = from; at < to; at++) {
        pfa_fold_event(&ring->entries[at & ring->mask], ring, at + 1);
    }
}

void pfa_fold_prepare(void)
{
    uint32_t nodes = pfa_load_acquire(&pfa_extents_head->node_count);
    for (uint32_t stack = 0; stack < nodes; stack += PFA_LIVE_NODES) {
        (void)folds_of(stack);
    }
}

const pfa_live_fold_t *pfa_fold_at(uint32_t stack)
{
    uint32_t chunk = stack / PFA_LIVE_NODES;
    const pfa_live_fold_t *memory = chunk < FOLD_CHUNKS ? pfa_load_acquire(&folds[chunk]) : NULL;
    return memory != NULL ? &memory[stack % PFA_LIVE_NODES] : NULL;
}

void pfa_fold_after_fork(void)
{
    memset(folds, 0, sizeof folds);
}

static void forget_folds_of(uint32_t number)
{
    const pfa_ring_t *ring = pfa_ringpool_at(number);
    if (ring != NULL) {
        ring->shared->folded_last = (pfa_live_folded_t){.alloc_time = 0};
        ring->shared->folded_from = 0;
    }
}

void pfa_fold_begin_again(void)
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
    for (uint32_t i = 0; i < pfa_ringpool_count(); i++) {
        forget_folds_of(i);
    }
    pfa_unlock(PFA_LOCK_FOLDS);
}
