/* Which points of two sides are the same. For analyze/diff alone. */
#ifndef PFA_ANALYZE_DIFF_MATCH_H
#define PFA_ANALYZE_DIFF_MATCH_H

#include "analyze/diff/compare.h"

typedef struct pfa_match {
    uint32_t **pair_of; /* by run (the base's, then the new ones) and point: the number of its pair */
    bool *loose;        /* by pair */
    size_t count;       /* of pairs */
} pfa_match_t;

void pfa_match_make(pfa_match_t *match, const pfa_side_t sides[PFA_SIDES]);
void pfa_match_free(pfa_match_t *match, const pfa_side_t sides[PFA_SIDES]);

#endif
