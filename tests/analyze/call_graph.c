/* The engine of `profalloc mprof` by itself. Reads stacks from standard input, a line each: chunks, the size of each, and the
 * numbers of the functions, the innermost first. Prints the graph, functions by their number and cycles as c1, c2 ...:
 *
 *   node NAME CYCLE called made recur below, then self and all: chunks bytes s m l x     in the order of the listing; CYCLE - for none
 *   members NAME NAME...                                                                 behind the node of a cycle
 *   in NAME WITHIN chunks bytes s m l x                                                  behind each node: its callers,
 *   out ...                                                                              and what it calls */
/* sources: analyze/mprof/callgraph.c analyze/mprof/cycles.c analyze/base/slots.c analyze/base/memory.c analyze/base/notes.c analyze/base/progress.c analyze/base/text.c */
#include "analyze/mprof/callgraph.h"
#include "analyze/base/memory.h"
#include "tests/checked.h"

#include <string.h>

static int compare(void *to, uint32_t left, uint32_t right)
{
    (void)to;
    return left < right ? -1 : left > right;
}

static void read_stacks(pfa_callgraph_t *graph)
{
    char *line = NULL;
    size_t room = 0;
    uint32_t *functions = NULL;
    size_t function_room = 0;
    while (getline(&line, &room, stdin) > 0) {
        char *at = line;
        size_t count = 0;
        pfa_sum_t sum = {.chunks = 0};
        double chunks = strtod(at, &at);
        pfa_sum_add(&sum, chunks, 1, strtod(at, &at));
        for (char *next; strtoul(at, &next, 10), next != at; at = next) {
            functions = pfa_memory_grow(functions, &function_room, count + 1, sizeof *functions);
            functions[count++] = (uint32_t)strtoul(at, NULL, 10);
        }
        must(count != 0);
        pfa_callgraph_add(graph, functions, count, &sum);
    }
    pfa_memory_free(functions);
    free(line);
}

static void print_name(const pfa_callgraph_t *graph, uint32_t node)
{
    if (pfa_callgraph_is_cycle(graph, node)) {
        printf(" c%u", graph->nodes[node].number);
    } else {
        printf(" %u", node);
    }
}

static void print_sum(const pfa_sum_t *sum)
{
    printf(" %.17g %.17g", sum->chunks, sum->bytes);
    for (size_t i = 0; i < PFA_SIZE_CLASSES; i++) {
        printf(" %.17g", sum->classes[i]);
    }
}

static void print_arcs(const pfa_callgraph_t *graph, const char *word, const uint32_t *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const pfa_callarc_t *arc = &graph->arcs[list[i]];
        printf("%s", word);
        print_name(graph, strcmp(word, "in") == 0 ? arc->caller : arc->callee);
        printf(" %d", arc->within);
        print_sum(&arc->sum);
        putchar('\n');
    }
}

static void print_node(const pfa_callgraph_t *graph, uint32_t number)
{
    const pfa_callnode_t *node = &graph->nodes[number];
    printf("node");
    print_name(graph, number);
    if (node->cycle != PFA_NO_CYCLE) {
        print_name(graph, node->cycle);
    } else {
        printf(" -");
    }
    printf(" %.17g %.17g %.17g %.17g", node->called, node->made, node->recur, node->below);
    print_sum(&node->self);
    print_sum(&node->all);
    printf("\n%s", node->member_count != 0 ? "members" : "");
    for (uint32_t i = 0; i < node->member_count; i++) {
        print_name(graph, graph->members[node->first_member + i]);
    }
    printf("%s", node->member_count != 0 ? "\n" : "");
    print_arcs(graph, "in", &graph->arcs_in[node->first_in], node->in_count);
    print_arcs(graph, "out", &graph->arcs_out[node->first_out], node->out_count);
}

int main(void)
{
    pfa_callgraph_t graph;
    pfa_callgraph_begin(&graph);
    read_stacks(&graph);
    pfa_callgraph_finish(&graph, PFA_SORT_PAPER, compare, NULL);
    for (uint32_t i = 0; i < graph.order_count; i++) {
        must(graph.nodes[graph.order[i]].index == i);
        print_node(&graph, graph.order[i]);
    }
    pfa_callgraph_free(&graph);
    return 0;
}
