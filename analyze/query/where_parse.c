/* Owns the grammar of --where. Each function reads one level of it, from what binds least to what binds most:
 *
 *   pipe    stage | stage | ...        a stage is `top N by METRIC` or:
 *   either  both or both minus both    from left to right
 *   both    unary and unary
 *   unary   not unary, (pipe), or what analyze/query/where_leaf.c reads
 *
 * All return a node, or PFA_GRAPH_NONE after an error was told. */
#include "analyze/query/where_leaf.h"
#include "analyze/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 200 };

bool pfa_parse_is_reserved(const char *word, size_t size)
{
    static const char *const words[] = {"and",   "or",    "not", "minus", "union", "intersect", "in",
                                        "point", "where", "top", "by",    "all",   "none"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i]) == size && memcmp(words[i], word, size) == 0) {
            return true;
        }
    }
    return pfa_field_find(word, size) != PFA_FIELDS;
}

uint32_t pfa_parse_fail(pfa_parse_t *parse, const char *what)
{
    char shown[PFA_LEX_SHOWN];
    if (parse->lex.token == PFA_TOKEN_END) {
        pfa_lex_fail(&parse->lex, parse->lex.at, "%s is missing here", what);
    } else {
        pfa_lex_fail(&parse->lex, parse->lex.at, "%s is missing before %s", what, pfa_lex_show(&parse->lex, shown));
    }
    return PFA_GRAPH_NONE;
}

/* A node, if what there is has not become too much. */
static uint32_t check(pfa_parse_t *parse, uint32_t node)
{
    if (node == PFA_GRAPH_NONE) {
        return node;
    }
    if (parse->graph->nodes[node].depth > PFA_GRAPH_DEEPEST) {
        pfa_lex_fail(&parse->lex, parse->lex.at, "queries are nested in queries more than %d deep here",
                     PFA_GRAPH_DEEPEST);
    } else if (parse->graph->count > PFA_GRAPH_MOST) {
        pfa_lex_fail(&parse->lex, parse->lex.at, "this is too much for one query");
    } else if (parse->graph->set_count > PFA_GRAPH_MOST_SETS) {
        pfa_lex_fail(&parse->lex, parse->lex.at, "more than %d sets of points are defined", PFA_GRAPH_MOST_SETS);
    } else {
        return node;
    }
    return PFA_GRAPH_NONE;
}

static void push(pfa_parse_t *parse, uint32_t node)
{
    parse->list = pfa_memory_grow(parse->list, &parse->list_room, parse->list_count + 1, sizeof *parse->list);
    parse->list[parse->list_count++] = node;
}

/* Joins what was pushed since there were `base`. */
static uint32_t join(pfa_parse_t *parse, pfa_graph_op_t op, size_t base)
{
    uint32_t *list =
        parse->list_count > base ? parse->list + base : NULL; /* before the first there is no list at all */
    uint32_t node = pfa_graph_list(parse->graph, op, list, parse->list_count - base);
    parse->list_count = base;
    return check(parse, node);
}

static bool is_and(const pfa_lex_t *lex)
{
    return lex->token == PFA_TOKEN_AND || pfa_lex_is(lex, "and") || pfa_lex_is(lex, "intersect");
}

static bool is_or(const pfa_lex_t *lex)
{
    return lex->token == PFA_TOKEN_OR || pfa_lex_is(lex, "or") || pfa_lex_is(lex, "union");
}

static bool is_minus(const pfa_lex_t *lex)
{
    return pfa_lex_is(lex, "minus");
}

static uint32_t parse_not(pfa_parse_t *parse)
{
    pfa_lex_step(&parse->lex);
    uint32_t node = pfa_parse_unary(parse);
    return node != PFA_GRAPH_NONE ? pfa_graph_not(parse->graph, node) : node;
}

uint32_t pfa_parse_brackets(pfa_parse_t *parse)
{
    size_t open = parse->lex.at;
    pfa_lex_step(&parse->lex);
    uint32_t node = pfa_parse_pipe(parse);
    if (node == PFA_GRAPH_NONE) {
        return node;
    }
    if (parse->lex.token == PFA_TOKEN_END) {
        pfa_lex_fail(&parse->lex, open, "this bracket is never closed");
        return PFA_GRAPH_NONE;
    }
    if (parse->lex.token != PFA_TOKEN_CLOSE) {
        return pfa_parse_fail(parse, "'and', 'or', 'minus', '|' or ')'");
    }
    pfa_lex_step(&parse->lex);
    return node;
}

uint32_t pfa_parse_unary(pfa_parse_t *parse)
{
    uint32_t node;
    if (++parse->depth > DEEPEST) {
        pfa_lex_fail(&parse->lex, parse->lex.at, "this is nested more than %d deep", DEEPEST);
    }
    if (parse->lex.token == PFA_TOKEN_BAD) {
        node = PFA_GRAPH_NONE;
    } else if (parse->lex.token == PFA_TOKEN_NOT || pfa_lex_is(&parse->lex, "not")) {
        node = parse_not(parse);
    } else if (parse->lex.token == PFA_TOKEN_OPEN) {
        node = pfa_parse_brackets(parse);
    } else {
        node = pfa_parse_leaf(parse);
    }
    parse->depth--;
    return check(parse, node);
}

