/* Owns the numbers of what expressions ask. Names are gone once an expression is compiled, and each part of it is
 * there once, so that one pass over its nodes is enough. */
#include "analyze/query/where_program.h"
#include "analyze/base/memory.h"
#include "export/format/trace.h"

#include <stdlib.h>
#include <string.h>

static uint64_t ask(const pfa_where_t *where, const uint64_t *sets);

static uint64_t mix_text(uint64_t hash, const char *text)
{
    return pfa_checksum_mix(hash, text != NULL ? pfa_checksum(0, text, strlen(text)) : 1);
}

static uint64_t mix_number(uint64_t hash, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return pfa_checksum_mix(hash, bits);
}

/* Which comes first says nothing: a sum is the same in each order. */
static uint64_t sum_list(const pfa_graph_t *graph, const pfa_graph_node_t *node, const uint64_t *known)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < node->count; i++) {
        sum += pfa_checksum_mix(5, known[graph->children[node->first + i]]);
    }
    return sum;
}

/* `known` has what it is made of; fields go by name, since their numbers are of this build. */
static uint64_t ask_node(const pfa_graph_t *graph, uint32_t number, const uint64_t *known, const uint64_t *sets)
{
    const pfa_graph_node_t *node = &graph->nodes[number];
    uint64_t hash = pfa_checksum_mix(7, node->op);
    switch (node->op) {
    case PFA_GRAPH_NUMBER:
        return mix_number(mix_number(mix_text(hash, pfa_field_facts[node->field].name), node->low), node->high);
    case PFA_GRAPH_TEXT:
        hash = pfa_checksum_mix(mix_text(hash, pfa_field_facts[node->field].name), node->count != 0);
        return mix_text(hash, graph->texts.list[node->first]);
    case PFA_GRAPH_SET:
        return pfa_checksum_mix(hash, sets[node->first]);
    case PFA_GRAPH_NOT:
        return pfa_checksum_mix(hash, known[node->first]);
    case PFA_GRAPH_AND:
    case PFA_GRAPH_OR:
        return pfa_checksum_mix(hash, sum_list(graph, node, known));
    default:
        return pfa_checksum_mix(hash, number == PFA_GRAPH_TRUE);
    }
}

/* A set needs none but those before it; that of another trace has its own. */
static uint64_t *ask_sets(const pfa_where_t *where)
{
    uint64_t *sets = pfa_memory_get(where->set_count, sizeof *sets);
    for (size_t i = 0; i < where->set_count; i++) {
        const pfa_where_set_t *set = &where->sets[i];
        uint64_t asked = set->where == NULL  ? 0
                         : set->file != NULL ? pfa_where_identity(set->where)
                                             : ask(set->where, sets);
        sets[i] = mix_text(mix_text(pfa_checksum_mix(asked, set->top), set->metric), set->file);
    }
    return sets;
}

static uint64_t ask(const pfa_where_t *where, const uint64_t *sets)
{
    uint64_t *known = pfa_memory_get(where->node_count, sizeof *known);
    for (uint32_t i = 0; i < where->node_count; i++) {
        known[i] = ask_node(&where->graph, i, known, sets);
    }
    uint64_t asked = known[where->root];
    pfa_memory_free(known);
    return asked;
}

uint64_t pfa_where_identity(const pfa_where_t *where)
{
    if (where == NULL) {
        return 0;
    }
    uint64_t *sets = ask_sets(where);
    uint64_t asked = ask(where, sets);
    pfa_memory_free(sets);
    return asked;
}
