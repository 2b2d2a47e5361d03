/* Owns the nodes of expressions, each of which is there once. See analyze/query/where_graph.h. */
#include "analyze/query/where_graph.h"
#include "analyze/base/memory.h"
#include "analyze/base/slots.h"

#include <stdlib.h>
#include <string.h>

static bool has_children(const pfa_graph_node_t *node)
{
    return node->op == PFA_GRAPH_AND || node->op == PFA_GRAPH_OR;
}

static uint64_t bits_of(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static uint64_t hash_node(const pfa_graph_node_t *node, const uint32_t *children)
{
    uint64_t hash = pfa_hash_mix(node->op, node->field);
    hash = pfa_hash_mix(pfa_hash_mix(hash, bits_of(node->low)), bits_of(node->high));
    hash = pfa_hash_mix(hash, node->count);
    if (!has_children(node)) {
        return pfa_hash_mix(hash, node->first);
    }
    for (uint32_t i = 0; i < node->count; i++) {
        hash = pfa_hash_mix(hash, children[i]);
    }
    return hash;
}

static bool is_same(const pfa_graph_t *graph, const pfa_graph_node_t *one, const pfa_graph_node_t *other,
                    const uint32_t *children)
{
    if (one->op != other->op || one->field != other->field || one->count != other->count ||
        bits_of(one->low) != bits_of(other->low) || bits_of(one->high) != bits_of(other->high)) {
        return false;
    }
    return has_children(one) ? memcmp(graph->children + one->first, children, one->count * sizeof *children) == 0
                             : one->first == other->first;
}

static void measure(const pfa_graph_t *graph, pfa_graph_node_t *node, const uint32_t *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const pfa_graph_node_t *part = &graph->nodes[parts[i]];
        node->steps |= part->steps;
        node->depth = part->depth >= node->depth ? (uint16_t)(part->depth + 1) : node->depth;
    }
}

/* The number of a node that is like this one. `children` are of AND and OR. */
static uint32_t put(pfa_graph_t *graph, pfa_graph_node_t *node, const uint32_t *children)
{
    uint64_t hash = hash_node(node, children);
    pfa_probe_t probe = pfa_slots_probe(&graph->slots, hash);
    while (pfa_slots_next(&graph->slots, &probe)) {
        if (is_same(graph, &graph->nodes[probe.number], node, children)) {
            return probe.number;
        }
    }
    if (has_children(node)) {
        graph->children = pfa_memory_grow(graph->children, &graph->child_room, graph->child_count + node->count,
                                          sizeof *graph->children);
        node->first = (uint32_t)graph->child_count;
        memcpy(graph->children + node->first, children, node->count * sizeof *children);
        graph->child_count += node->count;
        measure(graph, node, children, node->count);
    }
    graph->nodes = pfa_memory_grow(graph->nodes, &graph->room, graph->count + 1, sizeof *graph->nodes);
    graph->nodes[graph->count] = *node;
    pfa_slots_put(&graph->slots, hash, (uint32_t)graph->count);
    return (uint32_t)graph->count++;
}

void pfa_graph_begin(pfa_graph_t *graph)
{
    *graph = (pfa_graph_t){.nodes = NULL};
    for (uint32_t i = PFA_GRAPH_FALSE; i <= PFA_GRAPH_TRUE; i++) {
        pfa_graph_node_t node = {.op = PFA_GRAPH_CONSTANT, .first = i};
        (void)put(graph, &node, NULL);
    }
}

void pfa_graph_free(pfa_graph_t *graph)
{
    pfa_memory_free(graph->nodes);
    pfa_memory_free(graph->children);
    pfa_slots_free(&graph->slots);
    pfa_memory_free(graph->sets);
    pfa_texts_free(&graph->texts);
    *graph = (pfa_graph_t){.nodes = NULL};
}

void pfa_graph_cut(pfa_graph_t *graph, size_t count, size_t child_count)
{
    graph->count = count;
    graph->child_count = child_count;
    pfa_slots_free(&graph->slots);
    for (size_t i = 0; i < count; i++) {
        const pfa_graph_node_t *node = &graph->nodes[i];
        const uint32_t *children = has_children(node) ? graph->children + node->first : NULL;
        pfa_slots_put(&graph->slots, hash_node(node, children), (uint32_t)i);
    }
}

