/* The parts of the parser of --where: values with units, expressions, names of queries and what is near them. */
#ifndef PFA_ANALYZE_QUERY_WHERE_PARSE_H
#define PFA_ANALYZE_QUERY_WHERE_PARSE_H

#include "analyze/query/where_graph.h"
#include "analyze/query/where_lex.h"

typedef struct pfa_parse {
    pfa_lex_t lex;
    pfa_graph_t *graph;
    pfa_where_names_t *names; /* NULL: none */
    unsigned depth;
    uint32_t *list; /* nodes that are being gathered */
    size_t list_count;
    size_t list_room;
} pfa_parse_t;

/* Reads the expression that is all of parse->lex. PFA_GRAPH_NONE: lex.why tells the error. */
uint32_t pfa_parse_all(pfa_parse_t *parse);
/* What is asked for with one more that is to hold too; `before` may be PFA_GRAPH_NONE. */
uint32_t pfa_parse_join(pfa_parse_t *parse, uint32_t before, uint32_t node);
void pfa_parse_free(pfa_parse_t *parse);
/* Whether a word belongs to the language and can be no name. */
bool pfa_parse_is_reserved(const char *word, size_t size);

/* Reads a number with its unit from *at on, and moves *at behind it. False: an error was told. */
bool pfa_value_read(pfa_lex_t *lex, pfa_field_t field, size_t *at, double *value);

/* A named query, or PFA_GRAPH_NONE. */
uint32_t pfa_where_names_find(const pfa_where_names_t *names, const char *name, size_t size);
/* The line where the file that is being read defines a name; 0: nowhere. */
size_t pfa_where_names_later(const pfa_where_names_t *names, const char *name, size_t size);
/* " (did you mean 'size'?)", or "": into `text`, which is returned. */
enum { PFA_NEAR_TEXT = 96 };
const char *pfa_where_names_near(const pfa_where_names_t *names, bool only_fields, const char *name, size_t size,
                                 char text[PFA_NEAR_TEXT]);
pfa_graph_t *pfa_where_names_graph(pfa_where_names_t *names);
/* What is asked for, see pfa_where_parse; PFA_GRAPH_NONE: nothing is. */
uint32_t pfa_where_names_main(const pfa_where_names_t *names);

/* What can be asked: the part of a graph that a node is made of, on its own. NULL: it needs more sets than there may be. */
pfa_where_t *pfa_where_compile(const pfa_graph_t *graph, uint32_t node);

#endif
