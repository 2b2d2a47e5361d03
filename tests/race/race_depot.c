/* The depot: threads that meet the same stacks get the same numbers, and a number means one stack for ever. */
#include "base/tls.h"
#include "meta/depot.h"
#include "meta/extents.h"
#include "tests/race/race.h"

enum { THREADS = 4, STACKS = 6000 / RACE_SLOWDOWN, DEPTH = 12, ROUNDS = 3 };

static uint32_t numbers[THREADS][STACKS];

/* The same of each thread: the frames of stack `s`, outermost first. Neighbours share their outer half. */
static uintptr_t frame(uint32_t s, uint32_t depth)
{
    uint32_t of = depth < DEPTH / 2 ? s / 16 : s;
    return 0x10000 + ((uintptr_t)of * 977 + depth * 31) * 4;
}

static uint32_t add_stack(uint32_t s)
{
    uint32_t node = PFA_NODE_COMPLETE;
    for (uint32_t depth = 0; depth < DEPTH; depth++) {
        node = pfa_depot_add(&pfa_tls, node, frame(s, depth));
        must(node >= PFA_NODE_FIRST);
    }
    return node;
}

static void check_stack(uint32_t s, uint32_t node)
{
    for (uint32_t depth = DEPTH; depth-- > 0; node = pfa_depot_node(node)->parent) {
        must(node < pfa_depot_count() && pfa_depot_node(node)->pc == frame(s, depth));
    }
    must(node == PFA_NODE_COMPLETE);
}

static void *add(void *arg)
{
    uint32_t *own = numbers[(uintptr_t)arg];
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < STACKS; i++) {
            uint32_t s = (i * 7919u + (uint32_t)(uintptr_t)arg * 13u) % STACKS;
            uint32_t node = add_stack(s);
            must(round == 0 || own[s] == node);
            own[s] = node;
            check_stack(s, node);
        }
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    must(pfa_extents_open(NULL) == 0 && pfa_depot_open() == 0);
    race_start(threads, THREADS, add);
    race_join(threads, THREADS);
    for (uint32_t s = 0; s < STACKS; s++) {
        for (uint32_t i = 1; i < THREADS; i++) {
            must(numbers[i][s] == numbers[0][s]);
        }
    }
    /* After other code was unloaded they are the same nodes; after their own, the same addresses are other nodes. */
    static const pfa_depot_range_t elsewhere = {0, 1};
    (void)pfa_depot_renew(&elsewhere, 1);
    must(add_stack(1) == numbers[0][1]);
    static const pfa_depot_range_t everywhere = {0, UINT64_MAX};
    uint32_t first = pfa_depot_renew(&everywhere, 1);
    uint32_t again = add_stack(1);
    must(again >= first && again != numbers[0][1]);
    check_stack(1, again);
    check_stack(1, numbers[0][1]);
    return 0;
}
