/* Owns what expressions are made of: comparisons, flags, sets of points, named queries. See analyze/query/where_leaf.h. */
#include "analyze/query/where_leaf.h"
#include "analyze/query/where_match.h"
#include "analyze/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_VALUE = 4096 };

static bool is_operator(pfa_token_t token)
{
    return token >= PFA_TOKEN_EQUAL && token <= PFA_TOKEN_MORE_EQUAL;
}

static uint32_t fail_at(pfa_parse_t *parse, size_t at, const char *what)
{
    pfa_lex_fail(&parse->lex, at, "%s", what);
    return PFA_GRAPH_NONE;
}

/* Unequal is less or more, not the opposite of equal: of a number that is not known neither holds. */
static uint32_t make_unequal(pfa_parse_t *parse, pfa_field_t field, double value)
{
    uint32_t list[] = {pfa_graph_number(parse->graph, field, -INFINITY, nextafter(value, -INFINITY)),
                       pfa_graph_number(parse->graph, field, nextafter(value, INFINITY), INFINITY)};
    return pfa_graph_list(parse->graph, PFA_GRAPH_OR, list, 2);
}

static uint32_t make_comparison(pfa_parse_t *parse, pfa_field_t field, pfa_token_t sign, double value)
{
    double low = -INFINITY;
    double high = INFINITY;
    switch (sign) {
    case PFA_TOKEN_UNEQUAL:
        return make_unequal(parse, field, value);
    case PFA_TOKEN_LESS:
        high = nextafter(value, -INFINITY);
        break;
    case PFA_TOKEN_LESS_EQUAL:
        high = value;
        break;
    case PFA_TOKEN_MORE:
        low = nextafter(value, INFINITY);
        break;
    case PFA_TOKEN_MORE_EQUAL:
        low = value;
        break;
    default:
        low = high = value;
    }
    return pfa_graph_number(parse->graph, field, low, high);
}

/* The token is `in`; A..B follows. */
static uint32_t parse_range(pfa_parse_t *parse, pfa_field_t field)
{
    pfa_lex_t *lex = &parse->lex;
    size_t at = lex->next;
    size_t from = pfa_lex_skip(lex, at);
    double low;
    double high;
    if (!pfa_value_read(lex, field, &at, &low)) {
        return PFA_GRAPH_NONE;
    }
    size_t dots = pfa_lex_skip(lex, at);
    if (lex->end - dots < 2 || memcmp(lex->text + dots, "..", 2) != 0) {
        return fail_at(parse, dots < lex->end ? dots : at, "'..' and the end of the range are missing here");
    }
    at = dots + 2;
    if (!pfa_value_read(lex, field, &at, &high)) {
        return PFA_GRAPH_NONE;
    }
    if (low > high) {
        return fail_at(parse, from, "this range ends before it begins");
    }
    pfa_lex_jump(lex, at);
    return pfa_graph_number(parse->graph, field, low, high);
}

static bool is_whole(pfa_field_t field)
{
    return pfa_field_facts[field].form == PFA_FORM_BYTES || pfa_field_facts[field].form == PFA_FORM_COUNT;
}

static uint32_t parse_number(pfa_parse_t *parse, pfa_field_t field)
{
    pfa_lex_t *lex = &parse->lex;
    pfa_token_t sign = lex->token;
    double value;
    if (pfa_lex_is(lex, "in")) {
        return parse_range(parse, field);
    }
    if (sign == PFA_TOKEN_LIKE || sign == PFA_TOKEN_UNLIKE) {
        pfa_lex_fail(lex, lex->at, "'%s' is a number: = != < <= > >= and 'in' can be asked of it",
                     pfa_field_facts[field].name);
        return PFA_GRAPH_NONE;
    }
    if (!is_operator(sign)) {
        return pfa_parse_fail(parse, "one of = != < <= > >= 'in'");
    }
    size_t at = lex->next;
    size_t from = pfa_lex_skip(lex, at);
    if (!pfa_value_read(lex, field, &at, &value)) {
        return PFA_GRAPH_NONE;
    }
    if ((sign == PFA_TOKEN_EQUAL || sign == PFA_TOKEN_UNEQUAL) && is_whole(field) && value != floor(value)) {
        pfa_lex_fail(lex, from, "'%s' is always a whole number, which this is not", pfa_field_facts[field].name);
        return PFA_GRAPH_NONE;
    }
    pfa_lex_jump(lex, at);
    return make_comparison(parse, field, sign, value);
}

