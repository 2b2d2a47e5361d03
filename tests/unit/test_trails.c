/* Stacks remembered by the words that their walk read: which are found again, and that what is found is right. */
#define _GNU_SOURCE 1
#include "meta/stack.h"
#include "base/options.h"
#include "meta/depot.h"
#include "meta/extents.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

enum { DEPTH = 64, ROUNDS = 1000 };
#define NOINLINE __attribute__((noinline))

static unsigned taken;

static unsigned walks(void)
{
    return pfa_tls.thread->trail_walks;
}

static void begin(void)
{
    pfa_options_default(&pfa_options);
    must(pfa_extents_open(NULL) == 0 && pfa_depot_open() == 0);
    pfa_stack_init(true);
    pfa_tls.thread = pfa_thread_list_join(&pfa_tls);
    must(pfa_tls.thread != NULL);
}

/* The stack is what a walk says that remembers nothing. */
static void check(uint32_t stack, const pfa_unwind_start_t *start)
{
    uintptr_t pcs[DEPTH];
    pfa_unwind_end_t end;
    unsigned count = pfa_unwind(&pfa_tls, start, pcs, DEPTH, &end);
    must(count > 1 && end == PFA_UNWIND_COMPLETE);
    for (unsigned i = 0; i < count; i++) {
        must(stack >= PFA_NODE_FIRST && pfa_depot_node(stack)->pc == pcs[i]);
        stack = pfa_depot_node(stack)->parent;
    }
    must(stack == PFA_NODE_COMPLETE);
}

static NOINLINE void take(void)
{
    pfa_unwind_start_t start;
    PFA_UNWIND_HERE(&start);
    check(pfa_stack_take(&pfa_tls, &start), &start);
    taken++;
}

/* So many walks: the first has to find rules and to reach for pages, and its notes may not be all. */
static void must_have_walked_at_most(unsigned most)
{
    dprintf(STDOUT_FILENO, "%u stacks taken, %u walks\n", taken, walks());
    must(walks() <= most);
}

static NOINLINE void in_small_frame(int way)
{
    if (way != 0) {
        take();
    } else {
        take();
        __asm__ volatile("" ::: "memory");
    }
    __asm__ volatile("" ::: "memory");
}

#define BIG_FRAME(name, bytes)                                                                                         \
    static NOINLINE void name(int way)                                                                                 \
    {                                                                                                                  \
        volatile char some[bytes];                                                                                     \
        some[0] = 1;                                                                                                   \
        in_small_frame(way);                                                                                           \
        some[(bytes)-1] = some[0];                                                                                     \
    }
BIG_FRAME(in_frame_of_8k, 8 * 1024)
BIG_FRAME(in_frame_of_16k, 16 * 1024)
BIG_FRAME(in_frame_of_300k, 300 * 1024)

static NOINLINE void in_frame_of_unknown_size(int way)
{
    volatile char *some = __builtin_alloca((size_t)16384 + (size_t)way * 16);
    some[0] = 1;
    in_small_frame(way);
    some[16383] = some[0];
}

static NOINLINE void in_aligned_frame(int way)
{
    volatile char some[16384] __attribute__((aligned(256)));
    volatile char *more = __builtin_alloca((size_t)64 + (size_t)way * 16);
    some[0] = 1;
    more[0] = 1;
    in_small_frame(way);
    some[16383] = some[0] + more[0];
}

static void under_big_frames(void)
{
    static void (*const frames[])(int) = {in_frame_of_8k, in_frame_of_16k, in_frame_of_300k, in_frame_of_unknown_size,
                                          in_aligned_frame};
    enum { KINDS = sizeof frames / sizeof frames[0] };
    begin();
    for (int round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < KINDS; i++) {
            frames[i](round % 2);
        }
    }
    must_have_walked_at_most(4 * 2 * KINDS);
}
RUN_IN_CHILD(under_big_frames)

/* The same places with other callers: only words in big frames tell them apart. */
static NOINLINE void call_from_here(void (*frame)(int))
{
    frame(0);
    __asm__ volatile("" ::: "memory");
}

static NOINLINE void call_from_there(void (*frame)(int))
{
    frame(0);
    __asm__ volatile("" ::: "memory");
}

static void callers_of_big_frames(void)
{
    begin();
    for (int round = 0; round < ROUNDS; round++) {
        (round % 3 == 0 ? call_from_here : call_from_there)(round % 2 == 0 ? in_frame_of_16k
                                                                           : in_frame_of_unknown_size);
    }
    must_have_walked_at_most(4 * 4);
}
RUN_IN_CHILD(callers_of_big_frames)

