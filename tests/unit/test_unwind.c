/* The stack unwinder on stacks that compilers made, against the C library's backtrace: frames of all kinds, signals,
 * contexts, threads. */
#define _GNU_SOURCE 1
#include "tests/unit/unwind_frames.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

static void calls_and_recursion(void **state)
{
    (void)state;
    capture();
    is_as_backtrace_says();
    recurse(100, capture);
    is_as_backtrace_says();
    assert_true(ours.count > 100);
}

static void deep_stacks_are_cut_and_say_so(void **state)
{
    (void)state;
    limit = 64;
    recurse(20000, capture_limited);
    assert_int_equal(ours.count, 64);
    assert_int_equal(ours.end, PFA_UNWIND_TRUNCATED);
    assert_int_equal(ours.pcs[64], 0);
    limit = MAX;
    recurse(10, capture_limited);
    assert_int_equal(ours.end, PFA_UNWIND_COMPLETE);
    unsigned all = ours.count;
    limit = all;
    recurse(10, capture_limited);
    assert_int_equal(ours.count, all);
    assert_int_equal(ours.end, PFA_UNWIND_COMPLETE);
    limit = all - 1;
    recurse(10, capture_limited);
    assert_int_equal(ours.count, all - 1);
    assert_int_equal(ours.end, PFA_UNWIND_TRUNCATED);
    limit = 0;
    recurse(10, capture_limited);
    assert_int_equal(ours.count, 0);
    assert_int_equal(ours.end, PFA_UNWIND_TRUNCATED);
}

static NOINLINE void with_alloca(unsigned size)
{
    volatile char *some = __builtin_alloca(size);
    some[size - 1] = 1;
    capture();
    some[0] = some[size - 1];
}

static NOINLINE void with_big_frame(void)
{
    volatile char some[100000];
    some[0] = 1;
    capture();
    some[99999] = some[0];
}

static NOINLINE void with_aligned_frame(unsigned size)
{
    volatile char some[256] __attribute__((aligned(128)));
    volatile char *more = __builtin_alloca(size);
    some[0] = 1;
    more[size - 1] = 1;
    capture();
    some[255] = some[0] + more[size - 1];
}

static void frames_of_all_sizes(void **state)
{
    (void)state;
    for (unsigned size = 1; size < 50000; size = size * 3 + 1) {
        with_alloca(size);
        is_as_backtrace_says();
        with_aligned_frame(size);
        is_as_backtrace_says();
    }
    with_big_frame();
    is_as_backtrace_says();
}

static int compare_bytes(const void *a, const void *b)
{
    capture();
    return *(const char *)a - *(const char *)b;
}

static void through_the_library(void **state)
{
    (void)state;
    char some[] = "profalloc";
    qsort(some, sizeof some - 1, 1, compare_bytes);
    is_as_backtrace_says();
    assert_true(ours.count > 3);
}

static volatile sig_atomic_t handled;

static void on_signal(int number)
{
    (void)number;
    recurse(3, capture);
    handled = 1;
}

static void set_handler(int number, int flags)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = flags;
    must(sigaction(number, &action, NULL) == 0);
}

static void raise_it(void)
{
    raise(SIGUSR1);
    NOT_A_TAIL();
}

static void out_of_signal_handlers(void **state)
{
    (void)state;
    static char other_stack[65536];
    stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    set_handler(SIGUSR1, 0);
    recurse(10, raise_it);
    is_as_backtrace_says();
    assert_true(ours.count > 17);
    must(sigaltstack(&stack, NULL) == 0);
    set_handler(SIGUSR1, SA_ONSTACK);
    recurse(10, raise_it);
    is_as_backtrace_says();
    assert_true(ours.count > 17);
    capture();
    is_as_backtrace_says();
}

/* A leaf interrupted anywhere, before it has a frame or without one. */
extern const char __start_leaf_text[], __stop_leaf_text[], __start_leaf_caller_text[], __stop_leaf_caller_text[];

__attribute__((section("leaf_text"))) static NOINLINE unsigned leaf(void)
{
    unsigned turns = 0;
    while (!handled) {
        turns++;
    }
    return turns;
}

__attribute__((section("leaf_caller_text"))) static NOINLINE unsigned call_leaf(void)
{
    unsigned turns = leaf();
    NOT_A_TAIL();
    return turns + 1;
}

static void out_of_an_interrupted_leaf(void **state)
{
    (void)state;
    struct itimerval soon = {.it_value = {.tv_usec = 300}};
    unsigned caught = 0;
    set_handler(SIGALRM, 0);
    for (int i = 0; i < 50; i++) {
        handled = 0;
        must(setitimer(ITIMER_REAL, &soon, NULL) == 0);
        (void)call_leaf();
        is_as_backtrace_says();
        unsigned at = 0;
        while (at < ours.count && !lies_in(ours.pcs[at], __start_leaf_caller_text, __stop_leaf_caller_text)) {
            at++;
        }
        assert_true(at >= 1);
        if (at < ours.count && at > 4) { /* else the signal came before the call, or before the leaf was entered */
            assert_true(lies_in(ours.pcs[at - 1], __start_leaf_text, __stop_leaf_text));
            caught++;
        }
    }
    assert_true(caught > 0); /* nearly all of them, unless the machine is very busy */
}

static ucontext_t main_context;
static ucontext_t other_context;

static void on_context(void)
{
    recurse(5, capture);
}

static void switch_to_stack(void *stack, size_t size)
{
    must(getcontext(&other_context) == 0);
    other_context.uc_stack.ss_sp = stack;
    other_context.uc_stack.ss_size = size;
    other_context.uc_link = &main_context;
    makecontext(&other_context, on_context, 0);
    must(swapcontext(&main_context, &other_context) == 0);
}

static void on_a_stack_of_its_own(void **state)
{
    (void)state;
    enum { SIZE = 65536 };
    for (int i = 0; i < 3; i++) {
        char *stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        must(stack != MAP_FAILED);
        switch_to_stack(stack, SIZE);
        assert_int_equal(ours.end, PFA_UNWIND_COMPLETE);
        assert_true(ours.count >= 7 && theirs_count >= 7);
        for (unsigned j = 0; j < 7; j++) {
            assert_int_equal(ours.pcs[j], (uintptr_t)theirs[j]);
        }
        capture();
        is_as_backtrace_says();
        must(munmap(stack, SIZE) == 0);
    }
}

static void *thread_main(void *unused)
{
    (void)unused;
    recurse(20, capture);
    return NULL;
}

static void to_the_end_of_a_thread(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        must(pthread_create(&thread, NULL, thread_main, NULL) == 0);
        must(pthread_join(thread, NULL) == 0);
        is_as_backtrace_says();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_and_recursion),    cmocka_unit_test(deep_stacks_are_cut_and_say_so),
        cmocka_unit_test(frames_of_all_sizes),    cmocka_unit_test(through_the_library),
        cmocka_unit_test(out_of_signal_handlers), cmocka_unit_test(out_of_an_interrupted_leaf),
        cmocka_unit_test(on_a_stack_of_its_own),  cmocka_unit_test(to_the_end_of_a_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
