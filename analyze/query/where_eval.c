/* Owns the asking of kinds and chunks. See analyze/query/where_program.h.
 *
 * The costs that matter: pfa_where_kind looks up a map once for each step that has a say; pfa_where_chunk finds the class of each
 * number that is open and reads a byte. */
#include "analyze/query/where_program.h"
#include "analyze/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* What a step knows of a subject, as a number. */
static uint32_t find_id(pfa_where_t *where, const pfa_subject_t *subject, unsigned step)
{
    unsigned field = step - PFA_STEP_TEXTS;
    switch (step) {
    case PFA_STEP_NUMBERS:
        return (uint32_t)pfa_classes_find(&where->kinds, subject->numbers);
    case PFA_STEP_STACK:
        return subject->stack;
    case PFA_STEP_FREED:
        return subject->free_stack;
    default:
        return pfa_answers_find(&where->answers[field], subject, subject->ids[field]);
    }
}

static bool ask_text(pfa_where_t *where, uint32_t id)
{
    const pfa_graph_node_t *node = &where->graph.nodes[id];
    uint32_t bit = where->bits[id];
    if (where->rows[node->field] == NULL) {
        const pfa_subject_t *subject = where->subject;
        pfa_answers_t *answers = &where->answers[node->field];
        uint64_t whose = where->step == PFA_STEP_STACK   ? subject->stack
                         : where->step == PFA_STEP_FREED ? subject->free_stack
                                                         : subject->ids[node->field];
        where->rows[node->field] = pfa_answers_bits(answers, pfa_answers_find(answers, subject, whose));
    }
    return (where->rows[node->field][bit / 64] >> bit % 64 & 1) != 0;
}

static bool ask_set(const pfa_where_t *where, const pfa_graph_node_t *node)
{
    const pfa_where_set_t *set = &where->sets[node->first];
    return where->subject->stack < set->room && set->stacks[where->subject->stack];
}

static uint32_t reduce(pfa_where_t *where, uint32_t id);

static uint32_t reduce_list(pfa_where_t *where, const pfa_graph_node_t *node)
{
    uint32_t strong = node->op == PFA_GRAPH_AND ? PFA_GRAPH_FALSE : PFA_GRAPH_TRUE;
    size_t base = where->list_count;
    uint32_t made = PFA_GRAPH_NONE;
    for (uint32_t i = 0; i < node->count && made != strong; i++) {
        uint32_t left = reduce(where, where->graph.children[node->first + i]);
        if (left == strong) {
            made = strong;
        } else if (left > PFA_GRAPH_TRUE) {
            where->list = pfa_memory_grow(where->list, &where->list_room, where->list_count + 1, sizeof *where->list);
            where->list[where->list_count++] = left;
        }
    }
    if (made != strong) {
        uint32_t *list = where->list_count > base ? where->list + base : NULL;
        made = pfa_graph_list(&where->graph, node->op, list, where->list_count - base);
    }
    where->list_count = base;
    return made;
}

/* Nodes that are made meanwhile are not looked at, so what was seen needs room only for those there were. */
static uint32_t reduce(pfa_where_t *where, uint32_t id)
{
    const pfa_graph_node_t node = where->graph.nodes[id]; /* a copy: the list may move */
    if ((node.steps >> where->step & 1) == 0) {
        return id;
    }
    switch (node.op) {
    case PFA_GRAPH_NUMBER:
        return where->numbers[node.field] >= node.low && where->numbers[node.field] <= node.high ? PFA_GRAPH_TRUE
                                                                                                 : PFA_GRAPH_FALSE;
    case PFA_GRAPH_TEXT:
        return ask_text(where, id) ? PFA_GRAPH_TRUE : PFA_GRAPH_FALSE;
    case PFA_GRAPH_SET:
        return ask_set(where, &node) ? PFA_GRAPH_TRUE : PFA_GRAPH_FALSE;
    default:
        break;
    }
    if (where->seen[id].stamp != where->stamp) {
        uint32_t left = node.op == PFA_GRAPH_NOT ? pfa_graph_not(&where->graph, reduce(where, node.first))
                                                 : reduce_list(where, &node);
        where->seen[id].node = left;
        where->seen[id].stamp = where->stamp;
    }
    return where->seen[id].node;
}

void pfa_where_mark(pfa_where_t *where)
{
    where->seen = pfa_memory_grow(where->seen, &where->seen_room, where->graph.count, sizeof *where->seen);
    if (++where->stamp == 0) { /* after 2^32 of them, stamps would come again */
        for (size_t i = 0; i < where->seen_room; i++) {
            where->seen[i].stamp = 0;
        }
        where->stamp = 1;
    }
}

