/* The time that programs spent in allocation routines, estimated from the calls that were measured (export/format/times.h). */
#ifndef PFA_ANALYZE_POINTS_SPENT_H
#define PFA_ANALYZE_POINTS_SPENT_H

#include "analyze/query/query.h"
#include "export/format/times.h"

#include <stdbool.h>
#include <stddef.h>

/* Fewer measured calls say nothing of all the others. */
enum { PFA_SPENT_LEAST = 16 };
/* Standard errors on either side that the true value lies within 95 times in 100. */
#define PFA_SPENT_SURE 1.96

/* Seconds, and the variances of what is estimated. */
typedef struct pfa_spent {
    size_t files; /* of how many traces it is known; 0: of none, and the rest means nothing */
    double seconds;
    double variance;
    double allocations; /* the parts of `seconds` that are calls which allocate, */
    double frees;       /* which free, */
    double waited;      /* and that frees waited for the writer */
    double own;         /* the allocator's part, */
    double own_variance;
    double recorded; /* how long these traces were recorded */
    uint64_t calls;
    uint64_t measured;
    uint64_t capped;
} pfa_spent_t;

/* Adds a trace that was recorded for so many seconds; false, and nothing is added, if it does not tell enough. */
bool pfa_spent_add(pfa_spent_t *spent, const pfa_trace_times_t *times, double ns_per_tick, double recorded);
/* What an allocation and its free take in the allocator itself, in nanoseconds, as the traces of a query tell, whatever it asks
 * for, and how much that is of all of them; 0: they do not. */
double pfa_spent_pair_ns(const pfa_query_t *query, double *all_ns);
/* How much longer the run of a single process of one thread took because it was recorded, in nanoseconds; at most nine tenths of
 * it. 0: it is not known. */
double pfa_spent_recording_ns(const pfa_query_t *query);
/* The standard errors. */
double pfa_spent_error(const pfa_spent_t *spent);
double pfa_spent_own_error(const pfa_spent_t *spent);

#endif
