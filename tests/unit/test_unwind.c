/* The stack unwinder, against the C library's backtrace (another implementation of the same rules) where that can walk, and
 * against what is known of hand-made stacks where it cannot. */
#define _GNU_SOURCE 1
#include "base/tls.h"
#include "meta/unwind.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

enum { MAX = 512 };
#define NOINLINE __attribute__((noinline))
/* Keeps a call from becoming the function's last jump. */
#define NOT_A_TAIL() __asm__ volatile("" ::: "memory")

typedef struct frames {
    uintptr_t pcs[MAX];
    unsigned count;
    pfa_unwind_end_t end;
} frames_t;

static frames_t ours;
static void *all_of_theirs[MAX + 8];
static void **theirs; /* from the same frame on as ours */
static unsigned theirs_count;

/* The stack from the caller on. Twice: the first time the rules may be new, the second time they are known. */
static NOINLINE void capture(void)
{
    pfa_unwind_start_t start;
    static frames_t first;
    PFA_UNWIND_HERE(&start);
    first.count = pfa_unwind(&pfa_tls, &start, first.pcs, MAX, &first.end);
    ours.count = pfa_unwind(&pfa_tls, &start, ours.pcs, MAX, &ours.end);
    theirs_count = (unsigned)backtrace(all_of_theirs, MAX + 8);
    theirs = all_of_theirs;
    do { /* the first is this function, or a sanitizer's replacement of backtrace and then this function */
        theirs++;
        theirs_count--;
    } while (theirs_count > 0 && (uintptr_t)theirs[0] != ours.pcs[0] && theirs < all_of_theirs + 2);
    must(first.count == ours.count && first.end == ours.end);
    must(memcmp(first.pcs, ours.pcs, ours.count * sizeof ours.pcs[0]) == 0);
}

static void print_both(void)
{
    for (unsigned i = 0; i < ours.count || i < theirs_count; i++) {
        print_message("%2u ours %#lx theirs %p\n", i, i < ours.count ? (unsigned long)ours.pcs[i] : 0ul,
                      i < theirs_count ? theirs[i] : NULL);
    }
}

/* Interrupted frames are exact in theirs, and one more in ours. */
static void is_as_backtrace_says(void)
{
    unsigned i;
    for (i = 0; i < ours.count && i < theirs_count; i++) {
        uintptr_t pc = (uintptr_t)theirs[i];
        if (ours.pcs[i] != pc && ours.pcs[i] != pc + 1) {
            break;
        }
    }
    if (ours.end != PFA_UNWIND_COMPLETE || i != ours.count || i != theirs_count) {
        print_both();
        fail_msg("end %d, %u frames, backtrace has %u, the first %u agree", (int)ours.end, ours.count, theirs_count - 1,
                 i);
    }
}

static bool lies_in(uintptr_t pc, const char *begin, const char *end)
{
    return pc - 1 >= (uintptr_t)begin && pc - 1 < (uintptr_t)end;
}

static NOINLINE void recurse(unsigned depth, void (*action)(void))
{
    volatile char some[24];
    some[0] = (char)depth;
    if (depth == 0) {
        action();
    } else {
        recurse(depth - 1, action);
    }
    some[1] = some[0];
}

static void calls_and_recursion(void **state)
{
    (void)state;
    capture();
    is_as_backtrace_says();
    recurse(100, capture);
    is_as_backtrace_says();
    assert_true(ours.count > 100);
}

static unsigned limit;

static NOINLINE void capture_limited(void)
{
    pfa_unwind_start_t start;
    PFA_UNWIND_HERE(&start);
    memset(&ours, 0, sizeof ours);
    ours.count = pfa_unwind(&pfa_tls, &start, ours.pcs, limit, &ours.end);
    NOT_A_TAIL();
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
        assert_in_range(at, 1, ours.count - 1);
        if (at > 4) { /* else the signal came before the leaf was entered */
            assert_true(lies_in(ours.pcs[at - 1], __start_leaf_text, __stop_leaf_text));
        }
    }
}

static ucontext_t main_context;
static ucontext_t other_context;

