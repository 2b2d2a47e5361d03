/* What was done with the chunks of a report: sums of accesses by allocation point, and of all. Of sampled chunks each counts
 * for as many as it stands for. */
#ifndef PFA_ANALYZE_POINTS_ACCESS_H
#define PFA_ANALYZE_POINTS_ACCESS_H

#include "analyze/query/query.h"

typedef struct pfa_access_total {
    double chunks; /* of which accesses are known */
    double bytes;  /* that they asked for */
    double
        blind; /* chunks of code that is not instrumented (analyze/names/sight.h), of which nothing else here tells */
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
} pfa_access_total_t;

/* A counter of a chunk of this trace that has got here stays here. */
uint32_t pfa_access_full(const pfa_trace_t *trace);
/* One chunk whose accesses are known. */
void pfa_access_add(pfa_access_total_t *total, const pfa_kind_t *kind, const pfa_chunk_t *chunk, uint32_t full);
void pfa_access_sum(pfa_access_total_t *to, const pfa_access_total_t *from);

#endif
