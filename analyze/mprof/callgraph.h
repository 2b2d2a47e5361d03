/* The allocation call graph: functions that were on the stack when memory was allocated, and who called whom then.
 *
 *   node    a function, or a cycle: functions that call each other, directly or not (a strongly connected component)
 *   arc     a caller and a callee
 *   within  of an arc: both are in the same cycle, or they are the same function
 *
 * Nothing here knows traces or names: chains are lists of numbers. Numbers below the number of functions are functions, the
 * cycles follow. One thread. */
#ifndef PFA_ANALYZE_MPROF_CALLGRAPH_H
#define PFA_ANALYZE_MPROF_CALLGRAPH_H

#include "analyze/mprof/sums.h"
#include "analyze/base/slots.h"

#include <stdbool.h>

enum { PFA_NO_CYCLE = UINT32_MAX };

typedef struct pfa_callnode {
    pfa_sum_t self;  /* allocated by the function itself */
    pfa_sum_t all;   /* by it and what it called: every stack that it is on, once */
    pfa_sum_t begun; /* of all: it has no caller there */
    uint32_t cycle;  /* the node of the cycle it is a member of; PFA_NO_CYCLE */
    uint32_t level;  /* callers have a lower one, but for those within a cycle, which have the same */
    uint32_t index;  /* its place in the listing */
    uint32_t number; /* of a cycle: 1 and up, in that order */
    uint32_t seen;   /* the last chain that it was met on */
    double called;   /* from outside its cycle, while allocating */
    double made;     /* calls to outside its cycle */
    double recur;    /* calls from within its cycle, or from itself */
    double below;    /* bytes that it asked of others outside its cycle */
    /* Arcs, in order of falling bytes: arcs_in[first_in] and so on. */
    uint32_t first_in;
    uint32_t in_count;
    uint32_t first_out;
    uint32_t out_count;
    /* Of a cycle: members[first_member] and so on, in order of falling bytes of their own. */
    uint32_t first_member;
    uint32_t member_count;
} pfa_callnode_t;

typedef struct pfa_callarc {
    uint32_t caller;
    uint32_t callee;
    bool within;   /* then all of the sum but chunks means nothing */
    pfa_sum_t sum; /* chunks: how often it was called while allocating */
} pfa_callarc_t;

typedef struct pfa_callgraph {
    pfa_callnode_t *nodes;
    size_t node_room;
    uint32_t function_count;
    uint32_t cycle_count; /* their nodes follow those of the functions */
    pfa_callarc_t *arcs;
    size_t arc_count;
    size_t arc_room;
    pfa_slots_t slots; /* arcs by caller and callee */
    uint32_t chains;
    pfa_sum_t total;
    /* Once it is finished. */
    uint32_t *members;
    uint32_t *arcs_in;
    uint32_t *arcs_out;
    uint32_t *order; /* nodes by index: those that were on any chain, and the cycles */
    uint32_t order_count;
} pfa_callgraph_t;

/* Which of two nodes with equal figures comes first: below 0, 0, above 0. Cycles are not asked. */
typedef int pfa_callgraph_compare_t(void *to, uint32_t left, uint32_t right);

void pfa_callgraph_begin(pfa_callgraph_t *graph);
void pfa_callgraph_free(pfa_callgraph_t *graph);
/* Counts what was allocated on a stack; functions from the innermost to the outermost, at least one. */
void pfa_callgraph_add(pfa_callgraph_t *graph, const uint32_t *functions, size_t count, const pfa_sum_t *sum);
/* Finds and merges cycles, and puts everything in order: the entries as asked, callers and callees by bytes. What was kept is
 * not known here. Nothing can be added after that. */
void pfa_callgraph_finish(pfa_callgraph_t *graph, pfa_sort_t sort, pfa_callgraph_compare_t *compare, void *to);

/* The strongly connected components of the arcs: a number for each function, callees before their callers. Returns how many
 * there are. (analyze/mprof/cycles.c) */
uint32_t pfa_callgraph_components(const pfa_callgraph_t *graph, uint32_t *component);
/* Nodes of cycles, and what is told of nodes that depends on who is in a cycle with whom. (analyze/mprof/cycles.c) */
void pfa_callgraph_merge(pfa_callgraph_t *graph);
/* The arc between two nodes, made if there was none. It stays where it is until the next is made. */
pfa_callarc_t *pfa_callgraph_arc(pfa_callgraph_t *graph, uint32_t caller, uint32_t callee);

static inline uint32_t pfa_callgraph_nodes(const pfa_callgraph_t *graph)
{
    return graph->function_count + graph->cycle_count;
}

static inline bool pfa_callgraph_is_cycle(const pfa_callgraph_t *graph, uint32_t node)
{
    return node >= graph->function_count;
}

#endif
