/* Owns mprof's tables as JSON: everything, whatever the verbosity; figures are bytes and counts, not percentages. */
#include "analyze/mprof/mprof.h"
#include "analyze/base/json.h"
#include "analyze/base/text.h"
#include "analyze/names/place.h"
#include "analyze/query/keys.h"

#include <stdio.h>

enum { VERSION = 1 };

static void put_sizes(pfa_json_t *json, const char *key, const pfa_sum_t *sum)
{
    pfa_json_begin(json, key, '{');
    for (size_t i = 0; i < PFA_SIZE_CLASSES; i++) {
        char letter[2] = {pfa_size_letters[i], '\0'};
        pfa_json_number(json, letter, sum->classes[i]);
    }
    pfa_json_end(json, '}');
}

/* A figure, and of an estimate the ends of its 95 % confidence interval as KEY_low and KEY_high. */
static void put_figure(pfa_json_t *json, const pfa_mprof_t *mprof, const char *key, double value, double variance)
{
    char name[64];
    double half = pfa_half_width(variance);
    pfa_json_number(json, key, value);
    if (mprof->query->sampled) {
        snprintf(name, sizeof name, "%s_low", key);
        pfa_json_number(json, name, value > half ? value - half : 0);
        snprintf(name, sizeof name, "%s_high", key);
        pfa_json_number(json, name, value + half);
    }
}

static void put_chunks(pfa_json_t *json, const pfa_mprof_t *mprof, const char *key, const pfa_sum_t *sum)
{
    put_figure(json, mprof, key, sum->chunks, sum->chunks_variance);
}

static void put_bytes(pfa_json_t *json, const pfa_mprof_t *mprof, const char *key, const pfa_sum_t *sum)
{
    put_figure(json, mprof, key, sum->bytes, sum->bytes_variance);
}

static void put_function(pfa_json_t *json, const pfa_mprof_t *mprof, uint32_t number)
{
    const pfa_function_t *function = &mprof->functions.list[number];
    pfa_json_text(json, "function", function->name);
    pfa_json_text(json, "module", function->module[0] != '\0' ? function->module : NULL);
}

static void put_totals(pfa_json_t *json, const pfa_mprof_t *mprof)
{
    const pfa_mprof_row_t *total = &mprof->total;
    pfa_json_begin(json, "totals", '{');
    put_chunks(json, mprof, "allocs", &total->all);
    put_bytes(json, mprof, "bytes", &total->all);
    put_sizes(json, "sizes", &total->all);
    put_chunks(json, mprof, "kept_chunks", &total->kept);
    put_bytes(json, mprof, "kept", &total->kept);
    put_sizes(json, "kept_sizes", &total->kept);
    pfa_json_number(json, "folded", mprof->folded);
    pfa_json_number(json, "folded_bytes", mprof->folded_bytes);
    pfa_json_end(json, '}');
    pfa_json_begin(json, "half_width_95", '{');
    pfa_json_number(json, "allocs", pfa_half_width(total->all.chunks_variance));
    pfa_json_number(json, "bytes", pfa_half_width(total->all.bytes_variance));
    pfa_json_number(json, "kept", pfa_half_width(total->kept.bytes_variance));
    pfa_json_end(json, '}');
}

static void put_path(pfa_json_t *json, const pfa_mprof_t *mprof, const pfa_mprof_path_t *path)
{
    pfa_json_bool(json, "more_callers", path->more);
    pfa_json_begin(json, "path", '[');
    for (uint32_t i = path->count; i-- > 0;) {
        pfa_json_begin(json, NULL, '{');
        put_function(json, mprof, path->functions[i]);
        if (path->offsets[i] != 0) {
            pfa_json_whole(json, "offset", path->offsets[i]);
        }
        pfa_json_end(json, '}');
    }
    pfa_json_end(json, ']');
}

/* Many stacks have the same place: with the leaks they are told whole. */
static void put_group(pfa_json_t *json, const pfa_mprof_t *mprof, uint32_t group, bool whole)
{
    pfa_query_t *query = mprof->query;
    pfa_json_text(json, "group", pfa_query_group_name(query, group));
    if (whole && query->key == &pfa_keys[0]) {
        pfa_lines_t lines = {.list = NULL};
        pfa_stacks_lines(&query->stacks, pfa_query_group_stack(query, group), &lines);
        pfa_place_json(json, &lines);
        pfa_lines_free(&lines);
    }
}

static void put_leaks(pfa_json_t *json, const pfa_mprof_t *mprof)
{
    pfa_json_begin(json, "leaks", '[');
    for (size_t i = 0; i < mprof->leaks.count; i++) {
        const pfa_mprof_row_t *leak = &mprof->leaks.rows[i];
        pfa_json_begin(json, NULL, '{');
        put_chunks(json, mprof, "allocs", &leak->all);
        put_bytes(json, mprof, "bytes", &leak->all);
        put_chunks(json, mprof, "kept_chunks", &leak->kept);
        put_bytes(json, mprof, "kept", &leak->kept);
        if (mprof->leaks.naming == PFA_NAMED_GROUP) {
            put_group(json, mprof, leak->what, true);
        } else {
            put_path(json, mprof, &mprof->paths[leak->what]);
        }
        pfa_json_end(json, '}');
    }
    pfa_json_end(json, ']');
}

