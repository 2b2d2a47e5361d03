/*
 * churn, churn2: a window of small chunks, a random one replaced each time, from a random depth of recursion.
 *
 * The depth is what makes a profiler's stack capture pay for real stacks; it costs every allocator the same.
 */
#include "window.h"
#include "workloads.h"

enum {
    WINDOW = 10000,
    DEPTH_SPREAD = 19, /* 1 .. 19, mean 10 */
};

/*
 * The empty asm uses the frame after the call, which forbids both a tail call and unrolling the recursion into a loop.
 */
__attribute__((noinline)) static void descend(pfa_worker_t *w, pfa_slot_t *slot, uint32_t depth)
{
    uint64_t frame[1] = {depth};
    if (depth > 1) {
        descend(w, slot, depth - 1);
    } else {
        pfa_window_drop(w, slot);
        pfa_window_fill(w, slot);
    }
    __asm__ volatile("" : : "r"(frame) : "memory");
}

static void setup(pfa_worker_t *w)
{
    pfa_slot_t *window = w->state;
    for (unsigned i = 0; i < WINDOW; i++) {
        pfa_window_fill(w, &window[i]);
    }
}

static void work(pfa_worker_t *w)
{
    pfa_slot_t *window = w->state;
    for (uint64_t i = 0; i < w->rounds; i++) {
        pfa_slot_t *slot = &window[pfa_bench_below(&w->rng, WINDOW)];
        descend(w, slot, 1 + pfa_bench_below(&w->rng, DEPTH_SPREAD));
    }
    w->ops = w->rounds;
}

static void teardown(pfa_worker_t *w)
{
    pfa_slot_t *window = w->state;
    for (unsigned i = 0; i < WINDOW; i++) {
        pfa_window_drop(w, &window[i]);
    }
}

const pfa_workload_t pfa_workload_churn = {
    .name = "churn",
    .what = "random replacement in a window of 10 000 chunks of 16-271 B, at stack depths of 1-19",
    .workers = 1,
    .rounds = 12000000,
    .state_bytes = WINDOW * sizeof(pfa_slot_t),
    .setup = setup,
    .work = work,
    .teardown = teardown,
};

const pfa_workload_t pfa_workload_churn2 = {
    .name = "churn2",
    .what = "churn on two threads at once, a window each",
    .workers = 2,
    .rounds = 12000000,
    .state_bytes = WINDOW * sizeof(pfa_slot_t),
    .setup = setup,
    .work = work,
    .teardown = teardown,
};
