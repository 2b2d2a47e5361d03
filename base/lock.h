/* Locks of the slow paths, in one ranked list (STYLE, habit 9). A thread takes locks in ascending rank only.
 *
 * malloc and free take none, whatever the number of threads, and whether a thread allocates, only frees, or is past its
 * destructors. The exceptions are rare by nature: the beginning and the end of a thread (PFA_LOCK_THREADS, PFA_LOCK_TAGS), a
 * call stack that is met for the first time (PFA_LOCK_DEPOT), the first chunk after a fork (PFA_LOCK_PROCESS, PFA_LOCK_WRITER),
 * a death that is folded because the writer did not come in time (PFA_LOCK_FOLDS), and a live table that gets its second file,
 * or whose descriptor the program has closed (PFA_LOCK_EXTENTS).
 *
 *   1. fork takes none of them: the C library holds the locks of its streams while it forks, and a thread that reads a line
 *      holds one and asks for memory. The child finds free every lock that another thread holds (pfa_locks_after_fork
 *      walks the list), and each structure that one guards says what of a change half made it can find.
 *   2. A thread never waits for itself. What it does in a signal handler that came while it held a lock, it does inside the
 *      lock: what is guarded stays readable at any moment, and a change that was under way may be lost. pfa_try_lock says
 *      no in such a handler; whoever cannot do that asks pfa_locks_held. */
#ifndef PFA_BASE_LOCK_H
#define PFA_BASE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

typedef enum pfa_lock_rank {
    PFA_LOCK_PROCESS, /* starting and stopping recording */
    PFA_LOCK_WRITER,  /* writing the trace */
    PFA_LOCK_MODULES, /* the list of modules; never while a file is written */
    PFA_LOCK_RANGE,   /* reserving address space */
    PFA_LOCK_VIEWS,   /* the views of instrumented modules */
    PFA_LOCK_THREADS, /* the list of threads */
    PFA_LOCK_REPORTS, /* which places were reported already */
    PFA_LOCK_TAGS,    /* the names of tags */
    PFA_LOCK_DEPOT,   /* adding nodes to the depot */
    PFA_LOCK_EXTENTS, /* the live table's head, where there is no session, and its files */
    PFA_LOCK_FOLDS,   /* adding to folds */
    PFA_LOCK_COUNT
} pfa_lock_rank_t;

void pfa_lock(pfa_lock_rank_t rank);
/* False, at once, if it is taken. */
bool pfa_try_lock(pfa_lock_rank_t rank);
void pfa_unlock(pfa_lock_rank_t rank);

/* Does the calling thread hold one, or wait for one? In a signal handler: is it in the middle of something? */
bool pfa_locks_held(void);

/* In a fork child, alone: what other threads hold is free. */
void pfa_locks_after_fork(void);

#endif