static void on_context(void)
{
    recurse(5, capture);
}

static void on_a_stack_of_its_own(void **state)
{
    (void)state;
    enum { SIZE = 65536 };
    for (int i = 0; i < 3; i++) {
        char *stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        must(stack != MAP_FAILED);
        must(getcontext(&other_context) == 0);
        other_context.uc_stack.ss_sp = stack;
        other_context.uc_stack.ss_size = SIZE;
        other_context.uc_link = &main_context;
        makecontext(&other_context, on_context, 0);
        must(swapcontext(&main_context, &other_context) == 0);
        assert_true(ours.count >= 7);
        for (unsigned j = 0; j < 7; j++) {
            assert_int_equal(ours.pcs[j], (uintptr_t)theirs[j]);
        }
        assert_int_equal(ours.end, PFA_UNWIND_COMPLETE);
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

/* Code that no rules describe, as a just-in-time compiler makes it: one function calls back with a frame pointer that
 * leads nowhere, one with a proper frame. */
#if defined(__aarch64__)
static const uint32_t code_without_frame[] = {0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
                                              0xd280003d, /* mov x29, #1 */
                                              0xd63f0000, /* blr x0 */
                                              0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
                                              0xd65f03c0 /* ret */};
static const uint32_t code_with_frame[] = {0xa9bf7bfd, 0x910003fd /* mov x29, sp */, 0xd63f0000, 0xa8c17bfd,
                                           0xd65f03c0};
#else
static const uint8_t code_without_frame[] = {0x55,                         /* push %rbp */
                                             0xbd, 0x01, 0x00, 0x00, 0x00, /* mov $1, %ebp */
                                             0xff, 0xd7,                   /* call *%rdi */
                                             0x5d, 0xc3 /* pop %rbp; ret */};
static const uint8_t code_with_frame[] = {0x55, 0x48, 0x89, 0xe5 /* mov %rsp, %rbp */, 0xff, 0xd7, 0x5d, 0xc3};
#endif

static void through_code_without_rules(void **state)
{
    (void)state;
    enum { SECOND = 1024, SIZE = 4096 };
    char *code = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(code != MAP_FAILED);
    memcpy(code, code_without_frame, sizeof code_without_frame);
    memcpy(code + SECOND, code_with_frame, sizeof code_with_frame);
    must(mprotect(code, SIZE, PROT_READ | PROT_EXEC) == 0);
    __builtin___clear_cache(code, code + SIZE);
    void (*without_frame)(void (*)(void));
    void (*with_frame)(void (*)(void));
    char *second = code + SECOND;
    memcpy(&without_frame, &code, sizeof code);
    memcpy(&with_frame, &second, sizeof second);

    limit = MAX;
    without_frame(capture_limited);
    assert_int_equal(ours.end, PFA_UNWIND_BROKEN);
    assert_int_equal(ours.count, 1);
    assert_true(lies_in(ours.pcs[0], code, code + SIZE));

    with_frame(capture_limited);
    assert_int_equal(ours.end, PFA_UNWIND_COMPLETE);
    assert_true(lies_in(ours.pcs[0], second, code + SIZE));
    frames_t through = ours;
    capture();
    is_as_backtrace_says(); /* the same behind the made code, but for the place in this function */
    assert_int_equal(ours.count + 1, through.count);
    assert_memory_equal(&ours.pcs[1], &through.pcs[2], (ours.count - 1) * sizeof ours.pcs[0]);
    must(munmap(code, SIZE) == 0);
}

/* Two modules with the same functions at the same places in the file and frames of different sizes. */
static void build_module(const char *path, unsigned frame)
{
    char command[512];
    const char *compiler = getenv("CC") != NULL ? getenv("CC") : "cc";
    (void)snprintf(command, sizeof command,
                   "echo 'int call(void (*f)(void)) { volatile char a[%u]; a[0] = 1; f(); return a[0]; }' |"
                   " %s -x c -O1 -fPIC -shared -fomit-frame-pointer -o %s -",
                   frame, compiler, path);
    must(system(command) == 0);
}

static bool walk_module(const char *path, uintptr_t *address)
{
    void *module = dlopen(path, RTLD_NOW);
    must(module != NULL);
    void *symbol = dlsym(module, "call");
    int (*call)(void (*)(void));
    memcpy(&call, &symbol, sizeof symbol);
    bool again = *address == (uintptr_t)symbol;
    *address = (uintptr_t)symbol;
    (void)call(capture);
    is_as_backtrace_says();
    must(dlclose(module) == 0);
    return again;
}

static void modules_come_and_go(void **state)
{
    (void)state;
    char folder[] = "/tmp/pfa_unwind_XXXXXX";
    char path[2][64];
    must(mkdtemp(folder) != NULL);
    uintptr_t address = 0;
    unsigned reused = 0;
    for (unsigned i = 0; i < 2; i++) {
        (void)snprintf(path[i], sizeof path[i], "%s/%u.so", folder, i);
        build_module(path[i], 32 + 2000 * i);
    }
    for (unsigned i = 0; i < 20; i++) {
        reused += walk_module(path[i % 2], &address);
        pfa_unwind_forget();
    }
    print_message("%u of 20 modules took the place of another\n", reused);
    (void)unlink(path[0]);
    (void)unlink(path[1]);
    (void)rmdir(folder);
}

static void garbage_never_faults(void **state)
{
    (void)state;
    static uintptr_t pcs[MAX];
    uint64_t seed = 20260;
    pfa_tls_t tls;
    memset(&tls, 0, sizeof tls);
    capture();
    uintptr_t stack = (uintptr_t)__builtin_frame_address(0);
    uintptr_t libc = (uintptr_t)memcpy;
    uintptr_t self = (uintptr_t)pfa_unwind;
    uintptr_t data = (uintptr_t)&ours;
    for (int i = 0; i < 60000; i++) {
        uint64_t r[3];
        for (int j = 0; j < 3; j++) {
            uintptr_t bases[] = {0, stack, libc, self, data, ours.pcs[random_below(&seed, ours.count)]};
            uintptr_t base = bases[random_below(&seed, sizeof bases / sizeof bases[0])];
            uint64_t any = (uint64_t)random_below(&seed, UINT32_MAX) << 32 | random_below(&seed, UINT32_MAX);
            r[j] = base != 0 ? base + any % 65536 - 32768 : any >> random_below(&seed, 64);
        }
        pfa_unwind_start_t start = {.pc = r[0], .sp = r[1], .fp = r[2]};
        pfa_unwind_end_t end;
        unsigned count = pfa_unwind(&tls, &start, pcs, MAX, &end);
        assert_in_range(count, 0, MAX);
        assert_true(end == PFA_UNWIND_COMPLETE || end == PFA_UNWIND_TRUNCATED || end == PFA_UNWIND_BROKEN);
    }
}

static _Atomic int stop_forgetting;

static void *forget_all_the_time(void *unused)
{
    (void)unused;
    while (!pfa_load_relaxed(&stop_forgetting)) {
        pfa_unwind_forget();
    }
    return NULL;
}

static void rules_may_be_forgotten_at_any_time(void **state)
{
    (void)state;
    pthread_t thread;
    must(pthread_create(&thread, NULL, forget_all_the_time, NULL) == 0);
    for (int i = 0; i < 2000; i++) {
        recurse((unsigned)i % 50, capture);
        is_as_backtrace_says();
    }
    pfa_store_relaxed(&stop_forgetting, 1);
    must(pthread_join(thread, NULL) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_and_recursion),        cmocka_unit_test(deep_stacks_are_cut_and_say_so),
        cmocka_unit_test(frames_of_all_sizes),        cmocka_unit_test(through_the_library),
        cmocka_unit_test(out_of_signal_handlers),     cmocka_unit_test(out_of_an_interrupted_leaf),
        cmocka_unit_test(on_a_stack_of_its_own),      cmocka_unit_test(to_the_end_of_a_thread),
        cmocka_unit_test(through_code_without_rules), cmocka_unit_test(modules_come_and_go),
        cmocka_unit_test(garbage_never_faults),       cmocka_unit_test(rules_may_be_forgotten_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
