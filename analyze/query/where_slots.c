/* Owns slots: what chunks are asked that their kind left open, and what was answered. See analyze/query/where_program.h. */
#include "analyze/query/where_program.h"
#include "analyze/base/memory.h"

#include <stdlib.h>

/* Adds all comparisons that a node is made of, each once. */
static void add_numbers(pfa_where_t *where, uint32_t id, pfa_classes_t *classes)
{
    const pfa_graph_node_t *node = &where->graph.nodes[id];
    if (where->seen[id].stamp == where->stamp) {
        return;
    }
    where->seen[id].stamp = where->stamp;
    if (node->op == PFA_GRAPH_NUMBER) {
        pfa_classes_add(classes, node);
    } else if (node->op == PFA_GRAPH_NOT) {
        add_numbers(where, node->first, classes);
    } else {
        for (uint32_t i = 0; i < node->count; i++) {
            add_numbers(where, where->graph.children[node->first + i], classes);
        }
    }
}

static uint32_t make_slot(pfa_where_t *where, uint32_t node)
{
    where->slots = pfa_memory_grow(where->slots, &where->slot_room, where->slot_count + 1, sizeof *where->slots);
    pfa_where_slot_t *slot = &where->slots[where->slot_count];
    *slot = (pfa_where_slot_t){.node = node};
    pfa_where_mark(where);
    add_numbers(where, node, &slot->classes);
    pfa_classes_finish(&slot->classes);
    where->seen[node].slot = (uint32_t)++where->slot_count;
    return (uint32_t)where->slot_count - 1;
}

uint32_t pfa_where_slot_get(pfa_where_t *where, uint32_t node)
{
    return node < where->seen_room && where->seen[node].slot != 0 ? where->seen[node].slot - 1 : make_slot(where, node);
}

void pfa_where_slot_free(pfa_where_slot_t *slot)
{
    pfa_classes_free(&slot->classes);
    pfa_memory_free(slot->answers);
    pfa_memory_free(slot->places);
}

static bool ask(pfa_where_t *where, const pfa_where_slot_t *slot, const double *numbers)
{
    return pfa_where_reduce(where, slot->node, PFA_STEP_CHUNK, NULL, numbers) == PFA_GRAPH_TRUE;
}

__attribute__((noinline)) static bool ask_first(pfa_where_t *where, pfa_where_slot_t *slot, const double *numbers,
                                                uint64_t class)
{
    if (slot->answers == NULL) {
        slot->answers = pfa_memory_get(slot->classes.total, 1);
    }
    bool answer = ask(where, slot, numbers);
    slot->answers[class] = answer ? 2 : 1;
    return answer;
}

/* With more classes than places, several share a place, and the last one has it. */
__attribute__((noinline)) static bool ask_shared(pfa_where_t *where, pfa_where_slot_t *slot, const double *numbers)
{
    if (slot->classes.total == UINT64_MAX) {
        return ask(where, slot, numbers);
    }
    uint64_t class = pfa_classes_find(&slot->classes, numbers);
    uint64_t hash = class * 0x9e3779b97f4a7c15;
    if (slot->places == NULL) {
        slot->places = pfa_memory_get(PFA_WHERE_SLOT_PLACES, sizeof *slot->places);
    }
    uint64_t *place = &slot->places[(hash ^ hash >> 32) % PFA_WHERE_SLOT_PLACES];
    if (*place == 0 || (*place - 1) / 2 != class) {
        *place = class * 2 + ask(where, slot, numbers) + 1;
    }
    return (*place - 1) % 2 != 0;
}

bool pfa_where_chunk(pfa_where_t *where, uint32_t slot_number, const double *numbers)
{
    pfa_where_slot_t *slot = &where->slots[slot_number];
    if (slot->classes.total > PFA_WHERE_SLOT_PLACES) {
        return ask_shared(where, slot, numbers);
    }
    uint64_t class = pfa_classes_find(&slot->classes, numbers);
    uint8_t answer = slot->answers != NULL ? slot->answers[class] : 0;
    return answer != 0 ? answer == 2 : ask_first(where, slot, numbers, class);
}
