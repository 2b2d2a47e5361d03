/* Owns the cycles of the allocation call graph: finds the strongly connected components (Tarjan's algorithm, without
 * recursion: a graph can be as deep as the program's recursion) and makes a node of each that has several members. See
 * analyze/mprof/callgraph.h. */
#include "analyze/mprof/callgraph.h"
#include "analyze/base/memory.h"

#include <stdlib.h>

/* Where the search is in one function: which of its callees is next. */
typedef struct visit {
    uint32_t node;
    uint32_t next;
} visit_t;

typedef struct search {
    uint32_t *first; /* by function: its arcs to callees, in `callees`; one more for the end */
    uint32_t *callees;
    uint32_t *found; /* when each function was met: 1 and up; 0: not yet */
    uint32_t *low;   /* the earliest of its component that is known to be reachable */
    uint32_t *path;  /* functions whose component is not known yet */
    uint32_t path_count;
    visit_t *visits;
    uint32_t visit_count;
    uint32_t met;
    uint32_t components;
    uint32_t *component;
} search_t;

/* All callees in one list, by caller. */
static void list_callees(search_t *search, const pfa_callgraph_t *graph)
{
    search->first = pfa_memory_get((size_t)graph->function_count + 2, sizeof *search->first);
    search->callees = pfa_memory_get(graph->arc_count, sizeof *search->callees);
    for (size_t i = 0; i < graph->arc_count; i++) {
        search->first[graph->arcs[i].caller + 2]++;
    }
    for (uint32_t i = 2; i < graph->function_count + 2; i++) {
        search->first[i] += search->first[i - 1];
    }
    for (size_t i = 0; i < graph->arc_count; i++) {
        search->callees[search->first[graph->arcs[i].caller + 1]++] = graph->arcs[i].callee;
    }
}

static void enter(search_t *search, uint32_t node)
{
    search->found[node] = search->low[node] = ++search->met;
    search->path[search->path_count++] = node;
    search->visits[search->visit_count++] = (visit_t){.node = node, .next = search->first[node]};
}

/* If it is the first of its component that was met, the component is what is on the path from it on. */
static void leave(search_t *search, uint32_t node)
{
    uint32_t member;
    if (search->low[node] != search->found[node]) {
        return;
    }
    do {
        member = search->path[--search->path_count];
        search->component[member] = search->components;
        search->low[member] = UINT32_MAX; /* no longer on the path */
    } while (member != node);
    search->components++;
}

static void take_lower(search_t *search, uint32_t node, uint32_t low)
{
    search->low[node] = low < search->low[node] ? low : search->low[node];
}

static void search_from(search_t *search, uint32_t start)
{
    enter(search, start);
    while (search->visit_count != 0) {
        visit_t *visit = &search->visits[search->visit_count - 1];
        if (visit->next < search->first[visit->node + 1]) {
            uint32_t callee = search->callees[visit->next++];
            if (search->found[callee] == 0) {
                enter(search, callee);
            } else if (search->low[callee] != UINT32_MAX) {
                take_lower(search, visit->node, search->found[callee]);
            }
            continue;
        }
        uint32_t node = visit->node;
        uint32_t low = search->low[node];
        leave(search, node);
        if (--search->visit_count != 0) {
            take_lower(search, search->visits[search->visit_count - 1].node, low);
        }
    }
}

uint32_t pfa_callgraph_components(const pfa_callgraph_t *graph, uint32_t *component)
{
    size_t count = graph->function_count;
    search_t search = {.found = pfa_memory_get(count, sizeof(uint32_t)),
                       .low = pfa_memory_get(count, sizeof(uint32_t)),
                       .path = pfa_memory_get(count, sizeof(uint32_t)),
                       .visits = pfa_memory_get(count, sizeof(visit_t)),
                       .component = component};
    list_callees(&search, graph);
    for (uint32_t i = 0; i < count; i++) {
        if (search.found[i] == 0) {
            search_from(&search, i);
        }
    }
    pfa_memory_free(search.first);
    pfa_memory_free(search.callees);
    pfa_memory_free(search.found);
    pfa_memory_free(search.low);
    pfa_memory_free(search.path);
    pfa_memory_free(search.visits);
    return search.components;
}

/* Gives functions the node of their cycle. */
static void make_cycles(pfa_callgraph_t *graph, const uint32_t *component, uint32_t components)
{
    uint32_t *sizes = pfa_memory_get(components, sizeof *sizes);
    uint32_t *cycles = pfa_memory_get(components, sizeof *cycles);
    for (uint32_t i = 0; i < graph->function_count; i++) {
        sizes[component[i]]++;
    }
    for (uint32_t i = 0; i < components; i++) {
        cycles[i] = sizes[i] > 1 ? graph->function_count + graph->cycle_count++ : PFA_NO_CYCLE;
    }
    graph->nodes = pfa_memory_grow(graph->nodes, &graph->node_room, pfa_callgraph_nodes(graph), sizeof *graph->nodes);
    for (uint32_t i = 0; i < graph->function_count; i++) {
        graph->nodes[i].cycle = cycles[component[i]];
    }
    for (uint32_t i = 0; i < graph->cycle_count; i++) {
        graph->nodes[graph->function_count + i] = (pfa_callnode_t){.cycle = PFA_NO_CYCLE};
    }
    pfa_memory_free(sizes);
    pfa_memory_free(cycles);
}

