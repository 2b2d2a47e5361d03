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

RUN_IN_CHILD(what_cannot_be_folded_is_counted_once)

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_cannot_be_folded_is_counted_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
