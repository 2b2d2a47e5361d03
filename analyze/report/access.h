/* What was done with the chunks of a report: sums of accesses by allocation point, and of all. Of sampled chunks each counts
 * for as many as it stands for. */
#ifndef PFA_ANALYZE_ACCESS_H
#define PFA_ANALYZE_ACCESS_H

#include "analyze/trace/trace.h"

typedef struct pfa_access_total {
    double chunks; /* of which accesses are known */
    double bytes;  /* that they asked for */
    double reads;
    double writes;
    double bytes_touched; /* from the first byte touched of each to its last */
    double never_read;    /* chunks, */
    double never_written;
    double never_touched; /* which are among both */
    double saturated;     /* whose counters are full: there were more reads or writes than they say */
    double shared;        /* touched by several threads */
    double unread_chunks; /* that were written and never read, */
    double unread_bytes;
    double untouched_bytes; /* of those never touched */
    /* Of touched chunks, in nanoseconds: from birth to the first access, from the last to death, and from birth to death.
     * A live chunk's death is the end of the recording. */
    double idle_before;
    double idle_after;
    double lifetime;
    /* Of those whose end is not known yet: how many, and the sums of their births and last accesses since the start. */
    double open_chunks;
    double open_born;
    double open_last;
} pfa_access_total_t;

/* While a trace is added. */
typedef struct pfa_access_scale {
    uint64_t start;
    double ns_per_tick;
    uint32_t full; /* a counter that has got here stays here */
} pfa_access_scale_t;

pfa_access_scale_t pfa_access_scale(const pfa_trace_t *trace);
/* One chunk; the free time of a live one is UINT64_MAX. */
void pfa_access_add(pfa_access_total_t *total, const pfa_access_scale_t *scale, const pfa_event_t *event,
                    const pfa_event_accesses_t *accesses, double weight);
/* The recording ended at this time, and with it what is open. */
void pfa_access_settle(pfa_access_total_t *total, const pfa_access_scale_t *scale, uint64_t end);
void pfa_access_sum(pfa_access_total_t *to, const pfa_access_total_t *from);

/* The touched part in bytes: up to *behind, not included. */
void pfa_access_bytes(const pfa_event_accesses_t *accesses, uint64_t size, uint64_t *low, uint64_t *behind);

#endif
