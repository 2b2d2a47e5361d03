/* What the tests of the unwinder share: a stack captured twice by it and once by the C library's backtrace, which is
 * another implementation of the same rules. */
#ifndef PFA_TESTS_UNWIND_FRAMES_H
#define PFA_TESTS_UNWIND_FRAMES_H

#include "meta/unwind.h"
#include "tests/unit/unit.h"

#include <execinfo.h>

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

static inline void print_both(void)
{
    for (unsigned i = 0; i < ours.count || i < theirs_count; i++) {
        print_message("%2u ours %#lx theirs %p\n", i, i < ours.count ? (unsigned long)ours.pcs[i] : 0ul,
                      i < theirs_count ? theirs[i] : NULL);
    }
}

/* Interrupted frames are exact in theirs, and one more in ours. */
static inline void is_as_backtrace_says(void)
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

static inline bool lies_in(uintptr_t pc, const char *begin, const char *end)
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

static unsigned limit;

static NOINLINE void capture_limited(void)
{
    pfa_unwind_start_t start;
    PFA_UNWIND_HERE(&start);
    memset(&ours, 0, sizeof ours);
    ours.count = pfa_unwind(&pfa_tls, &start, ours.pcs, limit, &ours.end);
    NOT_A_TAIL();
}

#endif
