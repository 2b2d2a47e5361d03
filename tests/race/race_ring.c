/* Rings: every event that a thread puts in comes out once and whole, or is folded; also of threads that come and go and take
 * over each other's rings, go on in larger ones, or borrow one, and of more threads than there is room for rings. */
#include "base/lock.h"
#include "base/options.h"
#include "meta/extents.h"
#include "meta/fold.h"
#include "meta/ring.h"
#include "meta/thread.h"
#include "tests/race/race.h"

enum { THREADS = 6, LIVES = 4, EVENTS = 40000 / RACE_SLOWDOWN, AFTER = 1000, STACKS = 8 };

static _Atomic bool over;
static uint64_t seen[STACKS]; /* the drainer's */
static uint64_t seen_bytes[STACKS];
static _Atomic uint64_t put_bytes[STACKS];

static uint64_t size_of(uint64_t i)
{
    return 16 + i % 1000;
}

static void put(pfa_tls_t *tls, uint64_t i, uint32_t stack)
{
    pfa_event_t event = {.alloc_time = i,
                         .free_time = ~i,
                         .size_flags = size_of(i) << PFA_RECORD_SIZE_SHIFT,
                         .stack = stack,
                         .free_stack = (uint32_t)i};
    pfa_event_t *slot = pfa_ring_next(tls->ring);
    if (slot != NULL) {
        *slot = event;
        pfa_ring_commit(tls->ring);
    } else {
        _Atomic uint64_t word; /* of its record */
        pfa_ring_push_slowly(tls, &event, NULL, &word, 0);
    }
    atomic_fetch_add_explicit(&put_bytes[stack], size_of(i), memory_order_relaxed);
}

static void *produce(void *arg)
{
    uint32_t stack = (uint32_t)(uintptr_t)arg % STACKS;
    for (int life = 0; life < LIVES; life++) {
        pfa_tls.thread = pfa_thread_list_join(&pfa_tls);
        must(pfa_tls.thread != NULL);
        for (uint64_t i = 0; i < EVENTS; i++) {
            put(&pfa_tls, i, stack);
        }
        pfa_ring_leave(&pfa_tls);
        pfa_thread_list_leave(pfa_tls.thread);
        pfa_tls.thread = NULL;
        for (uint64_t i = 0; i < AFTER; i++) {
            put(&pfa_tls, i, stack); /* after its end: borrows a ring for each */
        }
    }
    return NULL;
}

static void drain_ring(uint32_t number)
{
    uint64_t from;
    uint64_t to;
    pfa_ring_t *ring = pfa_ring_pending(number, &from, &to);
    if (ring == NULL) {
        return; /* it is being made */
    }
    must(to - from <= ring->mask + 1);
    for (uint64_t at = from; at < to; at++) {
        const pfa_event_t *event = &ring->entries[at & ring->mask];
        must(event->free_time == ~event->alloc_time && event->free_stack == event->alloc_time && event->stack < STACKS);
        seen[event->stack]++;
        seen_bytes[event->stack] += event->size_flags >> PFA_RECORD_SIZE_SHIFT;
    }
    if (to != from) {
        pfa_ring_done(ring, to);
    }
}

static void drain(void)
{
    for (uint32_t number = 0; number < pfa_ring_count(); number++) {
        drain_ring(number);
    }
}

static void drain_urgent(void)
{
    pfa_ring_take_urgent();
    for (const pfa_ring_t *ring = pfa_ring_next_urgent(); ring != NULL; ring = pfa_ring_next_urgent()) {
        drain_ring(ring->number);
    }
}

static void *consume(void *arg)
{
    for (int i = 0; !atomic_load(&over); i++) {
        if (i % 4 == 0) {
            drain();
        } else {
            drain_urgent();
        }
        usleep(200);
    }
    drain();
    return arg;
}

int main(void)
{
    pthread_t threads[THREADS];
    pthread_t consumer;
    pfa_options_default(&pfa_options);
    pfa_options.buffers = 4 << 20; /* some small rings, no big one */
    must(pfa_extents_open(NULL) == 0);
    pfa_ring_set_open(true);
    must(pthread_create(&consumer, NULL, consume, NULL) == 0);
    race_start(threads, THREADS, produce);
    race_join(threads, THREADS);
    atomic_store(&over, true);
    must(pthread_join(consumer, NULL) == 0);
    uint64_t folded = 0;
    for (uint32_t stack = 0; stack < THREADS; stack++) {
        const pfa_live_fold_t *fold = pfa_fold_at(stack);
        uint64_t chunks = fold != NULL ? fold->chunks / 1024 : 0;
        must(seen[stack] + chunks == (uint64_t)LIVES * (EVENTS + AFTER));
        must(seen_bytes[stack] + (fold != NULL ? fold->bytes : 0) == atomic_load(&put_bytes[stack]));
        folded += chunks;
    }
    must(folded == atomic_load(&pfa_extents_head->folded));
    printf("%lu of %lu folded\n", (unsigned long)folded, (unsigned long)THREADS * LIVES * (EVENTS + AFTER));
    return 0;
}
