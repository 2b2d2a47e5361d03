/* The stack unwinder where rules are missing, change, or are asked for with nonsense; and from many places at once. */
#define _GNU_SOURCE 1
#include "tests/unit/unwind_frames.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/time.h>

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

static _Atomic unsigned handler_walks;
static _Atomic unsigned handler_stuck; /* interrupted where no rules are: hand-written code, a sanitizer's */

static void walk_in_handler(int number)
{
    (void)number;
    uintptr_t pcs[MAX];
    pfa_unwind_end_t end;
    pfa_unwind_start_t start;
    PFA_UNWIND_HERE(&start);
    unsigned count = pfa_unwind(&pfa_tls, &start, pcs, MAX, &end);
    must(count > 0);
    (void)pfa_add_relaxed(&handler_walks, 1);
    (void)pfa_add_relaxed(&handler_stuck, end != PFA_UNWIND_COMPLETE || count <= 5);
}

static void a_handler_may_walk_inside_a_walk(void **state)
{
    (void)state;
    static char other_stack[65536];
    stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    struct sigaction action;
    const struct itimerval once = {.it_value = {.tv_usec = 100}};
    const struct itimerval never = {.it_value = {.tv_usec = 0}};
    must(sigaltstack(&stack, NULL) == 0);
    memset(&action, 0, sizeof action);
    action.sa_handler = walk_in_handler;
    action.sa_flags = SA_ONSTACK;
    must(sigaction(SIGALRM, &action, NULL) == 0);
    limit = MAX;
    unsigned turns = 0;
    unsigned armed =
        UINT_MAX; /* the handler's walks when the timer was set: once for each, so that those of ours go on between */
    for (; turns < 20000 || (pfa_load_relaxed(&handler_walks) < 500 && turns < 50000000); turns++) {
        if (turns % 100 == 0) {
            pfa_unwind_forget();
        }
        if (armed != pfa_load_relaxed(&handler_walks)) {
            armed = pfa_load_relaxed(&handler_walks);
            must(setitimer(ITIMER_REAL, &once, NULL) == 0);
        }
        recurse(turns % 60, capture_limited);
        if (ours.end != PFA_UNWIND_COMPLETE || ours.count < turns % 60) {
            break;
        }
    }
    must(setitimer(ITIMER_REAL, &never, NULL) == 0);
    assert_int_equal(ours.end, PFA_UNWIND_COMPLETE);
    assert_true(pfa_load_relaxed(&handler_walks) >= 500);
    assert_true(pfa_load_relaxed(&handler_stuck) <= pfa_load_relaxed(&handler_walks) / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(through_code_without_rules),
        cmocka_unit_test(modules_come_and_go),
        cmocka_unit_test(garbage_never_faults),
        cmocka_unit_test(rules_may_be_forgotten_at_any_time),
        cmocka_unit_test(a_handler_may_walk_inside_a_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
