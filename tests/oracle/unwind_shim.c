/* Preloaded into programs of others: compares the unwinder with libunwind at their calls of malloc and, if asked, wherever
 * a timer's signal finds them.
 *
 * A stack that was compared is not compared again. Where the two differ, libgcc's unwinder is asked as well:
 *
 *   equal         libunwind's frames are ours, to the end
 *   as_libgcc     libunwind differs, libgcc's frames are ours: libunwind stopped early or went astray
 *   beyond        libgcc stops for lack of rules, and ours, the same so far, goes on by frame pointers
 *   stopped       ours says BROKEN, and what it has is the beginning of what one of the others has
 *   different     none of these: printed
 *
 * Writes one line of counts to the file that PFA_ORACLE_OUT names, appending, when the process ends. PFA_ORACLE_SIGNALS
 * is the timer's period in microseconds. malloc of the child of a fork goes on being compared. */
#define _GNU_SOURCE 1
#define UNW_LOCAL_ONLY
#include "base/tls.h"
#include "meta/unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libunwind.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include <unwind.h>

enum { MAX = 400, SEEN_BITS = 20, DIFFERENT_PRINTED = 20, OURSELVES_MAX = 8 };

typedef struct frames {
    uintptr_t pcs[MAX];
    unsigned count;
} frames_t;

void *__libc_malloc(size_t size);

static _Thread_local __attribute__((tls_model("initial-exec"))) bool busy;
static _Atomic bool running;
static _Atomic uint64_t seen[1 << SEEN_BITS];
static _Atomic unsigned captured, places, equal, as_libgcc, beyond, stopped, different;
/* As in libgcc's unwind-dw2-fde.h, which is not installed. */
struct dwarf_eh_bases {
    void *text, *data, *function;
};
static const void *(*libgcc_find)(void *pc, struct dwarf_eh_bases *bases);
static __typeof__(_Unwind_Backtrace) *libgcc_backtrace;
static __typeof__(_Unwind_GetIPInfo) *libgcc_ip;

