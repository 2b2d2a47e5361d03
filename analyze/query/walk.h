/* What the files of the query share. For analyze/query alone. */
#ifndef PFA_ANALYZE_QUERY_WALK_H
#define PFA_ANALYZE_QUERY_WALK_H

#include "analyze/query/query.h"

/* Says why a source is no longer one, and takes it away. */
void pfa_query_drop(pfa_query_t *query, size_t number, const char *why, pfa_trouble_t trouble);
/* Fills the sets that the query's expression asks for. False: one of them cannot be had, which was said. */
bool pfa_query_find_sets(pfa_query_t *query);
/* The texts of a field of a kind, for expressions: `to` is a pfa_asked_t. */
typedef struct pfa_asked {
    pfa_query_t *query;
    const pfa_kind_t *kind;
    pfa_lines_t lines; /* room */
} pfa_asked_t;
bool pfa_query_any_text(void *to, pfa_field_t field, bool (*match)(void *with, const char *text), void *with);

#endif
