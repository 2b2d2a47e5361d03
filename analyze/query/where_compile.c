/* Owns how an expression leaves the graph that it was parsed into: to be asked of another trace, or to be asked at all, on its own
 * and with the sets that it needs. */
#include "analyze/query/where_parse.h"
#include "analyze/query/where_program.h"
#include "analyze/tool/tool.h"

#include <stdlib.h>
#include <string.h>

/* One way through all that a node is made of, each part once. */
typedef struct pfa_copy {
    const pfa_graph_t *from;
    pfa_graph_t *to;
    uint32_t *known; /* by node: what became of it, + 1 */
    size_t known_count;
    uint32_t (*copy_set)(struct pfa_copy *copy, uint32_t set);
    const char *file;      /* to move to */
    pfa_where_t *where;    /* to compile, */
    pfa_where_t *whole;    /* whose sets it shares */
    uint32_t *set_numbers; /* by set: its number there, + 1 */
} pfa_copy_t;

static uint32_t copy_node(pfa_copy_t *copy, uint32_t id);

static uint32_t copy_list(pfa_copy_t *copy, const pfa_graph_node_t *node)
{
    uint32_t *list = pfa_memory_get(node->count, sizeof *list);
    for (uint32_t i = 0; i < node->count; i++) {
        list[i] = copy_node(copy, copy->from->children[node->first + i]);
    }
    uint32_t made = pfa_graph_list(copy->to, node->op, list, node->count);
    free(list);
    return made;
}

static uint32_t copy_new(pfa_copy_t *copy, uint32_t id)
{
    const pfa_graph_node_t node = copy->from->nodes[id]; /* a copy: both graphs may be the same, and it grows */
    switch (node.op) {
    case PFA_GRAPH_NUMBER:
        return pfa_graph_number(copy->to, node.field, node.low, node.high);
    case PFA_GRAPH_TEXT: {
        const char *pattern = copy->from->texts.list[node.first];
        return pfa_graph_text(copy->to, node.field, node.count != 0, pattern, strlen(pattern));
    }
    case PFA_GRAPH_SET:
        return copy->copy_set(copy, node.first);
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

static uint32_t move_set(pfa_copy_t *copy, uint32_t number)
{
    pfa_graph_set_t set = copy->from->sets[number];
    if (set.file == NULL) {
        set.file = copy->file;
        set.where = copy_node(copy, set.where);
    }
    set.asked_in = set.asked_in != NULL ? set.asked_in : copy->file;
    return pfa_graph_set(copy->to, &set);
}

uint32_t pfa_graph_move(pfa_graph_t *graph, uint32_t node, const char *file)
{
    pfa_copy_t copy = {.from = graph, .to = graph, .copy_set = move_set, .file = file};
    copy.known = pfa_memory_get(graph->count, sizeof *copy.known);
    uint32_t moved = copy_node(&copy, node);
    free(copy.known);
    return moved;
}

static const char *keep(pfa_where_t *whole, const char *text)
{
    return text != NULL ? pfa_graph_keep(&whole->graph, text, strlen(text)) : NULL;
}

static pfa_where_t *compile(const pfa_graph_t *graph, uint32_t node, pfa_where_t *whole, uint32_t *set_numbers);

static uint32_t compile_set(pfa_copy_t *copy, uint32_t number)
{
    if (copy->set_numbers[number] == 0) {
        const pfa_graph_set_t *set = &copy->from->sets[number];
        pfa_where_t *where =
            set->where != PFA_GRAPH_TRUE ? compile(copy->from, set->where, copy->whole, copy->set_numbers) : NULL;
        copy->whole->sets[copy->whole->set_count++] = (pfa_where_set_t){.file = keep(copy->whole, set->file),
                                                                        .asked_in = keep(copy->whole, set->asked_in),
                                                                        .metric = keep(copy->whole, set->metric),
                                                                        .top = set->top,
                                                                        .where = where,
                                                                        .rank = where != NULL ? where->rank : 0};
        copy->set_numbers[number] = (uint32_t)copy->whole->set_count;
    }
    uint32_t made = copy->set_numbers[number] - 1;
    unsigned rank = copy->whole->sets[made].rank + 1;
    copy->where->rank = rank > copy->where->rank ? rank : copy->where->rank;
    return pfa_graph_member(copy->to, made, 0);
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

/* `whole` is NULL if this is the whole. */
static pfa_where_t *compile(const pfa_graph_t *graph, uint32_t node, pfa_where_t *whole, uint32_t *set_numbers)
{
    pfa_where_t *where = pfa_memory_get(1, sizeof *where);
    pfa_copy_t copy = {.from = graph, .to = &where->graph, .copy_set = compile_set, .where = where};
    pfa_graph_begin(&where->graph);
    if (whole == NULL) {
        where->owns_sets = true;
        where->sets = pfa_memory_get(graph->set_count, sizeof *where->sets);
    } else {
        where->sets = whole->sets;
    }
    copy.whole = whole != NULL ? whole : where;
    copy.set_numbers = set_numbers;
    copy.known = pfa_memory_get(graph->count, sizeof *copy.known);
    where->root = copy_node(&copy, node);
    free(copy.known);
    prepare(where);
    return where;
}

pfa_where_t *pfa_where_compile(const pfa_graph_t *graph, uint32_t node)
{
    uint32_t *set_numbers = pfa_memory_get(graph->set_count, sizeof *set_numbers);
    pfa_where_t *where = compile(graph, node, NULL, set_numbers);
    free(set_numbers);
    return where;
}

static void free_sets(pfa_where_t *where)
{
    for (size_t i = 0; where->owns_sets && i < where->set_count; i++) {
        pfa_where_free(where->sets[i].where);
        free(where->sets[i].stacks);
    }
    if (where->owns_sets) {
        free(where->sets);
    }
}

void pfa_where_free(pfa_where_t *where)
{
    if (where == NULL) {
        return;
    }
    free_sets(where);
    for (size_t i = 0; i < where->slot_count; i++) {
        pfa_slot_free(&where->slots[i]);
    }
    for (size_t i = 0; i < PFA_FIELDS; i++) {
        pfa_answers_free(&where->answers[i]);
    }
    pfa_classes_free(&where->kinds);
    pfa_map_free(&where->steps);
    pfa_graph_free(&where->graph);
    free(where->bits);
    free(where->slots);
    free(where->seen);
    free(where->list);
    free(where);
}

static pfa_where_t *compile_main(const pfa_where_names_t *names, const pfa_graph_t *graph, char **why)
{
    uint32_t node = names != NULL ? pfa_where_names_main(names) : PFA_GRAPH_NONE;
    if (node == PFA_GRAPH_NONE) {
        static const char nothing[] = "--where: no file says what is asked for";
        *why = pfa_memory_copy(nothing, strlen(nothing));
        return NULL;
    }
    return pfa_where_compile(graph, node);
}

static pfa_where_t *parse_text(const char *text, pfa_where_names_t *names, pfa_graph_t *graph, char **why)
{
    pfa_parse_t parse = {.lex = {.text = text}, .graph = graph, .names = names};
    pfa_lex_begin(&parse.lex, 0, strlen(text));
    uint32_t node = pfa_parse_all(&parse);
    pfa_where_t *where = node != PFA_GRAPH_NONE ? pfa_where_compile(graph, node) : NULL;
    if (where == NULL) {
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
