/* The peak of a query: when its live bytes were largest, and which chunks were alive then.
 *
 * Of several traces it is that of all together; if their times cannot be compared, of each by itself, and the sum of these.
 * It takes one walk, and a second one if pfa_summit_again says so (analyze/points/peak.h). What is kept of a trace that needs no second
 * look is its result: there may be hundreds. */
#ifndef PFA_ANALYZE_POINTS_SUMMIT_H
#define PFA_ANALYZE_POINTS_SUMMIT_H

#include "analyze/points/peak.h"
#include "analyze/query/query.h"

typedef struct pfa_summit pfa_summit_t;

/* `each`: the peak of each trace by itself is asked for, too. */
pfa_summit_t *pfa_summit_new(const pfa_query_t *query, bool each);
void pfa_summit_free(pfa_summit_t *summit);

/* Of a walk: the beginning and end of a source, and each chunk. */
void pfa_summit_source(pfa_summit_t *summit, const pfa_source_t *source, const pfa_trace_t *trace, bool begins);
void pfa_summit_add(pfa_summit_t *summit, const pfa_kind_t *kind, const pfa_chunk_t *chunk);
/* After the first walk: whether there is to be a second. */
bool pfa_summit_again(pfa_summit_t *summit);

typedef struct pfa_summit_result {
    double bytes;
    double at_most; /* the same if it is exact */
    double seconds; /* since the first trace began, */
    bool one;       /* if there is one such time */
} pfa_summit_result_t;

/* After the last. */
pfa_summit_result_t pfa_summit_finish(pfa_summit_t *summit);
/* Then: the peak of a trace by itself, if that was asked for or there is no common time; and when it was, in seconds since it began. */
pfa_peak_result_t pfa_summit_of(const pfa_summit_t *summit, size_t number, double *seconds);
/* Whether the peak lies in this stretch of a trace's time. */
bool pfa_summit_within(const pfa_summit_t *summit, size_t number, uint64_t from, uint64_t end);
/* Whether a chunk was alive at the peak. */
bool pfa_summit_alive(const pfa_summit_t *summit, const pfa_kind_t *kind, const pfa_chunk_t *chunk);

#endif
