/* What `profalloc leaks` makes of the chunks of a point that nobody freed, as far as advice needs it. */
#ifndef PFA_ANALYZE_ADVISE_KEPT_H
#define PFA_ANALYZE_ADVISE_KEPT_H

#include "analyze/leaks/leaks.h"

struct pfa_report;

typedef struct pfa_kept {
    pfa_leak_verdict_t verdict;
    pfa_leak_reason_t reason;
    double sure;   /* from 0 to 1 */
    double chunks; /* that the verdict is about: the overdue ones if there are siblings; 0: none is kept */
    double bytes;
    double rate; /* bytes per nanosecond by which those that stay grow */
} pfa_kept_t;

/* Points are judged by what is collected beside them, in the same walk. */
typedef struct pfa_kept_judge {
    bool judges;  /* enough is alive at the end */
    bool *wanted; /* by point: pfa_leaks_t.wanted */
    pfa_leaks_t leaks;
} pfa_kept_judge_t;

/* For pfa_points_beside_t. NULL: too little is alive at the end to be worth it. */
const pfa_look_t *pfa_kept_begin(void *judge, struct pfa_report *report);
/* After that walk: judges all points of which enough was kept at the peak. */
void pfa_kept_end(pfa_kept_judge_t *judge, struct pfa_report *report);

#endif
