/* The atomic accesses of 16 bytes, without libatomic, which a program would otherwise have to be linked with; and the other
 * place where the two machines' atomics differ. Inline assembly only, no state.
 *
 * One operation is enough for all: compare and exchange. A load exchanges nothing for nothing, so that the memory must be
 * writable, as libatomic's own must be where there is no better instruction. It is at least as strong as any order that can be
 * asked for; the fence of sequential consistency on arm64 is in atomics.c. */
#ifndef PFA_HOOKS_ACCESS_WIDE_H
#define PFA_HOOKS_ACCESS_WIDE_H

#include "base/compiler.h"

#include <stdint.h>

__extension__ typedef unsigned __int128 pfa_wide_t;

/* What was there. 16-byte aligned. */
PFA_INLINE pfa_wide_t pfa_wide_cas(volatile pfa_wide_t *address, pfa_wide_t expected, pfa_wide_t desired)
{
    uint64_t low = (uint64_t)expected;
    uint64_t high = (uint64_t)(expected >> 64);
#if defined(__x86_64__)
    __asm__ volatile("lock cmpxchg16b %[memory]"
                     : "+a"(low), "+d"(high), [memory] "+m"(*address)
                     : "b"((uint64_t)desired), "c"((uint64_t)(desired >> 64))
                     : "cc", "memory");
    return (pfa_wide_t)high << 64 | low;
#else
    uint64_t seen_low;
    uint64_t seen_high;
    uint64_t next_low;
    uint64_t next_high;
    uint32_t failed;
    /* What differs is written back as it was: only a pair whose store succeeds is known to have been read at once. */
    __asm__ volatile("1: ldaxp %[seen_low], %[seen_high], %[memory]\n"
                     "cmp %[seen_low], %[low]\n"
                     "ccmp %[seen_high], %[high], #0, eq\n"
                     "csel %[next_low], %[desired_low], %[seen_low], eq\n"
                     "csel %[next_high], %[desired_high], %[seen_high], eq\n"
                     "stlxp %w[failed], %[next_low], %[next_high], %[memory]\n"
                     "cbnz %w[failed], 1b\n"
                     : [seen_low] "=&r"(seen_low), [seen_high] "=&r"(seen_high), [next_low] "=&r"(next_low),
                       [next_high] "=&r"(next_high), [failed] "=&r"(failed), [memory] "+Q"(*address)
                     : [low] "r"(low), [high] "r"(high), [desired_low] "r"((uint64_t)desired),
                       [desired_high] "r"((uint64_t)(desired >> 64))
                     : "cc", "memory");
    return (pfa_wide_t)seen_high << 64 | seen_low;
#endif
}

/* After a read-modify-write that asks for sequential consistency. GCC hands __sync_* builtins over as such, and promises a
 * full barrier for them, which on arm64 the instruction alone is not: a later load may pass its store. */
PFA_INLINE void pfa_wide_settle(void)
{
#if defined(__aarch64__)
    __asm__ volatile("dmb ish" ::: "memory");
#endif
}

#endif