static void put_bin(pfa_json_t *json, const pfa_mprof_t *mprof, const pfa_mprof_row_t *bin)
{
    bool sized = bin->what <= PFA_BIN_LARGEST;
    pfa_json_begin(json, NULL, '{');
    if (sized) {
        pfa_json_whole(json, "size", bin->what);
    } else {
        pfa_json_text(json, "size", NULL);
    }
    put_chunks(json, mprof, "allocs", &bin->all);
    put_bytes(json, mprof, "bytes", &bin->all);
    pfa_json_number(json, "frees", bin->all.chunks - bin->kept.chunks);
    put_bytes(json, mprof, "kept", &bin->kept);
    size_t count = 0;
    const pfa_type_t *types = sized ? pfa_types_find(&mprof->types, bin->what, &count) : NULL;
    pfa_json_begin(json, "types", '[');
    for (size_t i = 0; i < count; i++) {
        pfa_json_text(json, NULL, types[i].name);
    }
    pfa_json_end(json, ']');
    pfa_json_end(json, '}');
}

static void put_bins(pfa_json_t *json, const pfa_mprof_t *mprof)
{
    pfa_json_begin(json, "bins", '[');
    for (size_t i = 0; i < mprof->bins.count; i++) {
        put_bin(json, mprof, &mprof->bins.rows[i]);
    }
    pfa_json_end(json, ']');
}

static void put_direct(pfa_json_t *json, const pfa_mprof_t *mprof)
{
    pfa_json_begin(json, "direct", '[');
    for (size_t i = 0; i < mprof->direct.count; i++) {
        const pfa_mprof_row_t *row = &mprof->direct.rows[i];
        pfa_json_begin(json, NULL, '{');
        if (mprof->direct.naming == PFA_NAMED_GROUP) {
            put_group(json, mprof, row->what, false);
        } else {
            put_function(json, mprof, row->what);
        }
        put_chunks(json, mprof, "calls", &row->all);
        put_bytes(json, mprof, "bytes", &row->all);
        put_sizes(json, "sizes", &row->all);
        put_bytes(json, mprof, "kept", &row->kept);
        put_sizes(json, "kept_sizes", &row->kept);
        pfa_json_end(json, '}');
    }
    pfa_json_end(json, ']');
}

/* Of callers and callees in the same cycle only the calls are known: the rest is left out. */
static void put_arcs(pfa_json_t *json, const pfa_mprof_t *mprof, const uint32_t *list, uint32_t count, bool callers)
{
    const pfa_callgraph_t *graph = &mprof->graph;
    pfa_json_begin(json, callers ? "ancestors" : "descendents", '[');
    for (uint32_t i = 0; i < count; i++) {
        const pfa_callarc_t *arc = &graph->arcs[list[i]];
        const pfa_callnode_t *node = &graph->nodes[callers ? arc->caller : arc->callee];
        pfa_json_begin(json, NULL, '{');
        pfa_json_whole(json, "index", node->index);
        pfa_json_number(json, "called", arc->sum.chunks);
        pfa_json_bool(json, "same_cycle", arc->within);
        if (!arc->within) {
            pfa_json_number(json, "total", callers ? node->made : node->called);
            put_bytes(json, mprof, "bytes", &arc->sum);
            put_sizes(json, "sizes", &arc->sum);
        }
        pfa_json_end(json, '}');
    }
    pfa_json_end(json, ']');
}

static void put_cycle(pfa_json_t *json, const pfa_callgraph_t *graph, const pfa_callnode_t *node)
{
    pfa_json_whole(json, "cycle", node->number);
    pfa_json_begin(json, "members", '[');
    for (uint32_t i = 0; i < node->member_count; i++) {
        pfa_json_whole(json, NULL, graph->nodes[graph->members[node->first_member + i]].index);
    }
    pfa_json_end(json, ']');
}

static void put_entry(pfa_json_t *json, const pfa_mprof_t *mprof, uint32_t number)
{
    const pfa_callgraph_t *graph = &mprof->graph;
    const pfa_callnode_t *node = &graph->nodes[number];
    pfa_json_begin(json, NULL, '{');
    pfa_json_whole(json, "index", node->index);
    if (pfa_callgraph_is_cycle(graph, number)) {
        put_cycle(json, graph, node);
    } else {
        put_function(json, mprof, number);
        if (node->cycle != PFA_NO_CYCLE) {
            pfa_json_whole(json, "cycle", graph->nodes[node->cycle].number);
        }
    }
    put_bytes(json, mprof, "self", &node->self);
    put_sizes(json, "self_sizes", &node->self);
    put_bytes(json, mprof, "self_and_descendents", &node->all);
    put_sizes(json, "self_and_descendents_sizes", &node->all);
    pfa_json_number(json, "called", node->called);
    pfa_json_number(json, "recur", node->recur);
    put_arcs(json, mprof, &graph->arcs_in[node->first_in], node->in_count, true);
    put_arcs(json, mprof, &graph->arcs_out[node->first_out], node->out_count, false);
    pfa_json_end(json, '}');
}

static void put_all(FILE *to, const pfa_mprof_t *mprof)
{
    pfa_json_t json = {.to = to};
    pfa_json_begin(&json, NULL, '{');
    pfa_json_text(&json, "schema", "profalloc-mprof");
    pfa_json_whole(&json, "version", VERSION);
    pfa_query_tell_json(mprof->query, &json);
    pfa_json_text(&json, "by", mprof->query->key != NULL ? mprof->query->key->name : NULL);
    put_totals(&json, mprof);
    if (mprof->options.leak_table) {
        put_leaks(&json, mprof);
    }
    put_bins(&json, mprof);
    put_direct(&json, mprof);
    pfa_json_begin(&json, "graph", '[');
    for (uint32_t i = 0; i < mprof->graph.order_count; i++) {
        put_entry(&json, mprof, mprof->graph.order[i]);
    }
    pfa_json_end(&json, ']');
    pfa_json_end(&json, '}');
}

static void write_json(void *answer, void *to)
{
    put_all(to, answer);
}

int pfa_mprof_json(pfa_mprof_t *mprof, FILE *to)
{
    return pfa_answer_write(mprof, write_json, to);
}
