/* Owns the counting and the order of the allocation call graph. See analyze/mprof/callgraph.h.
 *
 * The paper's monitor kept a sum for each caller/callee pair, not for each stack, and so counted a pair twice that is on a
 * stack twice (its Figure 6). Merging each strongly connected component to one node made that good: between components no pair
 * is on a stack twice, since a stack that leaves a component and comes back would have made it larger. The same holds here,
 * with the same result as if whole stacks were kept and each was counted once for every arc of the merged graph:
 *
 *   - an arc between components is on a stack at most once, so its sum is exact as it is counted;
 *   - arcs within one are met again and again, so only their calls are told, never their bytes;
 *   - what a function allocated with its descendents is counted once per stack (`seen`), members of cycles too;
 *   - what a cycle allocated so is what came in by arcs from outside, and what began in it.
 *
 * A function that calls itself and no other that calls it back is no cycle: its calls to itself are its `recur`. */
#include "analyze/mprof/callgraph.h"
#include "analyze/base/memory.h"
#include "analyze/base/slots.h"

#include <stdlib.h>
#include <string.h>

void pfa_callgraph_begin(pfa_callgraph_t *graph)
{
    *graph = (pfa_callgraph_t){.nodes = NULL};
}

void pfa_callgraph_free(pfa_callgraph_t *graph)
{
    pfa_memory_free(graph->nodes);
    pfa_memory_free(graph->arcs);
    pfa_slots_free(&graph->slots);
    pfa_memory_free(graph->members);
    pfa_memory_free(graph->arcs_in);
    pfa_memory_free(graph->arcs_out);
    pfa_memory_free(graph->order);
    *graph = (pfa_callgraph_t){.nodes = NULL};
}

pfa_callarc_t *pfa_callgraph_arc(pfa_callgraph_t *graph, uint32_t caller, uint32_t callee)
{
    uint64_t hash = pfa_hash_mix(caller, callee);
    pfa_probe_t probe = pfa_slots_probe(&graph->slots, hash);
    while (pfa_slots_next(&graph->slots, &probe)) {
        pfa_callarc_t *arc = &graph->arcs[probe.number];
        if (arc->caller == caller && arc->callee == callee) {
            return arc;
        }
    }
    graph->arcs = pfa_memory_grow(graph->arcs, &graph->arc_room, graph->arc_count + 1, sizeof *graph->arcs);
    graph->arcs[graph->arc_count] = (pfa_callarc_t){.caller = caller, .callee = callee};
    pfa_slots_put(&graph->slots, hash, (uint32_t)graph->arc_count);
    return &graph->arcs[graph->arc_count++];
}

static pfa_callnode_t *make_function(pfa_callgraph_t *graph, uint32_t number)
{
    graph->nodes = pfa_memory_grow(graph->nodes, &graph->node_room, (size_t)number + 1, sizeof *graph->nodes);
    graph->function_count = number >= graph->function_count ? number + 1 : graph->function_count;
    return &graph->nodes[number];
}

void pfa_callgraph_add(pfa_callgraph_t *graph, const uint32_t *functions, size_t count, const pfa_sum_t *sum)
{
    uint32_t chain = ++graph->chains;
    pfa_sum_join(&graph->total, sum);
    for (size_t i = 0; i < count; i++) {
        pfa_callnode_t *node = make_function(graph, functions[i]);
        if (node->seen != chain) {
            node->seen = chain;
            pfa_sum_join(&node->all, sum);
        }
        if (i != 0) {
            pfa_sum_join(&pfa_callgraph_arc(graph, functions[i], functions[i - 1])->sum, sum);
        }
    }
    pfa_sum_join(&graph->nodes[functions[0]].self, sum);
    pfa_sum_join(&graph->nodes[functions[count - 1]].begun, sum);
}

/* What sorting is told. */
typedef struct sorting {
    pfa_callgraph_t *graph;
    pfa_callgraph_compare_t *compare;
    void *to;
    pfa_sort_t sort;
    bool callers; /* arcs by the callee, then in the order of their callers; else the other way round */
} sorting_t;

static int compare_numbers(uint32_t left, uint32_t right)
{
    return left < right ? -1 : left > right;
}

/* By bytes as the paper says, unless something else was asked for: callers come before what they call, and a cycle before its
 * members. By name, cycles come first. */
static int compare_nodes(const void *a, const void *b, void *to)
{
    const sorting_t *sorting = to;
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    const pfa_callnode_t *one = &sorting->graph->nodes[left];
    const pfa_callnode_t *other = &sorting->graph->nodes[right];
    bool by_name = sorting->sort == PFA_SORT_NAME;
    int result = by_name ? 0 : pfa_sum_compare(&one->all, &other->all, sorting->sort);
    result = result != 0 || by_name ? result : compare_numbers(one->level, other->level);
    bool cycles = pfa_callgraph_is_cycle(sorting->graph, left) || pfa_callgraph_is_cycle(sorting->graph, right);
    if (result != 0 || !cycles) {
        return result != 0 ? result : sorting->compare(sorting->to, left, right);
    }
    return compare_numbers(right, left); /* cycles have the highest numbers */
}

