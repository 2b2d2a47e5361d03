/* Owns the line that says how far the work is. See analyze/base/progress.h. */
#include "analyze/base/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

void pfa_progress_begin(pfa_progress_t *progress, const char *what, uint64_t total)
{
    *progress =
        (pfa_progress_t){.what = what, .total = total != 0 ? total : 1, .begun = now(), .on = isatty(STDERR_FILENO)};
}

void pfa_progress_step(pfa_progress_t *progress, uint64_t done)
{
    enum { WIDTH = 40 };
    progress->done += done;
    double time = progress->on ? now() : 0;
    if (!progress->on || time < progress->begun + 1 || time < progress->shown + 0.1) {
        return;
    }
    double part = (double)progress->done / (double)progress->total;
    part = part > 1 ? 1 : part;
    int full = (int)(part * WIDTH);
    fprintf(stderr, "\r%s [%.*s%*s] %3.0f %%", progress->what, full, "########################################",
            WIDTH - full, "", part * 100);
    progress->shown = time;
}

void pfa_progress_end(pfa_progress_t *progress)
{
    if (progress->shown > 0) {
        fputs("\r\033[K", stderr);
    }
    progress->on = false;
}
