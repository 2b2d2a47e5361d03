/* Owns how events get into rings and out of them. See meta/ring.h; meta/ringpool.c has the rings themselves. */
#include "meta/ring.h"
#include "base/clock.h"
#include "base/message.h"
#include "base/sys.h"
#include "meta/fold.h"
#include "meta/ringpool.h"
#include "meta/thread.h"

#include <string.h>

void (*pfa_ring_want_writer)(void);
bool (*pfa_ring_write_here)(void);

static _Atomic uint64_t
    disk_since;              /* when the writer began a system call that may wait for the disk; 0: it is in none */
static _Atomic int disk_tid; /* which thread that is */
static _Atomic uint32_t borrowers; /* threads that store an event in a ring they borrow */
static _Atomic uint32_t urgent;    /* the last ring that asked for the writer: its number and 1 */
static uint32_t urgent_now;        /* the same of those that the writer has taken from there: each ring is there once */

/* --- the writer is wanted ---------------------------------------------------------------------------------------- */

/* The next event goes by pfa_ring_push_slowly, where rings are exchanged. */
static void look_whether_outgrown(pfa_ring_t *ring)
{
    enum { TIMES_FILLED = 4 };
    if (pfa_ringpool_is_small(ring) && ring->head >= TIMES_FILLED * (ring->mask + 1)) {
        ring->is_outgrown = true;
        ring->limit = ring->head;
    }
}

void pfa_ring_wake(pfa_ring_t *ring)
{
    look_whether_outgrown(ring);
    if (pfa_swap_acq_rel(&ring->urgent, 1) == 0) {
        uint32_t next = pfa_load_relaxed(&urgent);
        do {
            pfa_store_relaxed(&ring->next_urgent, next);
        } while (!pfa_cas_weak_acq_rel(&urgent, &next, ring->number + 1)); /* partner: pfa_ring_next_urgent */
    }
    if (pfa_ring_want_writer != NULL) {
        pfa_ring_want_writer();
    }
}

bool pfa_ring_any_urgent(void)
{
    return pfa_load_relaxed(&urgent) != 0;
}

void pfa_ring_take_urgent(void)
{
    urgent_now = pfa_swap_acq_rel(&urgent, 0);
}

pfa_ring_t *pfa_ring_next_urgent(void)
{
    pfa_ring_t *ring = urgent_now != 0 ? pfa_ringpool_at(urgent_now - 1) : NULL;
    if (ring != NULL) {
        urgent_now = pfa_load_relaxed(&ring->next_urgent);
        /* From here on it may ask again. One that finds the 1 just now is seen to have more by whoever drains it now, or asks
         * when it has filled as much again. */
        (void)pfa_swap_acq_rel(&ring->urgent, 0);
    }
    return ring;
}

void pfa_ring_forget_urgent(void)
{
    pfa_ring_take_urgent();
    while (pfa_ring_next_urgent() != NULL) {
    }
}

/* --- waiting for it ---------------------------------------------------------------------------------------------- */

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

/* The writer has been in a system call for long. Does it wait there, or is it that it gets no processor? */
static bool waits_for_disk(int tid)
{
    char path[64];
    char text[256];
    pfa_text_t name = {path, sizeof path, 0};
    pfa_text_add(&name, "/proc/self/task/%d/stat", tid);
    if (pfa_sys_is_filtered() || !pfa_sys_read_text(path, text, sizeof text)) {
        return true; /* nobody can tell */
    }
    const char *behind = strrchr(text, ')');
    return behind == NULL || behind[1] != ' ' || behind[2] != 'R';
}

static bool is_worth_waiting(uint64_t waited, uint64_t now)
{
    uint64_t since = pfa_load_relaxed(&disk_since);
    bool long_there = since != 0 && now >= since + PFA_RING_DISK_NS;
    return waited < PFA_RING_PATIENCE_NS && !(long_there && waits_for_disk(pfa_load_relaxed(&disk_tid)));
}

void pfa_ring_goes_to_disk(void)
{
    pfa_store_relaxed(&disk_tid, pfa_sys_tid());
    pfa_store_relaxed(&disk_since, pfa_sys_nanoseconds());
}