/* Whether a bare word can only be what goes on after a value that was forgotten. */
static bool goes_on(const pfa_lex_t *lex)
{
    return pfa_lex_is(lex, "and") || pfa_lex_is(lex, "or") || pfa_lex_is(lex, "minus") || pfa_lex_is(lex, "union") ||
           pfa_lex_is(lex, "intersect");
}

/* Where a bracket begins that is never closed; SIZE_MAX: nowhere. */
static size_t find_unclosed(const char *text, size_t size)
{
    char *pattern = pfa_memory_copy(text, size);
    const char *bracket = pfa_glob_unclosed(pattern);
    size_t at = bracket != NULL ? (size_t)(bracket - pattern) : SIZE_MAX;
    pfa_memory_free(pattern);
    return at;
}

static bool check_value(pfa_parse_t *parse)
{
    pfa_lex_t *lex = &parse->lex;
    size_t size;
    if ((lex->token != PFA_TOKEN_WORD && lex->token != PFA_TOKEN_QUOTED) || goes_on(lex)) {
        (void)pfa_parse_fail(parse, "a text (in quotes if it has spaces or brackets)");
        return false;
    }
    const char *text = pfa_lex_content(lex, &size);
    const char *class = memmem(text, size, "[[:", 3);
    size_t unclosed = find_unclosed(text, size);
    if (size > LONGEST_VALUE) {
        pfa_lex_fail(lex, lex->at, "this text is longer than %d bytes", LONGEST_VALUE);
    } else if (class != NULL) {
        pfa_lex_fail(lex, (size_t)(class - lex->text), "classes of characters have no names here: write [a-z]");
    } else if (lex->token == PFA_TOKEN_WORD && text[0] == '\'') {
        pfa_lex_fail(lex, lex->at, "single quotes are no quotes here: write \"...\"");
    } else if (unclosed != SIZE_MAX) {
        pfa_lex_fail(lex, (size_t)(text - lex->text) + unclosed,
                     "this bracket is never closed: write \\[ if it is meant as it is");
    }
    return lex->why == NULL;
}

static uint32_t parse_text(pfa_parse_t *parse, pfa_field_t field)
{
    pfa_lex_t *lex = &parse->lex;
    pfa_token_t sign = lex->token;
    size_t size;
    if (sign > PFA_TOKEN_UNLIKE || pfa_lex_is(lex, "in")) {
        pfa_lex_fail(lex, lex->at, "'%s' is a text: = != ~ !~ can be asked of it", pfa_field_facts[field].name);
        return PFA_GRAPH_NONE;
    }
    if (!is_operator(sign)) {
        return pfa_parse_fail(parse, "one of = != ~ !~");
    }
    pfa_lex_step_value(lex);
    if (lex->token == PFA_TOKEN_BAD || !check_value(parse)) {
        return PFA_GRAPH_NONE;
    }
    const char *text = pfa_lex_content(lex, &size);
    bool somewhere = sign == PFA_TOKEN_LIKE || sign == PFA_TOKEN_UNLIKE;
    uint32_t node = pfa_graph_text(parse->graph, field, somewhere, text, size);
    pfa_lex_step(lex);
    return sign == PFA_TOKEN_UNEQUAL || sign == PFA_TOKEN_UNLIKE ? pfa_graph_not(parse->graph, node) : node;
}

static uint32_t parse_flag(pfa_parse_t *parse, pfa_field_t field)
{
    if (is_operator(parse->lex.token) || pfa_lex_is(&parse->lex, "in")) {
        pfa_lex_fail(&parse->lex, parse->lex.at, "'%s' is true or not and stands by itself",
                     pfa_field_facts[field].name);
        return PFA_GRAPH_NONE;
    }
    return pfa_graph_number(parse->graph, field, 0.5, INFINITY);
}

static uint32_t parse_field(pfa_parse_t *parse, pfa_field_t field)
{
    pfa_lex_step(&parse->lex);
    if (parse->lex.token == PFA_TOKEN_BAD) {
        return PFA_GRAPH_NONE;
    }
    switch (pfa_field_facts[field].form) {
    case PFA_FORM_TEXT:
        return parse_text(parse, field);
    case PFA_FORM_FLAG:
        return parse_flag(parse, field);
    default:
        return parse_number(parse, field);
    }
}

