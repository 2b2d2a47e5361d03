/* Stacks as numbers: whatever is remembered of earlier ones, each is what a walk of its own says. */
#include "meta/stack.h"
#include "base/options.h"
#include "meta/depot.h"
#include "meta/extents.h"
#include "tests/unit/unit.h"

#include <alloca.h>

enum { DEPTH = 64 };

static uint64_t seed = 4242;
static unsigned taken;
static unsigned remembered; /* by a trail */

/* The frames of a number, innermost first, are these. */
static void check_frames(uint32_t stack, const uintptr_t *pcs, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        must(stack >= PFA_NODE_FIRST && pfa_depot_node(stack)->pc == pcs[i]);
        stack = pfa_depot_node(stack)->parent;
    }
    must(stack < PFA_NODE_FIRST);
}

static PFA_NOINLINE void take(void)
{
    uintptr_t pcs[DEPTH];
    pfa_unwind_end_t end;
    pfa_unwind_start_t start;
    PFA_UNWIND_HERE(&start);
    uint32_t walks = pfa_tls.thread->trail_walks;
    uint32_t stack = pfa_stack_take(&pfa_tls, &start);
    remembered += pfa_tls.thread->trail_walks == walks;
    unsigned count = pfa_unwind(&pfa_tls, &start, pcs, DEPTH, &end);
    must(count > 3);
    check_frames(stack, pcs, count);
    taken++;
}

static void go_on(unsigned left);

#define WAY(name, ...)                                                                                                 \
    static PFA_NOINLINE void name(unsigned left)                                                                       \
    {                                                                                                                  \
        __VA_ARGS__;                                                                                                   \
        go_on(left);                                                                                                   \
        __asm__ volatile("" ::: "memory");                                                                             \
    }
WAY(plain_way, (void)0)
WAY(other_way, volatile char room[200]; room[left % 200] = 1; (void)room)
WAY(way_by_frame_pointer, volatile char *room = alloca(16 + left % 7 * 16); room[0] = 1)
WAY(third_way, volatile uint64_t numbers[9]; numbers[left % 9] = left; (void)numbers)

static PFA_NOINLINE void go_on(unsigned left)
{
    static void (*const ways[])(unsigned) = {plain_way, other_way, way_by_frame_pointer, third_way};
    if (left == 0) {
        take();
        take();
    } else {
        ways[random_below(&seed, 4)](left - 1);
    }
    __asm__ volatile("" ::: "memory");
}

static void begin(void)
{
    pfa_options_default(&pfa_options);
    must(pfa_extents_open(NULL) == 0 && pfa_depot_open() == 0);
    pfa_stack_init(true);
    pfa_tls.thread = pfa_thread_list_join(&pfa_tls);
    must(pfa_tls.thread != NULL);
}

/* Few ways and many: the same frames at the same addresses, and others in their places. */
static void take_many(void)
{
    begin();
    for (int round = 0; round < 20000; round++) {
        uint64_t kept = seed;
        seed = random_below(&kept, 3) != 0 ? 1000 + (uint64_t)round % 40 : kept; /* mostly ways that were gone before */
        go_on((unsigned)random_below(&seed, 12));
        seed = kept;
    }
    printf("%u stacks, %u remembered\n", taken, remembered);
    must(remembered > taken / 4);
}

static void every_stack_is_what_a_walk_says(void **state)
{
    (void)state;
    in_child(take_many);
}

/* Unloading code makes the same addresses mean other nodes. */
static void forget_between(void)
{
    begin();
    uint32_t numbers[2];
    for (int i = 0; i < 2; i++) {
        pfa_unwind_start_t start;
        PFA_UNWIND_HERE(&start);
        numbers[i] = pfa_stack_take(&pfa_tls, &start);
        must(numbers[i] == pfa_stack_take(&pfa_tls, &start));
        static const pfa_depot_range_t everywhere = {0, UINT64_MAX};
        (void)pfa_depot_renew(&everywhere, 1);
        (void)pfa_add_release(&pfa_stack_generation, 1);
    }
    must(numbers[0] != numbers[1] && numbers[1] > numbers[0]);
}

static void unloading_makes_new_stacks(void **state)
{
    (void)state;
    in_child(forget_between);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_stack_is_what_a_walk_says),
        cmocka_unit_test(unloading_makes_new_stacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
