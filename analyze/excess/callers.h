/* Who makes chunks: the first function outside allocation wrappers or, with --by, what the query's key tells apart. Each has a number:
 * of a routine, or of a group. */
#ifndef PFA_ANALYZE_EXCESS_CALLERS_H
#define PFA_ANALYZE_EXCESS_CALLERS_H

#include "analyze/excess/cells.h"
#include "analyze/excess/routines.h"
#include "analyze/query/query.h"

typedef struct pfa_callers {
    pfa_query_t *query;
    pfa_routines_t routines;
} pfa_callers_t;

/* What they are called by: "caller", or the name of the key. */
const char *pfa_callers_kind(const pfa_callers_t *callers);
bool pfa_callers_are_routines(const pfa_callers_t *callers);
/* That of a cell's chunks. */
uint32_t pfa_callers_of(pfa_callers_t *callers, const pfa_object_cell_t *cell);
const char *pfa_callers_name(const pfa_callers_t *callers, uint32_t caller);

#endif