uint32_t pfa_where_reduce(pfa_where_t *where, uint32_t node, unsigned step, const pfa_subject_t *subject,
                          const double *numbers)
{
    pfa_where_mark(where);
    where->step = step;
    where->subject = subject;
    where->numbers = numbers;
    memset(where->rows, 0, sizeof where->rows);
    return reduce(where, node);
}

static void forget(pfa_where_t *where)
{
    for (size_t i = 0; i < where->slot_count; i++) {
        pfa_where_slot_free(&where->slots[i]);
    }
    where->slot_count = 0;
    pfa_where_map_free(&where->steps);
    pfa_graph_cut(&where->graph, where->node_count, where->child_count);
    for (size_t i = 0; i < where->seen_room; i++) {
        where->seen[i].slot = 0;
    }
}

void pfa_where_batch(pfa_where_t *where)
{
    if (where->steps.count > PFA_WHERE_MOST_STEPS || where->slot_count > PFA_WHERE_MOST_SLOTS ||
        where->graph.count - where->node_count > PFA_WHERE_MOST_NODES) {
        forget(where);
    }
}

pfa_truth_t pfa_where_kind(pfa_where_t *where, const pfa_subject_t *subject, uint32_t *slot)
{
    uint32_t node = where->root;
    while (node > PFA_GRAPH_TRUE) {
        unsigned step = (unsigned)__builtin_ctzll(where->graph.nodes[node].steps);
        if (step == PFA_STEP_CHUNK) {
            *slot = pfa_where_slot_get(where, node);
            return PFA_OPEN;
        }
        uint64_t key = (uint64_t)node << 32 | find_id(where, subject, step);
        int64_t left = pfa_where_map_find(&where->steps, key);
        if (left == PFA_WHERE_MAP_NONE) {
            left = pfa_where_reduce(where, node, step, subject, subject->numbers);
            pfa_where_map_put(&where->steps, key, (uint32_t)left);
        }
        node = (uint32_t)left;
    }
    return node == PFA_GRAPH_TRUE ? PFA_YES : PFA_NO;
}

bool pfa_where_needs_accesses(const pfa_where_t *where)
{
    for (size_t i = 0; i < where->node_count; i++) {
        const pfa_graph_node_t *node = &where->graph.nodes[i];
        if (node->op == PFA_GRAPH_NUMBER && pfa_field_is_of_accesses(node->field)) {
            return true;
        }
    }
    return false;
}

static bool is_shared(const pfa_graph_node_t *node)
{
    return node->op == PFA_GRAPH_NUMBER && node->field == PFA_FIELD_shared;
}

bool pfa_where_asks_accesses(const pfa_where_t *where)
{
    bool asks = pfa_where_needs_accesses(where);
    for (size_t i = 0; i < where->node_count && !asks; i++) {
        asks = is_shared(&where->graph.nodes[i]);
    }
    for (size_t i = 0; i < where->set_count && !asks; i++) {
        const pfa_where_set_t *set = &where->sets[i];
        asks = set->file == NULL && set->where != NULL && pfa_where_asks_accesses(set->where);
    }
    return asks;
}

bool pfa_where_asks_scores(const pfa_where_t *where)
{
    bool asks = false;
    for (size_t i = 0; i < where->node_count && !asks; i++) {
        const pfa_graph_node_t *node = &where->graph.nodes[i];
        asks = node->op == PFA_GRAPH_NUMBER && pfa_field_is_score(node->field);
    }
    for (size_t i = 0; i < where->set_count && !asks; i++) {
        const pfa_where_set_t *set = &where->sets[i];
        asks = set->file == NULL && set->where != NULL && pfa_where_asks_scores(set->where);
    }
    return asks;
}

bool pfa_where_needs_chunks(const pfa_where_t *where)
{
    return (where->graph.nodes[where->root].steps >> PFA_STEP_CHUNK & 1) != 0;
}

bool pfa_where_is_of_stacks(const pfa_where_t *where)
{
    return (where->graph.nodes[where->root].steps & ~(UINT64_C(1) << PFA_STEP_STACK)) == 0;
}

pfa_where_set_t *pfa_where_sets(pfa_where_t *where, size_t *count)
{
    *count = where->set_count; /* none of one that shares them */
    return where->sets;
}
