/* Locks of the slow paths, in one ranked list (STYLE, habit 9). A thread takes locks in ascending rank only; fork takes
 * all of them in that order, and the thread that forks may take each again until it is done; the child starts with all of
 * them free.
 *
 * malloc and free take none, whatever the number of threads, and whether a thread allocates, only frees, or is past its
 * destructors. The exceptions are rare by nature: the beginning and the end of a thread (PFA_LOCK_THREADS, PFA_LOCK_TAGS), a
 * call stack that is met for the first time (PFA_LOCK_DEPOT), the first chunk after a fork (PFA_LOCK_PROCESS, PFA_LOCK_WRITER),
 * and a death that is folded because the writer did not come in time (PFA_LOCK_FOLDS). */
#ifndef PFA_BASE_LOCK_H
#define PFA_BASE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

typedef enum pfa_lock_rank {
    PFA_LOCK_PROCESS, /* starting and stopping recording */
    PFA_LOCK_WRITER,  /* writing the trace */
    PFA_LOCK_RANGE,   /* reserving address space */
    PFA_LOCK_VIEWS,   /* the views of instrumented modules */
    PFA_LOCK_THREADS, /* the list of threads */
    PFA_LOCK_REPORTS, /* which places were reported already */
    PFA_LOCK_MODULES, /* reading the loader's list */
    PFA_LOCK_TAGS,    /* the names of tags */
    PFA_LOCK_DEPOT,   /* adding nodes to the depot */
    PFA_LOCK_EXTENTS, /* the live table's head, where there is no session */
    PFA_LOCK_FOLDS,   /* adding to folds */
    PFA_LOCK_COUNT
} pfa_lock_rank_t;

void pfa_lock(pfa_lock_rank_t rank);
/* False, at once, if it is taken. */
bool pfa_try_lock(pfa_lock_rank_t rank);
void pfa_unlock(pfa_lock_rank_t rank);

/* Does the calling thread hold one, or wait for one? In a signal handler: is it in the middle of something? */
bool pfa_locks_held(void);

/* Around fork, from the forking thread. */
void pfa_locks_before_fork(void);
void pfa_locks_after_fork_parent(void);
void pfa_locks_after_fork_child(void);

#endif