/* Callers first: arcs in the order of their callers' components, the last one first. */
static void find_levels(pfa_callgraph_t *graph, const uint32_t *component, uint32_t components)
{
    uint32_t *levels = pfa_memory_get(components, sizeof *levels);
    uint32_t *first = pfa_memory_get((size_t)components + 2, sizeof *first);
    uint32_t *arcs = pfa_memory_get(graph->arc_count, sizeof *arcs);
    for (size_t i = 0; i < graph->arc_count; i++) {
        first[component[graph->arcs[i].caller] + 2]++;
    }
    for (uint32_t i = 2; i < components + 2; i++) {
        first[i] += first[i - 1];
    }
    for (size_t i = 0; i < graph->arc_count; i++) {
        arcs[first[component[graph->arcs[i].caller] + 1]++] = (uint32_t)i;
    }
    for (size_t i = graph->arc_count; i-- > 0;) {
        uint32_t caller = component[graph->arcs[arcs[i]].caller];
        uint32_t callee = component[graph->arcs[arcs[i]].callee];
        if (caller != callee && levels[callee] <= levels[caller]) {
            levels[callee] = levels[caller] + 1;
        }
    }
    for (uint32_t i = 0; i < graph->function_count; i++) {
        pfa_callnode_t *node = &graph->nodes[i];
        node->level = levels[component[i]];
        if (node->cycle != PFA_NO_CYCLE) {
            graph->nodes[node->cycle].level = node->level;
        }
    }
    pfa_memory_free(levels);
    pfa_memory_free(first);
    pfa_memory_free(arcs);
}

static void count_call(pfa_callgraph_t *graph, uint32_t caller, uint32_t callee, const pfa_sum_t *sum)
{
    graph->nodes[callee].called += sum->chunks;
    graph->nodes[caller].made += sum->chunks;
    graph->nodes[caller].below += sum->bytes;
}

static void count_arc(pfa_callgraph_t *graph, size_t number)
{
    pfa_callarc_t *arc = &graph->arcs[number];
    uint32_t caller_cycle = graph->nodes[arc->caller].cycle;
    uint32_t callee_cycle = graph->nodes[arc->callee].cycle;
    pfa_callarc_t copy = *arc; /* making arcs moves them */
    arc->within = arc->caller == arc->callee || (caller_cycle != PFA_NO_CYCLE && caller_cycle == callee_cycle);
    if (arc->within) {
        graph->nodes[arc->callee].recur += arc->sum.chunks;
        if (callee_cycle != PFA_NO_CYCLE) {
            graph->nodes[callee_cycle].recur += arc->sum.chunks;
        }
        return;
    }
    count_call(graph, copy.caller, copy.callee, &copy.sum);
    if (callee_cycle != PFA_NO_CYCLE) {
        pfa_sum_join(&pfa_callgraph_arc(graph, copy.caller, callee_cycle)->sum, &copy.sum);
        pfa_sum_join(&graph->nodes[callee_cycle].all, &copy.sum);
        graph->nodes[callee_cycle].called += copy.sum.chunks;
    }
    if (caller_cycle != PFA_NO_CYCLE) {
        pfa_sum_join(&pfa_callgraph_arc(graph, caller_cycle, copy.callee)->sum, &copy.sum);
        graph->nodes[caller_cycle].made += copy.sum.chunks;
        graph->nodes[caller_cycle].below += copy.sum.bytes;
    }
}

void pfa_callgraph_merge(pfa_callgraph_t *graph)
{
    uint32_t *component = pfa_memory_get(graph->function_count, sizeof *component);
    uint32_t components = pfa_callgraph_components(graph, component);
    size_t arc_count = graph->arc_count; /* of functions */
    make_cycles(graph, component, components);
    find_levels(graph, component, components);
    for (size_t i = 0; i < arc_count; i++) {
        count_arc(graph, i);
    }
    for (uint32_t i = 0; i < graph->function_count; i++) {
        const pfa_callnode_t *node = &graph->nodes[i];
        if (node->cycle != PFA_NO_CYCLE) {
            pfa_sum_join(&graph->nodes[node->cycle].self, &node->self);
            pfa_sum_join(&graph->nodes[node->cycle].begun, &node->begun);
            pfa_sum_join(&graph->nodes[node->cycle].all, &node->begun);
        }
    }
    pfa_memory_free(component);
}
