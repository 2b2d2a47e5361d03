/* The CPU's own counter: constant rate, the same on all cores, readable without a system call. Its rate is calibrated
 * against CLOCK_MONOTONIC where times leave the process. */
#ifndef PFA_BASE_CLOCK_H
#define PFA_BASE_CLOCK_H

#include <stdint.h>

static inline uint64_t pfa_counter(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
}

/* Two readings that have all that is between them between them, and nothing else. A processor does not wait with the plain
 * reading until what comes before it is done, nor with what comes after: of 40 ns that are measured by that, 20 are missing.
 * These take several times as long. */
static inline uint64_t pfa_counter_before(void)
{
    uint64_t ticks;
#if defined(__x86_64__)
    __builtin_ia32_lfence();
    ticks = __builtin_ia32_rdtsc();
    __builtin_ia32_lfence();
#elif defined(__aarch64__)
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
#endif
    return ticks;
}

static inline uint64_t pfa_counter_after(void)
{
    uint64_t ticks;
#if defined(__x86_64__)
    __builtin_ia32_lfence();
    ticks = __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
#endif
    return ticks;
}

/* About two microseconds in ticks of the counter: a rough measure of "right after". */
static inline uint64_t pfa_counter_moment(void)
{
#if defined(__x86_64__)
    return 4096;
#elif defined(__aarch64__)
    uint64_t frequency;
    __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
    return frequency / 500000 + 1;
#endif
}

/* Ticks in a second; 0 where only a calibration can tell. */
static inline uint64_t pfa_counter_hz(void)
{
#if defined(__x86_64__)
    return 0;
#elif defined(__aarch64__)
    uint64_t frequency;
    __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
    return frequency;
#endif
}

/* PFA_ARCH_* of export/format/trace.h. */
static inline uint32_t pfa_counter_arch(void)
{
#if defined(__x86_64__)
    return 1;
#elif defined(__aarch64__)
    return 2;
#endif
}

#endif
