/* The background thread: does what no thread of the program should wait for. It is made when there is work for the first
 * time, with all signals blocked; a fork child has none until it needs one.
 *
 * Any thread may call pfa_background_wake, at any time but in a signal handler; it never waits for the work. */
#ifndef PFA_EXPORT_BACKGROUND_H
#define PFA_EXPORT_BACKGROUND_H

/* Says what the work is; once, at start. */
void pfa_background_init(void (*work)(void));
void pfa_background_wake(void);
/* In a fork child. */
void pfa_background_after_fork(void);

#endif
