/* Owns how an expression leaves the graph that it was parsed into, to be asked: on its own, and with the sets that it needs. */
#include "analyze/query/where_parse.h"
#include "analyze/query/where_program.h"
#include "analyze/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* One way through all that a node is made of, each part once. */
typedef struct pfa_copy {
    const pfa_graph_t *from;
    pfa_graph_t *to;
    uint32_t *known;       /* by node: what became of it, + 1 */
    pfa_where_t *whole;    /* what it is copied into, or whose sets that shares */
    uint32_t *set_numbers; /* by set: its number there, + 1 */
    unsigned *budget;      /* how many more sets there may be; at 0 the copy is of no use */
} pfa_copy_t;

static uint32_t copy_node(pfa_copy_t *copy, uint32_t id);
static uint32_t copy_set(pfa_copy_t *copy, uint32_t number);

static uint32_t copy_list(pfa_copy_t *copy, const pfa_graph_node_t *node)
{
    uint32_t *list = pfa_memory_get(node->count, sizeof *list);
    for (uint32_t i = 0; i < node->count; i++) {
        list[i] = copy_node(copy, copy->from->children[node->first + i]);
    }
    uint32_t made = pfa_graph_list(copy->to, node->op, list, node->count);
    pfa_memory_free(list);
    return made;
}

static uint32_t copy_new(pfa_copy_t *copy, uint32_t id)
{
    const pfa_graph_node_t node = copy->from->nodes[id];
    switch (node.op) {
    case PFA_GRAPH_NUMBER:
        return pfa_graph_number(copy->to, node.field, node.low, node.high);
    case PFA_GRAPH_TEXT: {
        const char *pattern = copy->from->texts.list[node.first];
        return pfa_graph_text(copy->to, node.field, node.count != 0, pattern, strlen(pattern));
    }
    case PFA_GRAPH_SET:
        return copy_set(copy, node.first);
    case PFA_GRAPH_NOT:
        return pfa_graph_not(copy->to, copy_node(copy, node.first));
    case PFA_GRAPH_AND:
    case PFA_GRAPH_OR:
        return copy_list(copy, &node);
    default:
        return id;
    }
}

static uint32_t copy_node(pfa_copy_t *copy, uint32_t id)
{
    if (copy->known[id] == 0) {
        uint32_t made = copy_new(copy, id);
        copy->known[id] = made + 1;
    }
    return copy->known[id] - 1;
}

static const char *keep(pfa_where_t *whole, const char *text)
{
    return text != NULL ? pfa_graph_keep(&whole->graph, text, strlen(text)) : NULL;
}

static pfa_where_t *compile(const pfa_graph_t *graph, uint32_t node, const pfa_copy_t *outer, unsigned *budget);

/* The expression of another trace's set is a whole of its own: its sets are found where it is asked. */
static void make_set(pfa_copy_t *copy, uint32_t number)
{
    const pfa_graph_set_t *set = &copy->from->sets[number];
    pfa_where_t *whole = copy->whole;
    pfa_where_t *where = NULL;
    if (set->where != PFA_GRAPH_TRUE) {
        where = compile(copy->from, set->where, set->file == NULL ? copy : NULL, copy->budget);
    }
    whole->sets[whole->set_count++] = (pfa_where_set_t){
        .file = keep(whole, set->file), .metric = keep(whole, set->metric), .top = set->top, .where = where};
    copy->set_numbers[number] = (uint32_t)whole->set_count;
}

static uint32_t copy_set(pfa_copy_t *copy, uint32_t number)
{
    if (copy->set_numbers[number] == 0) {
        if (*copy->budget <= 1) {
            *copy->budget = 0;
            return PFA_GRAPH_FALSE;
        }
        --*copy->budget;
        make_set(copy, number);
    }
    return pfa_graph_member(copy->to, copy->set_numbers[number] - 1, 0);
}

/* Gives each pattern its bit, and finds the classes of what kinds are asked. */
static void prepare(pfa_where_t *where)
{
    where->node_count = where->graph.count;
    where->child_count = where->graph.child_count;
    where->bits = pfa_memory_get(where->node_count, sizeof *where->bits);
    for (size_t i = 0; i < where->node_count; i++) {
        const pfa_graph_node_t *node = &where->graph.nodes[i];
        if (node->op == PFA_GRAPH_TEXT) {
            const char *pattern = where->graph.texts.list[node->first];
            where->bits[i] = pfa_answers_add(&where->answers[node->field], node->field, node->count != 0, pattern);
        } else if (node->op == PFA_GRAPH_NUMBER && pfa_field_step(node->field) == PFA_STEP_NUMBERS) {
            pfa_classes_add(&where->kinds, node);
        }
    }
    pfa_classes_finish(&where->kinds);
}

