/*
 * Keeps the calling thread on one processor; neighbours by index get different ones.
 *
 * Left to the scheduler, two threads that exchange chunks run three times as fast whenever it happens to put both on
 * one core.
 */
#ifndef PFA_BENCH_PIN_H
#define PFA_BENCH_PIN_H

#include <sched.h>

/* Counts from the last allowed processor, since the first one usually serves the interrupts. */
static inline void pfa_bench_pin(unsigned index)
{
    cpu_set_t allowed;
    cpu_set_t one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return;
    }
    unsigned skip = index % (unsigned)CPU_COUNT(&allowed);
    for (unsigned cpu = CPU_SETSIZE; cpu-- > 0;) {
        if (CPU_ISSET(cpu, &allowed) && skip-- == 0) {
            CPU_SET(cpu, &one);
            (void)sched_setaffinity(0, sizeof one, &one);
            return;
        }
    }
}

#endif
