/* Owns the number by which an expression is the same as another one, however both were written: names and files are gone, and
 * what is joined has no order. */
#include "analyze/query/where_program.h"
#include "analyze/tool/tool.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15;
    return hash ^ hash >> 29;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; text != NULL && *text != '\0'; text++) {
        hash = mix(hash, (unsigned char)*text);
    }
    return mix(hash, text != NULL);
}

static uint64_t mix_number(uint64_t hash, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return mix(hash, bits);
}

static uint64_t identify_set(const pfa_where_set_t *set)
{
    uint64_t hash = mix_text(mix_text(mix(0, set->top), set->file), set->metric);
    return mix(hash, set->where != NULL ? pfa_where_identity(set->where) : 0);
}

/* `known` are those of all nodes before it. */
static uint64_t identify(const pfa_where_t *where, const pfa_graph_node_t *node, const uint64_t *known)
{
    uint64_t hash = mix(node->op, node->field);
    uint64_t sum = 0;
    switch (node->op) {
    case PFA_GRAPH_NUMBER:
        return mix_number(mix_number(hash, node->low), node->high);
    case PFA_GRAPH_TEXT:
        return mix(mix_text(hash, where->graph.texts.list[node->first]), node->count);
    case PFA_GRAPH_SET:
        return mix(hash, identify_set(&where->sets[node->first]));
    case PFA_GRAPH_NOT:
        return mix(hash, known[node->first]);
    case PFA_GRAPH_AND:
    case PFA_GRAPH_OR:
        for (uint32_t i = 0; i < node->count; i++) {
            sum += known[where->graph.children[node->first + i]];
        }
        return mix(hash, sum);
    default:
        return mix(hash, node->first);
    }
}

uint64_t pfa_where_identity(const pfa_where_t *where)
{
    uint64_t *known = pfa_memory_get(where->node_count, sizeof *known);
    for (size_t i = 0; i < where->node_count; i++) {
        known[i] = identify(where, &where->graph.nodes[i], known);
    }
    uint64_t identity = known[where->root];
    free(known);
    return identity;
}
