/* Owns mprof's tables as JSON: everything, whatever the verbosity; figures are bytes and counts, not percentages. */
#include "analyze/mprof/mprof.h"
#include "analyze/tool/json.h"

#include <math.h>

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

static void put_function(pfa_json_t *json, const pfa_mprof_t *mprof, uint32_t number)
{
    const pfa_function_t *function = &mprof->functions.list[number];
    pfa_json_text(json, "function", function->name);
    pfa_json_text(json, "module", function->module[0] != '\0' ? function->module : NULL);
}

static void put_totals(pfa_json_t *json, const pfa_mprof_t *mprof)
{
    pfa_json_begin(json, "totals", '{');
    pfa_json_number(json, "allocs", mprof->all.chunks);
    pfa_json_number(json, "bytes", mprof->all.bytes);
    put_sizes(json, "sizes", &mprof->all);
    pfa_json_number(json, "kept_chunks", mprof->kept.chunks);
    pfa_json_number(json, "kept", mprof->kept.bytes);
    put_sizes(json, "kept_sizes", &mprof->kept);
    pfa_json_number(json, "folded", mprof->folded);
    pfa_json_number(json, "folded_bytes", mprof->folded_bytes);
    pfa_json_end(json, '}');
    pfa_json_begin(json, "half_width_95", '{');
    pfa_json_number(json, "allocs", 1.96 * sqrt(mprof->spread.chunks));
    pfa_json_number(json, "bytes", 1.96 * sqrt(mprof->spread.bytes));
    pfa_json_number(json, "kept", 1.96 * sqrt(mprof->spread.kept));
    pfa_json_end(json, '}');
}

static void put_path(pfa_json_t *json, const pfa_mprof_t *mprof, const pfa_mprof_leak_t *leak)
{
    pfa_json_bool(json, "more_callers", leak->more);
    pfa_json_begin(json, "path", '[');
    for (uint32_t i = leak->count; i-- > 0;) {
        pfa_json_begin(json, NULL, '{');
        put_function(json, mprof, leak->functions[i]);
        if (leak->offsets[i] != 0) {
            pfa_json_whole(json, "offset", leak->offsets[i]);
        }
        pfa_json_end(json, '}');
    }
    pfa_json_end(json, ']');
}

static void put_leaks(pfa_json_t *json, const pfa_mprof_t *mprof)
{
    pfa_json_begin(json, "leaks", '[');
    for (size_t i = 0; i < mprof->leak_count; i++) {
        const pfa_mprof_leak_t *leak = &mprof->leaks[i];
        pfa_json_begin(json, NULL, '{');
        pfa_json_number(json, "allocs", leak->all.chunks);
        pfa_json_number(json, "bytes", leak->all.bytes);
        pfa_json_number(json, "kept_chunks", leak->kept.chunks);
        pfa_json_number(json, "kept", leak->kept.bytes);
        put_path(json, mprof, leak);
        pfa_json_end(json, '}');
    }
    pfa_json_end(json, ']');
}

static void put_bin(pfa_json_t *json, const pfa_mprof_t *mprof, uint32_t number)
{
    const pfa_mprof_bin_t *bin = &mprof->bins[number];
    pfa_json_begin(json, NULL, '{');
    if (number <= PFA_BIN_LARGEST) {
        pfa_json_whole(json, "size", number);
    } else {
        pfa_json_text(json, "size", NULL);
    }
    pfa_json_number(json, "allocs", bin->allocs);
    pfa_json_number(json, "bytes", bin->bytes);
    pfa_json_number(json, "frees", bin->frees);
    pfa_json_number(json, "kept", bin->kept);
    size_t count = 0;
    const pfa_type_t *types = number <= PFA_BIN_LARGEST ? pfa_types_find(&mprof->types, number, &count) : NULL;
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
    for (uint32_t i = 0; i < PFA_BINS; i++) {
        if (mprof->bins[i].allocs > 0) {
            put_bin(json, mprof, i);
        }
    }
    pfa_json_end(json, ']');
}

static void put_direct(pfa_json_t *json, const pfa_mprof_t *mprof)
{
    pfa_json_begin(json, "direct", '[');
    for (size_t i = 0; i < mprof->direct_count; i++) {
        const pfa_sum_t *self = &mprof->graph.nodes[mprof->direct[i]].self;
        const pfa_sum_t *kept = &mprof->direct_kept[mprof->direct[i]];
        pfa_json_begin(json, NULL, '{');
        put_function(json, mprof, mprof->direct[i]);
        pfa_json_number(json, "calls", self->chunks);
        pfa_json_number(json, "bytes", self->bytes);
        put_sizes(json, "sizes", self);
        pfa_json_number(json, "kept", kept->bytes);
        put_sizes(json, "kept_sizes", kept);
        pfa_json_end(json, '}');
    }
    pfa_json_end(json, ']');
}

/* Of callers and callees in the same cycle only the calls are known: the rest is left out. */
static void put_arcs(pfa_json_t *json, const pfa_callgraph_t *graph, const uint32_t *list, uint32_t count, bool callers)
{
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
            pfa_json_number(json, "bytes", arc->sum.bytes);
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
    pfa_json_number(json, "self", node->self.bytes);
    put_sizes(json, "self_sizes", &node->self);
    pfa_json_number(json, "self_and_descendents", node->all.bytes);
    put_sizes(json, "self_and_descendents_sizes", &node->all);
    pfa_json_number(json, "called", node->called);
    pfa_json_number(json, "recur", node->recur);
    put_arcs(json, graph, &graph->arcs_in[node->first_in], node->in_count, true);
    put_arcs(json, graph, &graph->arcs_out[node->first_out], node->out_count, false);
    pfa_json_end(json, '}');
}

void pfa_mprof_json(const pfa_mprof_t *mprof, pfa_query_t *query)
{
    pfa_json_t json = {.to = stdout};
    pfa_json_begin(&json, NULL, '{');
    pfa_json_text(&json, "schema", "profalloc-mprof");
    pfa_json_whole(&json, "version", VERSION);
    pfa_query_tell_json(query, &json);
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
