/* What `profalloc leaks` makes of the chunks of a point that nobody freed, as far as advice needs it. */
#ifndef PFA_ANALYZE_ADVISE_KEPT_H
#define PFA_ANALYZE_ADVISE_KEPT_H

#include "analyze/leaks/leaks.h"

typedef struct pfa_kept {
    pfa_leak_verdict_t verdict;
    pfa_leak_reason_t reason;
    double sure;   /* from 0 to 1 */
    double chunks; /* that the verdict is about: the overdue ones if there are siblings; 0: none is kept */
    double bytes;
    double rate; /* bytes per nanosecond by which those that stay grow */
} pfa_kept_t;

struct pfa_report;
/* Judges all points, in a walk of its own, if enough was kept at the peak to be worth it. 0, or an error number; EAGAIN: a file can no longer
 * be read, which was said, and all is to be collected anew. */
int pfa_kept_judge(struct pfa_report *report);

#endif
