/* What the entry files share: the long ways out of the fast paths, and the process's and threads' life. */
#ifndef PFA_HOOKS_HOOKS_H
#define PFA_HOOKS_HOOKS_H

#include "alloc/chunk.h"
#include "alloc/sampler.h"
#include "base/tls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- hooks/slow.c and hooks/resize.c: allocation and free off the fast path. Any thread, any time. Set errno as the C library would. The
 * bytes asked for were taken off the countdown before. */
PFA_NOINLINE void *pfa_slow_malloc(size_t size);
PFA_NOINLINE void *pfa_slow_alloc(size_t size, size_t align, uint64_t flags);
PFA_NOINLINE void *pfa_slow_realloc(void *chunk, size_t size, const void *caller);
PFA_NOINLINE void pfa_slow_free(void *chunk);
size_t pfa_usable_size(void *chunk, const void *caller);

/* Takes the bytes off the countdown; true when the allocation may go the fast way. */
PFA_INLINE bool pfa_fast_allowed(size_t size)
{
    return PFA_LIKELY((pfa_tls.countdown = (int64_t)((uint64_t)pfa_tls.countdown - size)) >= 0);
}

/* True for an address that free may hand straight to mimalloc: in the zone of plain space and a multiple of 8. The rotation puts
 * the three low bits on top, where they fail the compare unless they are zero. NULL fails it too. */
PFA_INLINE bool pfa_is_plain(const void *chunk)
{
    uint64_t rotated = (uintptr_t)chunk >> 3 | (uintptr_t)chunk << 61;
    return rotated >> (PFA_PLAIN_ZONE_SHIFT - 3) == PFA_PLAIN_ZONE >> PFA_PLAIN_ZONE_SHIFT;
}

/* Can no memory have that size with that alignment, a power of two? */
PFA_INLINE bool pfa_too_big(size_t size, size_t align)
{
    return size > PTRDIFF_MAX || align > PTRDIFF_MAX - size;
}

/* free and all that is like it. */
PFA_INLINE void pfa_fast_free(void *chunk)
{
    if (PFA_LIKELY(pfa_is_plain(chunk))) {
        pfa_backing_free_here(chunk);
    } else {
        pfa_slow_free(chunk);
    }
}

/* --- hooks/process.c */
/* Prepares what allocation needs, and reads the options once they can be read. False: not now (called from inside
 * itself, or in another thread at the same time), allocate without us. */
bool pfa_process_enter(void);
int pfa_process_start(uint64_t period);
void pfa_process_stop(void);
/* After a start, but not from within malloc: says it if malloc of this program is not ours. */
void pfa_process_check_reach(void);
/* Mean bytes between samples, as recording was started last. */
uint64_t pfa_process_period(void);
/* Also from a signal handler. */
void pfa_process_ask_for_picture(void);
void pfa_process_ask_for_background_thread(void);
/* In a fork child: asks for the thread if there are pictures to be taken by the clock. */
void pfa_process_after_fork(void);
/* Ends the trace, while the process and its chunks go on; begins another, under a name of its own unless that is NULL, and
 * records. */
void pfa_process_end_trace(void);
void pfa_process_begin_trace(const char *pattern);
/* Set when there is work for a background thread that is not there. */
extern _Atomic bool pfa_background_asked;
PFA_COLD void pfa_process_make_background_thread(void);

/* --- hooks/thread.c */
/* Sets the calling thread up; false: not now, or not any more. */
bool pfa_thread_enter(pfa_tls_t *tls);
/* The same, after a few times, for one that frees a recorded chunk and has never allocated. */
PFA_COLD void pfa_thread_enter_to_free(pfa_tls_t *tls);
int pfa_thread_make_key(void);
/* Notes the calling thread's name, if there is a trace. */
void pfa_thread_say_name(pfa_tls_t *tls);
/* In the background thread: ends a process all threads of which have ended, as the C library would. */
void pfa_thread_end_if_deserted(void);

/* --- hooks/reach.c */
/* Does the program's malloc come to us? Not to be asked from within malloc. */
bool pfa_reach_is_ours(void);

/* --- hooks/accesses.c: the library's side of access profiling */
/* Is it to be recorded what instrumented code does? */
bool pfa_accesses_wanted(void);
/* The profiled range is there: modules may look into it. */
void pfa_accesses_open(void);
/* In a blind child: they may not. */
void pfa_accesses_close(void);

/* --- hooks/signals.c: the signals that options may name */
void pfa_signals_watch(void);
/* In the background thread: does what they asked for. */
void pfa_signals_act(void);

/* --- hooks/report.c: says that the program gave us something that is no chunk; once per caller, counts each. */
void pfa_report_bad(const char *call, const char *what, const void *chunk, const pfa_finding_t *finding,
                    const void *caller);

/* --- hooks/summary.c */
void pfa_summary_print(void);

/* --- hooks/fork.c */
void pfa_fork_watch(void);
/* In a child, as the last of what the C library does there. */
void pfa_fork_in_child(void);
/* In a child: its trace is yet to be made. */
extern _Atomic bool pfa_fork_pending;
/* Makes it, before the first chunk is recorded. */
PFA_COLD void pfa_fork_go_on(pfa_tls_t *tls);
/* It is not to be made any more, until it is asked for. Under PFA_LOCK_PROCESS. */
void pfa_fork_forget(void);
/* Asks for it; false: this is no child, or it has one. */
bool pfa_fork_ask(void);

#endif