const char *pfa_graph_keep(pfa_graph_t *graph, const char *text, size_t size)
{
    uint32_t number = pfa_texts_put(&graph->texts, text, size);
    return graph->texts.list[number];
}

uint32_t pfa_graph_number(pfa_graph_t *graph, pfa_field_t field, double low, double high)
{
    pfa_graph_node_t node = {.op = PFA_GRAPH_NUMBER,
                             .field = (uint8_t)field,
                             .low = low,
                             .high = high,
                             .steps = UINT64_C(1) << pfa_field_step(field)};
    return put(graph, &node, NULL);
}

uint32_t pfa_graph_text(pfa_graph_t *graph, pfa_field_t field, bool somewhere, const char *pattern, size_t size)
{
    pfa_graph_node_t node = {.op = PFA_GRAPH_TEXT,
                             .field = (uint8_t)field,
                             .first = pfa_texts_put(&graph->texts, pattern, size),
                             .count = somewhere,
                             .steps = UINT64_C(1) << pfa_field_step(field)};
    return put(graph, &node, NULL);
}

uint32_t pfa_graph_member(pfa_graph_t *graph, uint32_t set, unsigned depth)
{
    pfa_graph_node_t node = {.op = PFA_GRAPH_SET, .first = set, .steps = UINT64_C(1) << PFA_STEP_STACK};
    node.depth = (uint16_t)depth;
    return put(graph, &node, NULL);
}

/* Of a set's point all chunks have the same stack: what depends on nothing else needs no set. */
uint32_t pfa_graph_set(pfa_graph_t *graph, const pfa_graph_set_t *set)
{
    size_t i = 0;
    uint64_t others = graph->nodes[set->where].steps & ~(UINT64_C(1) << PFA_STEP_STACK);
    if (set->file == NULL && set->top == 0 && others == 0) {
        return set->where;
    }
    while (i < graph->set_count && (graph->sets[i].file != set->file || graph->sets[i].metric != set->metric ||
                                    graph->sets[i].where != set->where || graph->sets[i].top != set->top)) {
        i++;
    }
    if (i == graph->set_count) {
        graph->sets = pfa_memory_grow(graph->sets, &graph->set_room, graph->set_count + 1, sizeof *graph->sets);
        graph->sets[graph->set_count++] = *set;
    }
    return pfa_graph_member(graph, (uint32_t)i, graph->nodes[set->where].depth + 1u);
}

uint32_t pfa_graph_not(pfa_graph_t *graph, uint32_t node)
{
    if (node <= PFA_GRAPH_TRUE) {
        return node == PFA_GRAPH_FALSE ? PFA_GRAPH_TRUE : PFA_GRAPH_FALSE;
    }
    if (graph->nodes[node].op == PFA_GRAPH_NOT) {
        return graph->nodes[node].first;
    }
    pfa_graph_node_t opposite = {.op = PFA_GRAPH_NOT, .first = node};
    measure(graph, &opposite, &node, 1);
    return put(graph, &opposite, NULL);
}

static int compare_nodes(const void *one, const void *other)
{
    uint32_t a = *(const uint32_t *)one;
    uint32_t b = *(const uint32_t *)other;
    return (a > b) - (a < b);
}

static void sort_nodes(uint32_t *list, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (list[i - 1] > list[i]) {
            qsort(list, count, sizeof *list, compare_nodes);
            return;
        }
    }
}

uint32_t pfa_graph_list(pfa_graph_t *graph, pfa_graph_op_t op, uint32_t *list, size_t count)
{
    uint32_t neutral = op == PFA_GRAPH_AND ? PFA_GRAPH_TRUE : PFA_GRAPH_FALSE;
    uint32_t strong = op == PFA_GRAPH_AND ? PFA_GRAPH_FALSE : PFA_GRAPH_TRUE;
    size_t kept = 0;
    sort_nodes(list, count);
    for (size_t i = 0; i < count; i++) {
        if (list[i] == strong) {
            return strong;
        }
        if (list[i] != neutral && (kept == 0 || list[kept - 1] != list[i])) {
            list[kept++] = list[i];
        }
    }
    if (kept <= 1) {
        return kept == 0 ? neutral : list[0];
    }
    pfa_graph_node_t node = {.op = (uint8_t)op, .count = (uint32_t)kept};
    return put(graph, &node, list);
}