static const char *keep_path(pfa_parse_t *parse)
{
    size_t size;
    const char *text = pfa_lex_content(&parse->lex, &size);
    char *path = pfa_memory_get(size + 1, 1);
    size_t length = 0;
    for (size_t i = 0; i < size; i++) {
        i += text[i] == '\\' && i + 1 < size;
        path[length++] = text[i];
    }
    const char *kept = pfa_graph_keep(parse->graph, path, length);
    pfa_memory_free(path);
    return kept;
}

/* A trace was named; `where (...)` may follow. */
static uint32_t parse_other_trace(pfa_parse_t *parse)
{
    pfa_graph_set_t set = {.where = PFA_GRAPH_TRUE, .file = keep_path(parse)};
    if (set.file[0] == '\0') {
        return fail_at(parse, parse->lex.at, "the name of a trace is missing between the quotes");
    }
    pfa_lex_step(&parse->lex);
    if (pfa_lex_is(&parse->lex, "where")) {
        pfa_lex_step(&parse->lex);
        set.where = pfa_parse_unary(parse);
    }
    return set.where != PFA_GRAPH_NONE ? pfa_graph_set(parse->graph, &set) : PFA_GRAPH_NONE;
}

static uint32_t parse_name(pfa_parse_t *parse)
{
    pfa_lex_t *lex = &parse->lex;
    char shown[PFA_LEX_SHOWN];
    char near[PFA_NEAR_TEXT];
    size_t size;
    size_t at = lex->at;
    const char *name = pfa_lex_content(lex, &size);
    uint32_t node = pfa_where_names_find(parse->names, name, size);
    size_t later = pfa_where_names_later(parse->names, name, size);
    (void)pfa_lex_show(lex, shown);
    pfa_lex_step(lex);
    bool compared = is_operator(lex->token) || pfa_lex_is(lex, "in");
    if (compared && node != PFA_GRAPH_NONE) {
        pfa_lex_fail(lex, lex->at, "%s is a named query and stands by itself", shown);
    } else if (compared) {
        pfa_lex_fail(lex, at, "%s is no field%s", shown, pfa_where_names_near(parse->names, true, name, size, near));
    } else if (node == PFA_GRAPH_NONE && later != 0) {
        pfa_lex_fail(lex, at, "%s is used before it is defined, in line %zu", shown, later);
    } else if (node == PFA_GRAPH_NONE) {
        pfa_lex_fail(lex, at, "%s is no field and no named query%s", shown,
                     pfa_where_names_near(parse->names, false, name, size, near));
    }
    return lex->why == NULL ? node : PFA_GRAPH_NONE;
}

static uint32_t parse_point(pfa_parse_t *parse)
{
    pfa_lex_step(&parse->lex);
    if (!pfa_lex_is(&parse->lex, "in")) {
        return pfa_parse_fail(parse, "'in'");
    }
    pfa_lex_step(&parse->lex);
    if (parse->lex.token == PFA_TOKEN_QUOTED) {
        return parse_other_trace(parse);
    }
    if (parse->lex.token != PFA_TOKEN_OPEN && parse->lex.token != PFA_TOKEN_WORD) {
        return pfa_parse_fail(parse, "a named query, an expression in brackets or a trace in quotes");
    }
    pfa_graph_set_t set = {.where = pfa_parse_unary(parse)};
    return set.where != PFA_GRAPH_NONE ? pfa_graph_set(parse->graph, &set) : PFA_GRAPH_NONE;
}

uint32_t pfa_parse_leaf(pfa_parse_t *parse)
{
    pfa_lex_t *lex = &parse->lex;
    if (lex->token != PFA_TOKEN_WORD) {
        return pfa_parse_fail(parse, "a field, a named query or '('");
    }
    size_t size;
    const char *word = pfa_lex_content(lex, &size);
    pfa_field_t field = pfa_field_find(word, size);
    if (field != PFA_FIELDS) {
        return parse_field(parse, field);
    }
    if (pfa_lex_is(lex, "point")) {
        return parse_point(parse);
    }
    if (pfa_lex_is(lex, "all") || pfa_lex_is(lex, "none")) {
        uint32_t node = pfa_lex_is(lex, "all") ? PFA_GRAPH_TRUE : PFA_GRAPH_FALSE;
        pfa_lex_step(lex);
        return node;
    }
    if (pfa_lex_is(lex, "top")) {
        return fail_at(parse, lex->at, "'top' stands at the beginning or after '|'");
    }
    return pfa_parse_is_reserved(word, size) ? pfa_parse_fail(parse, "a field, a named query or '('")
                                             : parse_name(parse);
}