/* Coroutines: each goes one frame deeper, takes a stack, and lets the next go on. */
enum { COROUTINES_MAX = 32, STACK_SIZE = 64 * 1024 };
static ucontext_t scheduler;
static ucontext_t coroutines[COROUTINES_MAX];
static int running;

static NOINLINE void pause_once(void)
{
    take();
    must(swapcontext(&coroutines[running], &scheduler) == 0);
}

static NOINLINE void pause_deeper(unsigned depth)
{
    if (depth == 0) {
        pause_once();
    } else {
        pause_deeper(depth - 1);
    }
    __asm__ volatile("" ::: "memory");
}

static void coroutine(void)
{
    for (;;) {
        pause_deeper((unsigned)running);
    }
}

static void *map_stack(void *at, size_t size)
{
    void *stack =
        mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (at != NULL ? MAP_FIXED : 0), -1, 0);
    must(stack != MAP_FAILED);
    return stack;
}

static void make_coroutine(int which, void *stack, size_t size)
{
    must(getcontext(&coroutines[which]) == 0);
    coroutines[which].uc_stack.ss_sp = stack;
    coroutines[which].uc_stack.ss_size = size;
    coroutines[which].uc_link = NULL;
    makecontext(&coroutines[which], coroutine, 0);
}

static void go_on_with(int which)
{
    running = which;
    must(swapcontext(&scheduler, &coroutines[which]) == 0);
}

static void alternate(int count)
{
    begin();
    for (int i = 0; i < count; i++) {
        make_coroutine(i, map_stack(NULL, STACK_SIZE), STACK_SIZE);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < count; i++) {
            go_on_with(i);
        }
        take();
    }
    must_have_walked_at_most(4 * ((unsigned)count + 1));
}

static void two_coroutines(void)
{
    alternate(2);
}
RUN_IN_CHILD(two_coroutines)

static void many_coroutines(void)
{
    alternate(COROUTINES_MAX);
}
RUN_IN_CHILD(many_coroutines)

/* A stack comes again at its address, shorter; above it is nothing that can be read. */
static void shorter_stacks(void)
{
    begin();
    char *stack = map_stack(NULL, STACK_SIZE);
    for (int round = 0; round < 20; round++) {
        size_t size = round % 2 == 0 ? STACK_SIZE : STACK_SIZE / 4;
        must(mprotect(stack, STACK_SIZE, PROT_NONE) == 0);
        (void)map_stack(stack, size);
        make_coroutine(round % 4, stack, size);
        for (int i = 0; i < 3; i++) {
            go_on_with(round % 4);
            take();
        }
    }
}
RUN_IN_CHILD(shorter_stacks)

/* A stack made by hand, as those who write their own coroutines make them: its outermost function returns to an address
 * in its topmost word, which is no call's. What lies behind is of others, who take it away. */

static void ends_by_hand(void)
{
    begin();
    enum { PAGE = 65536 }; /* or smaller */
    char *stack = map_stack(NULL, 3 * PAGE);
    uintptr_t *top = (uintptr_t *)(stack + 2 * PAGE);
    /* A frame of a function that a call of this one could have made: by hand, from its rule. */
    pfa_unwind_start_t start;
    PFA_UNWIND_HERE(&start);
    uintptr_t pcs[DEPTH];
    pfa_unwind_end_t end;
    for (unsigned size = 16; size <= 512; size += 16) {
        /* Everything above is 0 but for the words up to the top, each the address of code: wherever the rule of pc finds
         * the return address, the walk goes on from there, to 0 at last, behind the top or before it. */
        start.sp = (uintptr_t)top - size;
        start.fp = start.sp;
        for (uintptr_t *word = (uintptr_t *)start.sp; word < top; word++) {
            *word = start.pc;
        }
        uint32_t first = pfa_stack_take(&pfa_tls, &start);
        for (int i = 0; i < 3; i++) {
            must(pfa_stack_take(&pfa_tls, &start) == first);
        }
        must(mprotect(top, PAGE, PROT_NONE) == 0);
        pfa_tls.stack_range = 0; /* so that a walk asks again; a trail does not */
        uint32_t cut = pfa_stack_take(&pfa_tls, &start);
        unsigned count = pfa_unwind(&pfa_tls, &start, pcs, DEPTH, &end);
        must(count > 0 && pfa_depot_node(cut)->pc == pcs[0]);
        must(mprotect(top, PAGE, PROT_READ | PROT_WRITE) == 0);
        pfa_tls.stack_range = 0;
    }
}
RUN_IN_CHILD(ends_by_hand)

/* 256 ways of eight calls to one place. By the sizes of the frames each has it at an address of its own. */
enum { LEVELS = 8 };
static void go(unsigned way, unsigned left);