/* Is it new? A full table says no. */
static bool is_new(const frames_t *f)
{
    uint64_t hash = f->count;
    for (unsigned i = 0; i < f->count; i++) {
        hash = (hash ^ f->pcs[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    hash |= 1;
    for (unsigned i = 0; i < 64; i++) {
        uint64_t there = 0;
        _Atomic uint64_t *place = &seen[(hash + i) % (1 << SEEN_BITS)];
        if (atomic_compare_exchange_strong(place, &there, hash)) {
            return true;
        }
        if (there == hash) {
            return false;
        }
    }
    return false;
}

/* The frames of this library come first in what the others say; those of ours begin behind them. */
static void drop_ourselves(frames_t *f, uintptr_t first)
{
    unsigned skip = 0;
    while (skip < f->count && skip < OURSELVES_MAX && f->pcs[skip] != first) {
        skip++;
    }
    if (skip < f->count && f->pcs[skip] == first) {
        f->count -= skip;
        memmove(f->pcs, f->pcs + skip, f->count * sizeof f->pcs[0]);
    }
}

static void ask_libunwind(frames_t *f)
{
    unw_context_t context;
    unw_cursor_t cursor;
    f->count = 0;
    (void)unw_getcontext(&context);
    (void)unw_init_local(&cursor, &context);
    bool after_signal = false;
    while (f->count < MAX && unw_step(&cursor) > 0) {
        unw_word_t pc;
        (void)unw_get_reg(&cursor, UNW_REG_IP, &pc);
        if (pc == 0) {
            break;
        }
        f->pcs[f->count++] = (uintptr_t)pc + after_signal;
        after_signal = unw_is_signal_frame(&cursor) > 0;
    }
}

static _Unwind_Reason_Code take_libgcc(struct _Unwind_Context *context, void *opaque)
{
    frames_t *f = opaque;
    int is_exact = 0;
    uintptr_t pc = libgcc_ip(context, &is_exact);
    if (pc == 0 || f->count == MAX) {
        return _URC_END_OF_STACK;
    }
    f->pcs[f->count++] = pc + (is_exact != 0);
    return _URC_NO_REASON;
}

static bool begins_with(const frames_t *all, const frames_t *part)
{
    return part->count <= all->count && memcmp(all->pcs, part->pcs, part->count * sizeof part->pcs[0]) == 0;
}

static bool same(const frames_t *a, const frames_t *b)
{
    return a->count == b->count && begins_with(a, b);
}

static void print_frames(const char *who, const frames_t *f)
{
    fprintf(stderr, "  %s:\n", who);
    for (unsigned i = 0; i < f->count; i++) {
        Dl_info info;
        bool found = dladdr((void *)(f->pcs[i] - 1), &info) != 0 && info.dli_fname != NULL;
        fprintf(stderr, "    %2u %#lx %s+%#lx %s\n", i, (unsigned long)f->pcs[i], found ? info.dli_fname : "?",
                found ? (unsigned long)(f->pcs[i] - (uintptr_t)info.dli_fbase) : 0,
                found && info.dli_sname != NULL ? info.dli_sname : "");
    }
}

static bool has_rules(uintptr_t pc)
{
    struct dwarf_eh_bases bases;
    return libgcc_find((void *)(pc - 1), &bases) != NULL;
}

static void compare(const frames_t *ours, pfa_unwind_end_t end)
{
    static _Thread_local frames_t theirs, gccs;
    ask_libunwind(&theirs);
    drop_ourselves(&theirs, ours->pcs[0]);
    (void)atomic_fetch_add(&places, 1);
    if (same(ours, &theirs) || (end == PFA_UNWIND_TRUNCATED && begins_with(ours, &theirs))) {
        (void)atomic_fetch_add(&equal, 1);
        return;
    }
    gccs.count = 0;
    (void)libgcc_backtrace(take_libgcc, &gccs);
    drop_ourselves(&gccs, ours->pcs[0]);
    if (same(ours, &gccs)) {
        (void)atomic_fetch_add(&as_libgcc, 1);
    } else if (gccs.count > 0 && begins_with(ours, &gccs) && !has_rules(gccs.pcs[gccs.count - 1])) {
        (void)atomic_fetch_add(&beyond, 1);
    } else if (end == PFA_UNWIND_BROKEN && (begins_with(&theirs, ours) || begins_with(&gccs, ours))) {
        (void)atomic_fetch_add(&stopped, 1);
        if (getenv("PFA_ORACLE_SHOW") != NULL) {
            print_frames("stopped", ours);
        }
    } else if (atomic_fetch_add(&different, 1) < DIFFERENT_PRINTED) {
        fprintf(stderr, "a different stack in process %d, end %d\n", (int)getpid(), (int)end);
        print_frames("ours", ours);
        print_frames("libunwind", &theirs);
        print_frames("libgcc", &gccs);
    }
}

static void capture(const pfa_unwind_start_t *start)
{
    static _Thread_local frames_t ours;
    pfa_unwind_end_t end;
    int saved = errno;
    ours.count = pfa_unwind(&pfa_tls, start, ours.pcs, MAX, &end);
    (void)atomic_fetch_add(&captured, 1);
    if (ours.count > 0 && is_new(&ours)) {
        compare(&ours, end);
    }
    errno = saved;
}

__attribute__((visibility("default"))) void *malloc(size_t size)
{
    if (atomic_load(&running) && !busy) {
        pfa_unwind_start_t start;
        busy = true;
        PFA_UNWIND_HERE(&start);
        capture(&start);
        busy = false;
    }
    return __libc_malloc(size);
}

static void on_timer(int number)
{
    (void)number;
    if (!busy) {
        pfa_unwind_start_t start;
        busy = true;
        PFA_UNWIND_HERE(&start);
        capture(&start);
        busy = false;
    }
}

static void find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
}

__attribute__((constructor)) static void begin(void)
{
    void *libgcc = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
    if (libgcc == NULL) {
        fprintf(stderr, "no libgcc_s\n");
        _exit(99);
    }
    find(libgcc, "_Unwind_Backtrace", &libgcc_backtrace);
    find(libgcc, "_Unwind_GetIPInfo", &libgcc_ip);
    find(libgcc, "_Unwind_Find_FDE", &libgcc_find);
    atomic_store(&running, true);
    const char *period = getenv("PFA_ORACLE_SIGNALS");
    if (period != NULL) {
        struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
        struct itimerval often = {.it_value = {.tv_usec = atol(period)}, .it_interval = {.tv_usec = atol(period)}};
        (void)sigaction(SIGPROF, &action, NULL);
        (void)setitimer(ITIMER_PROF, &often, NULL);
    }
}

__attribute__((destructor)) static void report(void)
{
    busy = true;
    atomic_store(&running, false);
    struct itimerval never = {.it_value = {0, 0}};
    (void)setitimer(ITIMER_PROF, &never, NULL);
    const char *path = getenv("PFA_ORACLE_OUT");
    int fd = path == NULL ? STDERR_FILENO : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    dprintf(fd, "captured=%u places=%u equal=%u as_libgcc=%u beyond=%u stopped=%u different=%u\n", captured, places,
            equal, as_libgcc, beyond, stopped, different);
    if (path != NULL) {
        close(fd);
    }
}