/* `outer` is NULL if this is a whole. */
static pfa_where_t *compile(const pfa_graph_t *graph, uint32_t node, const pfa_copy_t *outer, unsigned *budget)
{
    pfa_where_t *where = pfa_memory_get(1, sizeof *where);
    pfa_copy_t copy = {.from = graph, .to = &where->graph, .whole = where, .budget = budget};
    pfa_graph_begin(&where->graph);
    if (outer != NULL) {
        copy.whole = outer->whole;
        copy.set_numbers = outer->set_numbers;
        where->sets = outer->whole->sets;
    } else {
        copy.set_numbers = pfa_memory_get(graph->set_count, sizeof *copy.set_numbers);
        where->owns_sets = true;
        where->sets = pfa_memory_get(graph->set_count, sizeof *where->sets); /* it does not move */
    }
    copy.known = pfa_memory_get(graph->count, sizeof *copy.known);
    where->root = copy_node(&copy, node);
    pfa_memory_free(copy.known);
    pfa_memory_free(outer == NULL ? copy.set_numbers : NULL);
    prepare(where);
    return where;
}

pfa_where_t *pfa_where_compile(const pfa_graph_t *graph, uint32_t node)
{
    unsigned budget = PFA_WHERE_MOST_SETS + 1;
    pfa_where_t *where = compile(graph, node, NULL, &budget);
    if (budget == 0) {
        pfa_where_free(where);
        where = NULL;
    }
    return where;
}

static void free_sets(pfa_where_t *where)
{
    for (size_t i = 0; where->owns_sets && i < where->set_count; i++) {
        pfa_where_free(where->sets[i].where);
        pfa_memory_free(where->sets[i].stacks);
    }
    if (where->owns_sets) {
        pfa_memory_free(where->sets);
    }
}

void pfa_where_free(pfa_where_t *where)
{
    if (where == NULL) {
        return;
    }
    free_sets(where);
    for (size_t i = 0; i < where->slot_count; i++) {
        pfa_where_slot_free(&where->slots[i]);
    }
    for (size_t i = 0; i < PFA_FIELDS; i++) {
        pfa_answers_free(&where->answers[i]);
    }
    pfa_classes_free(&where->kinds);
    pfa_where_map_free(&where->steps);
    pfa_graph_free(&where->graph);
    pfa_memory_free(where->bits);
    pfa_memory_free(where->slots);
    pfa_memory_free(where->seen);
    pfa_memory_free(where->list);
    pfa_memory_free(where);
}

/* The reason why there is no expression. */
static char *tell(const char *why)
{
    return pfa_memory_copy(why, strlen(why));
}

static pfa_where_t *compile_or_tell(const pfa_graph_t *graph, uint32_t node, char **why)
{
    pfa_where_t *where = pfa_where_compile(graph, node);
    *why = where == NULL ? tell("too many sets of points are needed, with those that sets of other traces need") : *why;
    return where;
}

static pfa_where_t *compile_main(const pfa_where_names_t *names, const pfa_graph_t *graph, char **why)
{
    uint32_t node = names != NULL ? pfa_where_names_main(names) : PFA_GRAPH_NONE;
    if (node == PFA_GRAPH_NONE) {
        *why = tell("no file says what is asked for");
        return NULL;
    }
    return compile_or_tell(graph, node, why);
}

static pfa_where_t *parse_text(const char *text, pfa_where_names_t *names, pfa_graph_t *graph, char **why)
{
    pfa_parse_t parse = {.lex = {.text = text}, .graph = graph, .names = names};
    pfa_where_t *where = NULL;
    pfa_lex_begin(&parse.lex, 0, strlen(text));
    uint32_t node = pfa_parse_all(&parse);
    if (node != PFA_GRAPH_NONE) {
        where = compile_or_tell(graph, node, why);
    } else {
        *why = parse.lex.why;
        parse.lex.why = NULL;
    }
    pfa_parse_free(&parse);
    return where;
}

pfa_where_t *pfa_where_parse(const char *text, pfa_where_names_t *names, char **why)
{
    pfa_where_names_t *own = names == NULL ? pfa_where_names_new() : NULL;
    pfa_where_names_t *all = names != NULL ? names : own;
    pfa_graph_t *graph = pfa_where_names_graph(all);
    pfa_where_t *where = NULL;
    if (text == NULL) {
        where = compile_main(names, graph, why);
    } else if (text[0] != '@') {
        where = parse_text(text, all, graph, why);
    } else if (pfa_where_names_read(all, text + 1, why)) {
        where = compile_main(all, graph, why);
    }
    pfa_where_names_free(own);
    return where;
}