static void number_nodes(sorting_t *sorting)
{
    pfa_callgraph_t *graph = sorting->graph;
    uint32_t count = pfa_callgraph_nodes(graph);
    graph->order = pfa_memory_get(count, sizeof *graph->order);
    for (uint32_t i = 0; i < count; i++) {
        if (graph->nodes[i].seen != 0 || pfa_callgraph_is_cycle(graph, i)) {
            graph->order[graph->order_count++] = i;
        }
    }
    qsort_r(graph->order, graph->order_count, sizeof *graph->order, compare_nodes, sorting);
    for (uint32_t i = 0, cycles = 0; i < graph->order_count; i++) {
        pfa_callnode_t *node = &graph->nodes[graph->order[i]];
        node->index = i;
        node->number = pfa_callgraph_is_cycle(graph, graph->order[i]) ? ++cycles : 0;
    }
}

/* Those within a cycle have no bytes to tell: they stand at the entry's far end, by calls. */
static int compare_arcs(const void *a, const void *b, void *to)
{
    const sorting_t *sorting = to;
    const pfa_callarc_t *left = &sorting->graph->arcs[*(const uint32_t *)a];
    const pfa_callarc_t *right = &sorting->graph->arcs[*(const uint32_t *)b];
    int result =
        sorting->callers ? compare_numbers(left->callee, right->callee) : compare_numbers(left->caller, right->caller);
    if (result != 0 || left->within != right->within) {
        return result != 0 ? result : left->within - right->within;
    }
    result = left->within ? pfa_sum_falling(left->sum.chunks, right->sum.chunks)
                          : pfa_sum_compare(&left->sum, &right->sum, PFA_SORT_BYTES);
    const pfa_callnode_t *nodes = sorting->graph->nodes;
    uint32_t one = sorting->callers ? left->caller : left->callee;
    uint32_t other = sorting->callers ? right->caller : right->callee;
    return result != 0 ? result : compare_numbers(nodes[one].index, nodes[other].index);
}

/* An arc that ends in a cycle's own node is told there only: its other end tells the member. */
static uint32_t *sort_arcs(sorting_t *sorting, bool callers)
{
    pfa_callgraph_t *graph = sorting->graph;
    uint32_t *list = pfa_memory_get(graph->arc_count, sizeof *list);
    size_t count = 0;
    for (size_t i = 0; i < graph->arc_count; i++) {
        const pfa_callarc_t *arc = &graph->arcs[i];
        uint32_t far = callers ? arc->caller : arc->callee;
        if (arc->caller != arc->callee && !pfa_callgraph_is_cycle(graph, far)) {
            list[count++] = (uint32_t)i;
        }
    }
    sorting->callers = callers;
    qsort_r(list, count, sizeof *list, compare_arcs, sorting);
    for (size_t i = count; i-- > 0;) {
        const pfa_callarc_t *arc = &graph->arcs[list[i]];
        pfa_callnode_t *node = &graph->nodes[callers ? arc->callee : arc->caller];
        *(callers ? &node->first_in : &node->first_out) = (uint32_t)i;
        (*(callers ? &node->in_count : &node->out_count))++;
    }
    return list;
}

static int compare_members(const void *a, const void *b, void *to)
{
    const sorting_t *sorting = to;
    const pfa_callnode_t *left = &sorting->graph->nodes[*(const uint32_t *)a];
    const pfa_callnode_t *right = &sorting->graph->nodes[*(const uint32_t *)b];
    int result = compare_numbers(left->cycle, right->cycle);
    result = result != 0 ? result : pfa_sum_compare(&left->self, &right->self, PFA_SORT_BYTES);
    return result != 0 ? result : compare_numbers(left->index, right->index);
}

static void list_members(sorting_t *sorting)
{
    pfa_callgraph_t *graph = sorting->graph;
    uint32_t count = 0;
    graph->members = pfa_memory_get(graph->function_count, sizeof *graph->members);
    for (uint32_t i = 0; i < graph->function_count; i++) {
        if (graph->nodes[i].cycle != PFA_NO_CYCLE) {
            graph->members[count++] = i;
        }
    }
    qsort_r(graph->members, count, sizeof *graph->members, compare_members, sorting);
    for (uint32_t i = count; i-- > 0;) {
        pfa_callnode_t *cycle = &graph->nodes[graph->nodes[graph->members[i]].cycle];
        cycle->first_member = i;
        cycle->member_count++;
    }
}

void pfa_callgraph_finish(pfa_callgraph_t *graph, pfa_sort_t sort, pfa_callgraph_compare_t *compare, void *to)
{
    sorting_t sorting = {.graph = graph, .compare = compare, .to = to, .sort = sort};
    pfa_callgraph_merge(graph);
    number_nodes(&sorting);
    list_members(&sorting);
    graph->arcs_in = sort_arcs(&sorting, true);
    graph->arcs_out = sort_arcs(&sorting, false);
}