#define LEVEL(n)                                                                                                       \
    static NOINLINE void go_by_large_##n(unsigned way)                                                                 \
    {                                                                                                                  \
        volatile char some[(32 << (n)) + 32];                                                                          \
        some[0] = 1;                                                                                                   \
        __asm__ volatile("" ::"r"(some) : "memory");                                                                   \
        go(way, n);                                                                                                    \
        some[1] = some[0];                                                                                             \
    }                                                                                                                  \
    static NOINLINE void go_by_small_##n(unsigned way)                                                                 \
    {                                                                                                                  \
        volatile char some[32];                                                                                        \
        some[0] = 1;                                                                                                   \
        __asm__ volatile("" ::"r"(some) : "memory");                                                                   \
        go(way, n);                                                                                                    \
        some[1] = some[0];                                                                                             \
    }
LEVEL(0)
LEVEL(1)
LEVEL(2)
LEVEL(3)
LEVEL(4)
LEVEL(5)
LEVEL(6)
LEVEL(7)

static NOINLINE void go(unsigned way, unsigned left)
{
    static void (*const by[LEVELS][2])(unsigned) = {{go_by_small_0, go_by_large_0}, {go_by_small_1, go_by_large_1},
                                                    {go_by_small_2, go_by_large_2}, {go_by_small_3, go_by_large_3},
                                                    {go_by_small_4, go_by_large_4}, {go_by_small_5, go_by_large_5},
                                                    {go_by_small_6, go_by_large_6}, {go_by_small_7, go_by_large_7}};
    if (left == 0) {
        take();
    } else {
        by[left - 1][way >> (left - 1) & 1](way);
    }
    __asm__ volatile("" ::: "memory");
}

static void many_ways(void)
{
    begin();
    uint64_t seed = 1;
    for (unsigned round = 0; round < 40 * ROUNDS; round++) {
        go((unsigned)random_below(&seed, 1 << LEVELS), LEVELS);
    }
    must_have_walked_at_most(taken / 20);
}
RUN_IN_CHILD(many_ways)

/* As many, of frames of two sizes: up to 70 of the ways have the place at the same address. Most are forgotten before they
 * come again, and none is taken for another. */
static void go_alike(unsigned way, unsigned left);

static NOINLINE void go_left(unsigned way, unsigned left)
{
    volatile char some[48];
    some[0] = 1;
    go_alike(way, left);
    some[1] = some[0];
}

static NOINLINE void go_right(unsigned way, unsigned left)
{
    volatile char some[160];
    some[0] = 1;
    go_alike(way, left);
    some[1] = some[0];
}

static NOINLINE void go_alike(unsigned way, unsigned left)
{
    if (left == 0) {
        take();
    } else {
        ((way >> (left - 1) & 1) != 0 ? go_left : go_right)(way, left - 1);
    }
    __asm__ volatile("" ::: "memory");
}

static void many_ways_alike(void)
{
    begin();
    uint64_t seed = 1;
    for (unsigned round = 0; round < 40 * ROUNDS; round++) {
        go_alike((unsigned)random_below(&seed, 1 << LEVELS), LEVELS);
    }
    must_have_walked_at_most(taken - 1);
}
RUN_IN_CHILD(many_ways_alike)

/* In between a handler takes its own stack, wherever the other one is. While that adds to the depot it may get none. */
static volatile sig_atomic_t handled;

static void handler(int number)
{
    pfa_unwind_start_t start;
    PFA_UNWIND_HERE(&start);
    uint32_t stack = pfa_stack_take(&pfa_tls, &start);
    if (stack != PFA_NODE_UNKNOWN) {
        check(stack, &start);
    }
    handled++;
    (void)number;
}

static void interrupted(void)
{
    begin();
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct itimerval often = {.it_interval = {.tv_usec = 50}, .it_value = {.tv_usec = 50}};
    struct itimerval never = {.it_interval = {.tv_usec = 0}};
    must(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0);
    uint64_t seed = 1;
    for (unsigned round = 0; round < 40 * ROUNDS || handled < 100; round++) {
        (round % 2 == 0 ? go : go_alike)((unsigned)random_below(&seed, 1 << LEVELS), LEVELS);
    }
    must(setitimer(ITIMER_REAL, &never, NULL) == 0);
    must(pfa_tls.thread->trail_busy == false);
}
RUN_IN_CHILD(interrupted)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_under_big_frames), cmocka_unit_test(test_callers_of_big_frames),
        cmocka_unit_test(test_two_coroutines),   cmocka_unit_test(test_many_coroutines),
        cmocka_unit_test(test_shorter_stacks),   cmocka_unit_test(test_ends_by_hand),
        cmocka_unit_test(test_many_ways),        cmocka_unit_test(test_many_ways_alike),
        cmocka_unit_test(test_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
