/* The peak of a query: when its live bytes were largest, and which chunks were alive then. The same as `report` tells.
 *
 * Of several traces it is that of all together; if their times cannot be compared, of each by itself, and the sum of these.
 * It takes one walk, and a second one if pfa_summit_again says so (analyze/points/peak.h). */
#ifndef PFA_ANALYZE_POINTS_SUMMIT_H
#define PFA_ANALYZE_POINTS_SUMMIT_H

#include "analyze/query/query.h"

typedef struct pfa_summit pfa_summit_t;

pfa_summit_t *pfa_summit_new(const pfa_query_t *query);
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
/* Then: whether a chunk was alive at the peak. */
bool pfa_summit_alive(const pfa_summit_t *summit, const pfa_kind_t *kind, const pfa_chunk_t *chunk);

#endif
