/* Expressions as a graph: each part that is the same is there once, however often it is written, so that names which use
 * names cost no more than their definitions. Constants are folded when a node is made.
 *
 * Nodes are numbers. A node comes after all that it is made of. */
#ifndef PFA_ANALYZE_QUERY_WHERE_GRAPH_H
#define PFA_ANALYZE_QUERY_WHERE_GRAPH_H

#include "analyze/base/texts.h"
#include "analyze/query/where_fields.h"

enum {
    PFA_GRAPH_FALSE,
    PFA_GRAPH_TRUE,
    PFA_GRAPH_DEEPEST = 1000,   /* functions that walk the graph call themselves as often */
    PFA_GRAPH_MOST_SETS = 4096, /* of all that is defined */
    PFA_GRAPH_MOST = 1 << 20    /* nodes of what is parsed */
};
#define PFA_GRAPH_NONE UINT32_MAX

typedef enum pfa_graph_op {
    PFA_GRAPH_CONSTANT,
    PFA_GRAPH_NUMBER, /* the field is from `low` to `high`, both included */
    PFA_GRAPH_TEXT,   /* a text of the field matches pattern `first`: as a whole, or, if `count`, somewhere in it */
    PFA_GRAPH_SET,    /* the chunk's point is in set `first` */
    PFA_GRAPH_NOT,    /* of `first` */
    PFA_GRAPH_AND,    /* of `count` nodes, in `children` from `first` on, in order of their numbers */
    PFA_GRAPH_OR
} pfa_graph_op_t;

typedef struct pfa_graph_node {
    uint8_t op;
    uint8_t field;
    uint16_t depth;
    uint32_t first;
    uint32_t count;
    uint64_t steps; /* a bit for each step that has a say in it */
    double low;
    double high;
} pfa_graph_node_t;

/* See pfa_where_set_t. Texts are of the graph's own. */
typedef struct pfa_graph_set {
    const char *file;
    const char *metric;
    uint32_t where;
    size_t top;
} pfa_graph_set_t;

typedef struct pfa_graph {
    pfa_graph_node_t *nodes;
    size_t count;
    size_t room;
    uint32_t *children;
    size_t child_count;
    size_t child_room;
    pfa_slots_t slots; /* of nodes */
    pfa_texts_t texts;
    pfa_graph_set_t *sets;
    size_t set_count;
    size_t set_room;
} pfa_graph_t;

void pfa_graph_begin(pfa_graph_t *graph);
void pfa_graph_free(pfa_graph_t *graph);
/* Forgets all nodes but the first `count`, with `child_count` children. */
void pfa_graph_cut(pfa_graph_t *graph, size_t count, size_t child_count);

uint32_t pfa_graph_number(pfa_graph_t *graph, pfa_field_t field, double low, double high);
uint32_t pfa_graph_text(pfa_graph_t *graph, pfa_field_t field, bool somewhere, const char *pattern, size_t size);
uint32_t pfa_graph_set(pfa_graph_t *graph, const pfa_graph_set_t *set);
/* The node of a set that somebody else keeps, by its number there. */
uint32_t pfa_graph_member(pfa_graph_t *graph, uint32_t set, unsigned depth);
uint32_t pfa_graph_not(pfa_graph_t *graph, uint32_t node);
/* AND or OR. The list is brought in order. */
uint32_t pfa_graph_list(pfa_graph_t *graph, pfa_graph_op_t op, uint32_t *list, size_t count);
/* The graph's own copy of a text. */
const char *pfa_graph_keep(pfa_graph_t *graph, const char *text, size_t size);

#endif
