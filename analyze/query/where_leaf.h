/* What the two halves of the grammar of --where know of each other: expressions, and what they are made of. */
#ifndef PFA_ANALYZE_QUERY_WHERE_LEAF_H
#define PFA_ANALYZE_QUERY_WHERE_LEAF_H

#include "analyze/query/where_parse.h"

uint32_t pfa_parse_pipe(pfa_parse_t *parse);
uint32_t pfa_parse_unary(pfa_parse_t *parse);
uint32_t pfa_parse_brackets(pfa_parse_t *parse);
/* Tells that something is missing before the token. Returns PFA_GRAPH_NONE. */
uint32_t pfa_parse_fail(pfa_parse_t *parse, const char *what);

/* A comparison, a flag, `point in ...`, `all`, `none`, or a named query. */
uint32_t pfa_parse_leaf(pfa_parse_t *parse);

#endif