/* Reads and joins what follows as long as `goes_on`, to what was read before. */
static uint32_t gather(pfa_parse_t *parse, uint32_t first, pfa_graph_op_t op, bool goes_on(const pfa_lex_t *lex),
                       uint32_t read(pfa_parse_t *parse))
{
    size_t base = parse->list_count;
    push(parse, first);
    while (goes_on(&parse->lex)) {
        pfa_lex_step(&parse->lex);
        uint32_t node = read(parse);
        if (node == PFA_GRAPH_NONE) {
            return node;
        }
        push(parse, node);
    }
    return join(parse, op, base);
}

static uint32_t parse_both(pfa_parse_t *parse)
{
    uint32_t node = pfa_parse_unary(parse);
    return node != PFA_GRAPH_NONE && is_and(&parse->lex) ? gather(parse, node, PFA_GRAPH_AND, is_and, pfa_parse_unary)
                                                         : node;
}

static uint32_t parse_opposite(pfa_parse_t *parse)
{
    uint32_t node = parse_both(parse);
    return node != PFA_GRAPH_NONE ? pfa_graph_not(parse->graph, node) : node;
}

static uint32_t parse_either(pfa_parse_t *parse)
{
    uint32_t node = parse_both(parse);
    while (node != PFA_GRAPH_NONE) {
        if (is_or(&parse->lex)) {
            node = gather(parse, node, PFA_GRAPH_OR, is_or, parse_both);
        } else if (is_minus(&parse->lex)) {
            node = gather(parse, node, PFA_GRAPH_AND, is_minus, parse_opposite);
        } else {
            break;
        }
    }
    return node;
}

static const char *read_metric(pfa_parse_t *parse)
{
    static const char *const metrics[] = {"bytes", "count", "live"};
    char shown[PFA_LEX_SHOWN];
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++) {
        if (pfa_lex_is(&parse->lex, metrics[i])) {
            pfa_lex_step(&parse->lex);
            return metrics[i];
        }
    }
    if (parse->lex.token == PFA_TOKEN_WORD) {
        pfa_lex_fail(&parse->lex, parse->lex.at,
                     "points are not ranked by %s: 'bytes', 'count' and 'live' can be asked for",
                     pfa_lex_show(&parse->lex, shown));
    } else {
        (void)pfa_parse_fail(parse, "'bytes', 'count' or 'live'");
    }
    return NULL;
}

/* 0: an error was told. */
static size_t read_rank(pfa_parse_t *parse)
{
    size_t rank = 0;
    bool fits = parse->lex.token == PFA_TOKEN_WORD;
    for (size_t i = parse->lex.at; fits && i < parse->lex.next; i++) {
        char digit = parse->lex.text[i];
        fits = digit >= '0' && digit <= '9' && rank < 100000000;
        rank = rank * 10 + (size_t)(digit - '0');
    }
    if (!fits || rank == 0) {
        pfa_lex_fail(&parse->lex, parse->lex.at, "how many points is missing here, such as 10");
        return 0;
    }
    pfa_lex_step(&parse->lex);
    return rank;
}

/* `top N by METRIC`, of the chunks that `where` is about. */
static uint32_t parse_top(pfa_parse_t *parse, uint32_t where)
{
    pfa_graph_set_t set = {.where = where, .metric = "bytes"};
    pfa_lex_step(&parse->lex);
    set.top = read_rank(parse);
    if (set.top != 0 && pfa_lex_is(&parse->lex, "by")) {
        pfa_lex_step(&parse->lex);
        set.metric = read_metric(parse);
    }
    if (set.top == 0 || set.metric == NULL) {
        return PFA_GRAPH_NONE;
    }
    set.metric = pfa_graph_keep(parse->graph, set.metric, strlen(set.metric));
    return check(parse, pfa_graph_set(parse->graph, &set));
}

/* Stages are gathered; only `top` has to know what all before it come to. */
uint32_t pfa_parse_pipe(pfa_parse_t *parse)
{
    size_t base = parse->list_count;
    for (;;) {
        uint32_t node;
        if (pfa_lex_is(&parse->lex, "top")) {
            uint32_t before = join(parse, PFA_GRAPH_AND, base);
            node = before != PFA_GRAPH_NONE ? parse_top(parse, before) : before;
            push(parse, before);
        } else {
            node = parse_either(parse);
        }
        if (node == PFA_GRAPH_NONE) {
            return node;
        }
        push(parse, node);
        if (parse->lex.token != PFA_TOKEN_PIPE) {
            return join(parse, PFA_GRAPH_AND, base);
        }
        pfa_lex_step(&parse->lex);
    }
}

uint32_t pfa_parse_join(pfa_parse_t *parse, uint32_t before, uint32_t node)
{
    size_t base = parse->list_count;
    push(parse, before != PFA_GRAPH_NONE ? before : PFA_GRAPH_TRUE);
    push(parse, node);
    return join(parse, PFA_GRAPH_AND, base);
}

uint32_t pfa_parse_all(pfa_parse_t *parse)
{
    uint32_t node = pfa_parse_pipe(parse);
    if (node != PFA_GRAPH_NONE && parse->lex.token == PFA_TOKEN_CLOSE) {
        pfa_lex_fail(&parse->lex, parse->lex.at, "this bracket was never opened");
    } else if (node != PFA_GRAPH_NONE && parse->lex.token != PFA_TOKEN_END) {
        (void)pfa_parse_fail(parse, "'and', 'or', 'minus' or '|'");
    }
    return parse->lex.why == NULL ? node : PFA_GRAPH_NONE;
}

void pfa_parse_free(pfa_parse_t *parse)
{
    pfa_memory_free(parse->list);
    pfa_memory_free(parse->lex.why);
}
