/* Owns the telling of progress. See analyze/base/progress.h. */
#include "analyze/base/progress.h"
#include "analyze/base/memory.h"

#include <errno.h>

static _Thread_local const pfa_watch_t *own_watch;

const pfa_watch_t *pfa_progress_own(const pfa_watch_t *watch)
{
    const pfa_watch_t *before = own_watch;
    own_watch = watch;
    return before;
}

void pfa_progress_begin(pfa_progress_t *progress, const pfa_watch_t *watch, const char *what, uint64_t total)
{
    watch = own_watch != NULL ? own_watch : watch;
    bool watched = watch != NULL && watch->tell != NULL;
    *progress = (pfa_progress_t){.watch = watched ? watch : NULL, .what = what, .total = total != 0 ? total : 1};
    pfa_progress_step(progress, 0);
}

bool pfa_progress_show(const pfa_progress_t *progress)
{
    static const double most = 0.999; /* 1 is the end */
    double part = (double)progress->done / (double)progress->total;
    return progress->watch == NULL ||
           progress->watch->tell(progress->watch->to, progress->what, part < most ? part : most);
}

void pfa_progress_step(pfa_progress_t *progress, uint64_t done)
{
    progress->done += done;
    if (!pfa_progress_show(progress)) {
        pfa_memory_leave(ECANCELED);
    }
}

void pfa_progress_end(const pfa_progress_t *progress)
{
    if (progress->watch != NULL) {
        (void)progress->watch->tell(progress->watch->to, progress->what, 1);
    }
}
