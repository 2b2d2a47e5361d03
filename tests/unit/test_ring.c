/* Rings: what is stored, folded, waited for. tests/race/race_ring.c has them with threads at work. */
#define _GNU_SOURCE 1
#include "base/options.h"
#include "export/format/trace.h"
#include "meta/extents.h"
#include "meta/fold.h"
#include "meta/ring.h"
#include "meta/thread.h"
#include "tests/unit/unit.h"

#define NO_FOLDS UINT32_MAX /* a stack beyond those that can have totals */

static void begin(void)
{
    pfa_options_default(&pfa_options);
    must(pfa_extents_open(NULL) == 0);
    pfa_ring_set_open(true);
    pfa_tls.thread = pfa_thread_list_join(&pfa_tls);
    must(pfa_tls.thread != NULL);
}

static void put(pfa_tls_t *tls, uint32_t stack, uint64_t size)
{
    pfa_event_t event = {.alloc_time = 5, .free_time = 6, .size_flags = size << PFA_RECORD_SIZE_SHIFT, .stack = stack};
    pfa_event_t *slot = pfa_ring_next(tls->ring);
    if (slot != NULL) {
        *slot = event;
        pfa_ring_commit(tls->ring);
    } else {
        _Atomic uint64_t word;
        pfa_ring_push_slowly(tls, &event, NULL, &word, 0);
    }
}

/* Deaths for which there are no totals either are lost, and each is counted as that, once, however many segments of a batch
 * they were in. */
static void what_cannot_be_folded_is_counted_once(void)
{
    begin();
    for (int i = 0; i < 3; i++) {
        put(&pfa_tls, NO_FOLDS, 16);
    }
    put(&pfa_tls, PFA_NODE_FIRST, 100);
    pfa_fold_pending(pfa_tls.ring, 1);
    pfa_fold_pending(pfa_tls.ring, 3);
    pfa_fold_pending(pfa_tls.ring, 4);
    must(pfa_load_relaxed(&pfa_extents_head->unrecorded) == 3);
    must(pfa_load_relaxed(&pfa_extents_head->folded) == 1);
    must(pfa_fold_at(PFA_NODE_FIRST)->chunks == 1024 && pfa_fold_at(PFA_NODE_FIRST)->bytes == 100);
    must(pfa_load_relaxed(&pfa_tls.ring->shared->tail) == 4);
}

/* A signal handler that frees in the middle of the thread's own telling leaves the thread's ring and its next entry alone, even
 * where the ring is full and a larger one could be had; the thread then goes on as if nothing had been. */
static void what_a_handler_tells_goes_to_another_ring(void)
{
    begin();
    put(&pfa_tls, PFA_NODE_FIRST, 16);
    pfa_ring_t *ring = pfa_tls.ring;
    uint64_t filled[] = {1, ring->mask + 1}; /* there is room, and there is none */
    for (unsigned i = 0; i < 2; i++) {
        while (ring->head < filled[i]) {
            put(&pfa_tls, PFA_NODE_FIRST, 16);
        }
        uint64_t head = ring->head;
        _Atomic uint64_t word = 1;
        pfa_event_t event = {.alloc_time = 7, .free_time = 8, .size_flags = (uint64_t)32 << PFA_RECORD_SIZE_SHIFT};
        pfa_tls.in_ring = true;
        pfa_ring_push_slowly(&pfa_tls, &event, NULL, &word, 2);
        must(pfa_tls.in_ring && pfa_tls.ring == ring && ring->head == head && pfa_load_relaxed(&word) == 2);
        pfa_tls.in_ring = false;
    }
    uint64_t others = 0;
    for (uint32_t i = 0; i < pfa_ring_count(); i++) {
        uint64_t from;
        uint64_t to;
        others += pfa_ring_pending(i, &from, &to) != ring ? to - from : 0;
    }
    must(others == 2);
}

/* Empties all rings as the writer does, and counts what was in them. */
static uint64_t drain(void)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < pfa_ring_count(); i++) {
        uint64_t from;
        uint64_t to;
        pfa_ring_t *ring = pfa_ring_pending(i, &from, &to);
        if (ring != NULL) {
            sum += to - from;
            pfa_ring_done(ring, to);
        }
    }
    return sum;
}

static unsigned calls;

static void count_call(void)
{
    calls++;
}

/* A thread that goes on telling, though its ring never gets full, has a larger one after a while, and calls the writer less
 * often; what it told is all there. The next thread has that ring, without having told anything. */
static void a_ring_that_was_filled_often_is_exchanged(void)
{
    enum { EVENTS = 100000, AT_ONCE = 50 };
    begin();
    pfa_ring_want_writer = count_call;
    uint64_t drained = 0;
    for (unsigned i = 0; i < EVENTS; i++) {
        put(&pfa_tls, PFA_NODE_FIRST, 16);
        drained += i % AT_ONCE == 0 ? drain() : 0;
    }
    must(drained + drain() == EVENTS);
    must(pfa_tls.ring->mask >= 4095 && !pfa_tls.ring->is_outgrown);
    must(calls > 0 && calls < EVENTS / 500);
    must(pfa_load_relaxed(&pfa_extents_head->folded) == 0);
    pfa_ring_t *ring = pfa_tls.ring;
    pfa_ring_leave(&pfa_tls);
    put(&pfa_tls, PFA_NODE_FIRST, 16);
    must(pfa_tls.ring == ring && drain() == 1);
}

/* Without memory for larger ones it goes on with the one it has. */
static void a_ring_that_cannot_be_exchanged_is_kept(void)
{
    enum { EVENTS = 20000 };
    begin();
    pfa_options.buffers = 512 * 1024;
    uint64_t drained = 0;
    for (unsigned i = 0; i < EVENTS; i++) {
        put(&pfa_tls, PFA_NODE_FIRST, 16);
        drained += drain();
    }
    must(drained == EVENTS && pfa_tls.ring->mask < 4095 && pfa_ring_count() < 100);
    must(pfa_load_relaxed(&pfa_extents_head->folded) == 0);
}

RUN_IN_CHILD(a_ring_that_was_filled_often_is_exchanged)
RUN_IN_CHILD(a_ring_that_cannot_be_exchanged_is_kept)
RUN_IN_CHILD(what_cannot_be_folded_is_counted_once)
RUN_IN_CHILD(what_a_handler_tells_goes_to_another_ring)

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_ring_that_was_filled_often_is_exchanged),
                                       cmocka_unit_test(test_a_ring_that_cannot_be_exchanged_is_kept),
                                       cmocka_unit_test(test_what_cannot_be_folded_is_counted_once),
                                       cmocka_unit_test(test_what_a_handler_tells_goes_to_another_ring)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