void pfa_ring_comes_from_disk(void)
{
    pfa_store_relaxed(&disk_since, 0);
}

/* Waits for the writer, within reason. */
static bool wait_for_room(pfa_ring_t *ring)
{
    if (ring->impatient) {
        return false;
    }
    uint64_t began = pfa_sys_nanoseconds();
    uint64_t nap =
        PFA_RING_DISK_NS; /* longer each time: thousands that look again and again would take all processors */
    for (uint64_t now = began; is_worth_waiting(now - began, now); now = pfa_sys_nanoseconds()) {
        if (pfa_ring_write_here != NULL) {
            (void)pfa_ring_write_here();
        }
        uint32_t seen = pfa_load_acquire(&ring->progress);
        pfa_store_relaxed(&ring->waiting, 1);
        pfa_fence_seq_cst(); /* partner: the one in pfa_ring_done: one of the two sees what the other has stored */
        if (has_room(ring)) {
            return true;
        }
        pfa_ring_wake(ring);
        pfa_sys_futex_wait(&ring->progress, seen, nap);
        nap = 2 * nap < PFA_RING_PATIENCE_NS / 8 ? 2 * nap : nap;
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

/* --- storing ----------------------------------------------------------------------------------------------------- */

/* While in_ring, or at the thread's end: a handler that interrupts it and frees finds a ring that is the thread's, or none. */
static void have_ring(pfa_tls_t *tls, pfa_ring_t *ring)
{
    pfa_ring_t *old = tls->ring;
    tls->ring = ring;
    if (tls->thread != NULL) {
        tls->thread->ring = ring;
    }
    pfa_fence_compiler();
    if (old != NULL) {
        pfa_ringpool_give(old);
    }
}

static void put(pfa_ring_t *ring, const pfa_event_t *event, const pfa_event_more_t *more)
{
    if (ring->head == ring->limit && !has_room(ring) && !wait_measured(ring)) {
        pfa_fold_event(event, ring, 0);
        return;
    }
    ring->entries[ring->head & ring->mask] = *event;
    if (ring->has_more) {
        pfa_ring_put_more(ring, more);
    }
    pfa_ring_commit(ring);
}

/* All that are to be lent may be in use for a moment, or the last that there is memory for are just being made. Who finds that
 * neither is so tries once more: they may have been made meanwhile. */
static pfa_ring_t *borrow(void)
{
    pfa_ring_t *ring = pfa_ringpool_borrow();
    uint64_t until = ring == NULL ? pfa_sys_nanoseconds() + PFA_RING_PATIENCE_NS : 0;
    for (bool may_come = true; ring == NULL && may_come && pfa_sys_nanoseconds() < until;) {
        may_come = pfa_ringpool_makes() || pfa_ringpool_lends();
        if (may_come) {
            pfa_sys_yield();
        }
        ring = pfa_ringpool_borrow();
    }
    return ring == NULL || has_room(ring) ? ring : pfa_ringpool_borrow_larger(ring);
}

static void push_borrowing(const pfa_event_t *event, const pfa_event_more_t *more, _Atomic uint64_t *word,
                           uint64_t ended)
{
    pfa_add_relaxed(&borrowers, 1); /* whoever finds the event in the ring finds this too: see pfa_ring_settle */
    pfa_ring_t *ring = borrow();
    if (ring != NULL) {
        put(ring, event, more);
    } else {
        pfa_fold_without_ring(event, word, ended);
    }
    pfa_store_relaxed(word, ended);
    if (ring != NULL) {
        pfa_ringpool_give(ring);
    }
    pfa_sub_release(&borrowers, 1); /* partner: pfa_ring_settle */
}

/* One that the thread keeps, if it can; larger than the one it has, if that is full or too small. */
static void find_ring(pfa_tls_t *tls)
{
    pfa_ring_t *ring = tls->ring == NULL     ? pfa_ringpool_take()
                       : has_room(tls->ring) ? pfa_ringpool_take_middle()
                                             : pfa_ringpool_take_larger(tls->ring);
    if (ring != NULL) {
        have_ring(tls, ring);
    } else if (tls->ring != NULL) {
        tls->ring->is_outgrown = false; /* until the writer is called again */
    }
}

/* To the thread's own ring. False: it has none, and gets none. */
static bool push(pfa_tls_t *tls, const pfa_event_t *event, const pfa_event_more_t *more, _Atomic uint64_t *word,
                 uint64_t ended)
{
    if (tls->ring == NULL || tls->ring->is_outgrown || !has_room(tls->ring)) {
        find_ring(tls);
    }
    if (tls->ring == NULL) {
        return false;
    }
    put(tls->ring, event, more);
    pfa_store_relaxed(word, ended);
    tell_waited(tls->thread, tls->ring);
    return true;
}

void pfa_ring_push_slowly(pfa_tls_t *tls, const pfa_event_t *event, const pfa_event_more_t *more,
                          _Atomic uint64_t *word, uint64_t ended)
{
    bool told = false;
    if (!pfa_ring_is_open()) {
        pfa_store_relaxed(word, ended);
        return;
    }
    if (tls->thread != NULL && !tls->in_ring) {
        tls->in_ring = true;
        pfa_fence_compiler();
        told = push(tls, event, more, word, ended);
        pfa_fence_compiler();
        tls->in_ring = false;
    }
    if (!told) {
        push_borrowing(event, more, word, ended);
    }
}

void pfa_ring_leave(pfa_tls_t *tls)
{
    have_ring(tls, NULL);
}

void pfa_ring_leave_behind(pfa_ring_t *ring)
{
    pfa_ringpool_give(ring);
}

/* --- the writer's ------------------------------------------------------------------------------------------------ */

uint32_t pfa_ring_count(void)
{
    return pfa_ringpool_count();
}

pfa_ring_t *pfa_ring_pending(uint32_t number, uint64_t *from, uint64_t *to)
{
    pfa_ring_t *ring = pfa_ringpool_at(number);
    *from = ring != NULL ? pfa_load_relaxed(&ring->shared->tail) : 0;
    *to = ring != NULL ? pfa_load_acquire(&ring->shared->head) : 0;
    return ring;
}

void pfa_ring_done(pfa_ring_t *ring, uint64_t to)
{
    pfa_store_release(&ring->shared->tail, to); /* partner: has_room() */
    pfa_add_release(&ring->progress, 1);
    pfa_fence_seq_cst(); /* partner: wait_for_room */
    if (pfa_load_relaxed(&ring->waiting) != 0) {
        pfa_store_relaxed(&ring->waiting, 0);
        pfa_sys_futex_wake(&ring->progress, INT32_MAX);
    }
}

bool pfa_ring_settle(void)
{
    enum { AT_MOST_NS = 100000000 };
    uint64_t until = pfa_sys_nanoseconds() + AT_MOST_NS;
    while (pfa_load_acquire(&borrowers) != 0 && pfa_sys_nanoseconds() < until) {
        pfa_sys_yield();
    }
    return pfa_load_acquire(&borrowers) == 0;
}

uint64_t pfa_ring_backlog(bool *is_urgent)
{
    uint64_t sum = 0;
    *is_urgent = false;
    for (uint32_t i = 0; i < pfa_ring_count(); i++) {
        uint64_t from;
        uint64_t to;
        const pfa_ring_t *ring = pfa_ring_pending(i, &from, &to);
        sum += to - from;
        *is_urgent = *is_urgent || (ring != NULL && to - from > ring->mask / 4);
    }
    return sum;
}

void pfa_ring_after_fork(pfa_tls_t *tls)
{
    pfa_ringpool_after_fork();
    pfa_fold_after_fork();
    pfa_store_relaxed(&urgent, 0);
    urgent_now = 0;
    pfa_store_relaxed(&borrowers, 0);
    pfa_store_relaxed(&disk_since, 0);
    tls->ring = NULL;
    tls->in_ring = false; /* whoever forks in the middle of a free is the child's only thread now */
    if (tls->thread != NULL) {
        tls->thread->ring = NULL;
    }
}

void pfa_ring_begin_again(void)
{
    pfa_fold_begin_again();
    for (uint32_t i = 0; i < pfa_ring_count(); i++) {
        uint64_t from;
        uint64_t to;
        pfa_ring_t *ring = pfa_ring_pending(i, &from, &to);
        if (ring != NULL) {
            ring->shared->base = from;
        }
    }
}
