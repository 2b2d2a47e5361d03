/* A line on standard error that says how far the work is, from a second on and only on a terminal. */
#ifndef PFA_ANALYZE_BASE_PROGRESS_H
#define PFA_ANALYZE_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pfa_progress {
    const char *what;
    uint64_t total;
    uint64_t done;
    double begun;
    double shown;
    bool on;
} pfa_progress_t;

void pfa_progress_begin(pfa_progress_t *progress, const char *what, uint64_t total);
void pfa_progress_step(pfa_progress_t *progress, uint64_t done);
void pfa_progress_end(pfa_progress_t *progress);

#endif
