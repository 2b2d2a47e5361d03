/* What an expression of --where asks, as a number: the same whatever its brackets and the order of what it joins, with
 * whichever names and out of whichever file. Two that ask the same in other words have different ones. */
#ifndef PFA_ANALYZE_DIFF_ASKED_H
#define PFA_ANALYZE_DIFF_ASKED_H

#include "analyze/query/where.h"

/* NULL is all chunks, which is 0. */
uint64_t pfa_asked_of(const pfa_where_t *where);

#endif
