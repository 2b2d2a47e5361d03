/* Owns the line that says how far the work is. See cli/progress.h. */
#include "cli/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static struct {
    const char *what; /* NULL: nothing is under way */
    double begun;
    double shown;
} line;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void clear(void)
{
    if (line.shown > 0) {
        fputs("\r\033[K", stderr);
    }
    line.what = NULL;
}

static bool tell(void *to, const char *what, double part)
{
    enum { WIDTH = 40 };
    (void)to;
    if (part >= 1 || !isatty(STDERR_FILENO)) {
        clear();
        return true;
    }
    double time = now();
    if (line.what == NULL) {
        line.begun = time;
        line.shown = 0;
    }
    line.what = what;
    if (time >= line.begun + 1 && time >= line.shown + 0.1) {
        int full = (int)(part * WIDTH);
        fprintf(stderr, "\r%s [%.*s%*s] %3.0f %%", what, full, "########################################", WIDTH - full,
                "", part * 100);
        line.shown = time;
    }
    return true;
}

const pfa_watch_t pfa_cli_watch = {.tell = tell};
