/* The background thread: does what no thread of the program should wait for. It is made when there is (or will be) work for the first
 * time, with all signals blocked; a fork child has none until it needs one. Once there, it also works by the clock, if it
 * was given a period. Only the process that has the memory makes it, never a child of vfork that is its guest.
 *
 * Any thread may call pfa_background_wake, at any time but in a signal handler; it never waits for the work. */
#ifndef PFA_EXPORT_BACKGROUND_H
#define PFA_EXPORT_BACKGROUND_H

#include <stdbool.h>
#include <stdint.h>

/* Says what the work is; once, at start. */
void pfa_background_init(void (*work)(void));
void pfa_background_wake(void);
/* The same, but does not make the thread: for free, and for signal handlers. The next pfa_background_make_if_asked does. */
void pfa_background_ask(void);
extern _Atomic _Bool pfa_background_asked;
/* In the thread: it was made by any thread of the program, which may be pinned to a processor or go before all others. Gives
 * it the processors of the process at its start, and a place among the others. Not behind a filter of system calls, which
 * may kill for that; asking for the filter takes prctl, which writing a trace takes too. */
void pfa_background_settle(void);
void pfa_background_make_if_asked(void);
bool pfa_background_exists(void);
/* Is the calling thread it? */
bool pfa_background_is_me(void);
/* How often to work without being asked, in nanoseconds; 0: never. */
void pfa_background_set_period(uint64_t nanoseconds);
/* In a fork child. `expected`: will it want a thread of its own? Then the kernel is asked who we are. */
void pfa_background_after_fork(bool expected);

#endif
