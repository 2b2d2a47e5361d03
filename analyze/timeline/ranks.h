/* Which groups of a timeline are the largest: what each had at the ends of buckets, in a table of bounded size. Where groups are
 * too many for that, buckets are put together two by two, so that peaks are seen less sharply. */
#ifndef PFA_ANALYZE_TIMELINE_RANKS_H
#define PFA_ANALYZE_TIMELINE_RANKS_H

#include "analyze/timeline/timeline.h"

typedef struct pfa_ranks {
    double whole_ns;
    size_t buckets;  /* times are told apart by, */
    unsigned shift;  /* 2 to the power of this of them have one place in a row */
    size_t width;    /* so many places */
    double *changes; /* of bytes alive, by group and place */
    size_t room;
    struct pfa_ranks_total *totals; /* by group: all chunks, also those that are never alive at an end */
    size_t count;                   /* groups that were met, by the highest of them */
    size_t total_room;
} pfa_ranks_t;

pfa_ranks_t pfa_ranks_begin(double whole_ns, size_t buckets);
void pfa_ranks_free(pfa_ranks_t *ranks);
void pfa_ranks_add(pfa_ranks_t *ranks, const pfa_kind_t *kind, const pfa_chunk_t *chunk);
/* All groups that have chunks, of which the first `top` are in order; the caller frees it. */
uint32_t *pfa_ranks_order(const pfa_ranks_t *ranks, pfa_query_t *query, pfa_strand_sort_t sort, size_t top,
                          size_t *count);

#endif
