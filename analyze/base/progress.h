/* How far long work is, told to who asked for it. */
#ifndef PFA_ANALYZE_BASE_PROGRESS_H
#define PFA_ANALYZE_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Who is told. `tell` is called often, by the thread that works: with what is done and how much of it, from 0 to 1; 1 is its end. It
 * returns false to give up the work, which then ends with ECANCELED. */
typedef struct pfa_watch {
    bool (*tell)(void *to, const char *what, double part); /* NULL: nobody */
    void *to;
} pfa_watch_t;

typedef struct pfa_progress {
    const pfa_watch_t *watch; /* NULL: nobody is told */
    const char *what;
    uint64_t total;
    uint64_t done;
} pfa_progress_t;

/* Who is told of work that this thread begins from now on, in place of those that pfa_progress_begin is called with; NULL: those. It
 * has to stay until it is taken back. Returns the one before. */
const pfa_watch_t *pfa_progress_own(const pfa_watch_t *watch);
void pfa_progress_begin(pfa_progress_t *progress, const pfa_watch_t *watch, const char *what, uint64_t total);
/* So much more is done. May leave the work (analyze/base/memory.h). */
void pfa_progress_step(pfa_progress_t *progress, uint64_t done);
/* The same where work cannot be left, since others have called. False: it is to be given up. */
bool pfa_progress_show(const pfa_progress_t *progress);
void pfa_progress_end(const pfa_progress_t *progress);

#endif
