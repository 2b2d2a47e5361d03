/* Owns the allocation call graph as text. See analyze/mprof/callgraph.h for what is in it.
 *
 * An entry is the function's own line, its callers above it and what it called below, each with the largest first, and with
 * more than one of them a line for all together. A cycle is listed twice: its members with what each allocated itself, and then
 * the entry it would have if they were one function. Lines of callers and callees in the same cycle as the function have only
 * the number of calls: which bytes were asked for by whom cannot be told there, and `total` counts no calls within a cycle. */
#include "analyze/mprof/mprof.h"
#include "analyze/base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* What a line has in front of the name; NULL is blank. */
typedef struct line {
    const char *index;
    const char *part; /* self + desc */
    const char *bytes;
    const char *within;
    const char *percent;
    const char *sizes;
    const char *fractions;
    const char *calls;
} line_t;

static const char rule[] = "-----------";

static const char *text_or(const char *text)
{
    return text != NULL ? text : "";
}

/* Without calls, there is no name behind it either. */
static void print_line(FILE *to, const pfa_mprof_t *mprof, const line_t *line)
{
    const char *within = line->within != NULL ? line->within : pfa_mprof_within_none(mprof);
    fprintf(to, "%-7s %11s %14s%s %5s  %-11s | %-11s |", text_or(line->index), text_or(line->part),
            text_or(line->bytes), within, text_or(line->percent), text_or(line->sizes), text_or(line->fractions));
    if (line->calls != NULL) {
        fprintf(to, " %21s  ", line->calls);
    } else {
        fputc('\n', to);
    }
}

/* A line of a sum: its bytes, their breakdown, and what they are of `whole` unless the line has something else there. */
static void print_sum(FILE *to, const pfa_mprof_t *mprof, line_t line, const pfa_sum_t *sum, double whole)
{
    char bytes[PFA_NUMBER_TEXT];
    char within[PFA_PERCENT_TEXT];
    char breakdowns[2][PFA_BREAKDOWN_TEXT];
    snprintf(bytes, sizeof bytes, "%.0f", sum->bytes);
    line.bytes = bytes;
    line.within = pfa_mprof_within(mprof, within, sum);
    line.sizes = pfa_mprof_percent_breakdown(breakdowns[0], sum, sum->bytes);
    if (line.fractions == NULL) {
        line.fractions = pfa_mprof_percent_breakdown(breakdowns[1], sum, whole);
    }
    print_line(to, mprof, &line);
}

static void print_name(FILE *to, const pfa_mprof_t *mprof, uint32_t number)
{
    const pfa_callgraph_t *graph = &mprof->graph;
    const pfa_callnode_t *node = &graph->nodes[number];
    if (pfa_callgraph_is_cycle(graph, number)) {
        fprintf(to, "<cycle %" PRIu32 ">", node->number);
    } else {
        pfa_function_text(to, &mprof->functions, number);
        if (node->cycle != PFA_NO_CYCLE) {
            fprintf(to, " <cycle %" PRIu32 ">", graph->nodes[node->cycle].number);
        }
    }
    fprintf(to, " [%" PRIu32 "]\n", node->index);
}

static void print_rule(FILE *to, const pfa_mprof_t *mprof)
{
    print_line(to, mprof, &(line_t){.sizes = " s--m--l--x", .fractions = " s--m--l--x"});
}

/* "called/total", or without the second if there is none to tell. */
static const char *calls_text(char text[2 * PFA_NUMBER_TEXT], double called, double other, bool both)
{
    int size = snprintf(text, 2 * PFA_NUMBER_TEXT, "%.0f", called);
    if (both) {
        snprintf(text + size, 2 * PFA_NUMBER_TEXT - (size_t)size, "/%.0f", other);
    }
    return text;
}

/* One caller or callee of the entry. `whole` is what its bytes are a part of. */
static void print_arc(FILE *to, const pfa_mprof_t *mprof, const pfa_callarc_t *arc, bool caller, double whole)
{
    char calls[2 * PFA_NUMBER_TEXT];
    char percent[PFA_PERCENT_TEXT];
    uint32_t number = caller ? arc->caller : arc->callee;
    const pfa_callnode_t *node = &mprof->graph.nodes[number];
    line_t line = {.calls = calls_text(calls, arc->sum.chunks, caller ? node->made : node->called, !arc->within)};
    if (arc->within) {
        print_line(to, mprof, &line);
    } else {
        line.percent = pfa_mprof_percent_long(percent, arc->sum.bytes, whole);
        print_sum(to, mprof, line, &arc->sum, whole);
    }
    print_name(to, mprof, number);
}

/* Callers or callees; those in the same cycle are not in the line for all. */
static void print_arcs(FILE *to, const pfa_mprof_t *mprof, const uint32_t *list, uint32_t count, bool callers,
                       double whole)
{
    const pfa_callarc_t *arcs = mprof->graph.arcs;
    pfa_sum_t sum = {.chunks = 0};
    uint32_t outside = 0;
    for (; outside < count && !arcs[list[outside]].within; outside++) {
        pfa_sum_join(&sum, &arcs[list[outside]].sum);
    }
    if (callers && outside > 1) {
        print_sum(to, mprof, (line_t){.part = "all", .fractions = ""}, &sum, 0);
    }
    for (uint32_t i = 0; i < count; i++) {
        print_arc(to, mprof, &arcs[list[i]], callers, whole);
    }
    if (!callers && outside > 1) {
        print_sum(to, mprof, (line_t){.part = "all", .fractions = ""}, &sum, 0);
    }
}

static void print_self(FILE *to, const pfa_mprof_t *mprof, uint32_t number)
{
    const pfa_callnode_t *node = &mprof->graph.nodes[number];
    char index[PFA_NUMBER_TEXT];
    char part[PFA_NUMBER_TEXT];
    char percent[PFA_PERCENT_TEXT];
    char calls[2 * PFA_NUMBER_TEXT];
    snprintf(index, sizeof index, "[%" PRIu32 "]", node->index);
    snprintf(part, sizeof part, "%.1f", pfa_mprof_percent_of(node->all.bytes, mprof->total.all.bytes));
    line_t line = {.index = index,
                   .part = part,
                   .percent = pfa_mprof_percent_long(percent, node->self.bytes, node->all.bytes),
                   .fractions = rule,
                   .calls = calls_text(calls, node->called, node->recur, round(node->recur) >= 1)};
    print_sum(to, mprof, line, &node->self, 0);
    print_name(to, mprof, number);
}

/* The first appearance of a cycle: percentages and fractions are of what its members allocated themselves. */
static void print_members(FILE *to, const pfa_mprof_t *mprof, uint32_t number)
{
    const pfa_callgraph_t *graph = &mprof->graph;
    const pfa_callnode_t *cycle = &graph->nodes[number];
    print_self(to, mprof, number);
    for (uint32_t i = 0; i < cycle->member_count; i++) {
        const pfa_callnode_t *node = &graph->nodes[graph->members[cycle->first_member + i]];
        char percent[PFA_PERCENT_TEXT];
        char calls[2 * PFA_NUMBER_TEXT];
        line_t line = {.part = "member",
                       .percent = pfa_mprof_percent_long(percent, node->self.bytes, cycle->self.bytes),
                       .calls = calls_text(calls, node->called, node->recur, round(node->recur) >= 1)};
        print_sum(to, mprof, line, &node->self, cycle->self.bytes);
        print_name(to, mprof, graph->members[cycle->first_member + i]);
    }
    print_rule(to, mprof);
}

static void print_entry(FILE *to, const pfa_mprof_t *mprof, uint32_t number)
{
    const pfa_callgraph_t *graph = &mprof->graph;
    const pfa_callnode_t *node = &graph->nodes[number];
    if (pfa_callgraph_is_cycle(graph, number)) {
        print_members(to, mprof, number);
    }
    print_arcs(to, mprof, &graph->arcs_in[node->first_in], node->in_count, true, node->all.bytes);
    print_self(to, mprof, number);
    print_arcs(to, mprof, &graph->arcs_out[node->first_out], node->out_count, false, node->below);
    print_rule(to, mprof);
}

void pfa_callgraph_text(FILE *to, const pfa_mprof_t *mprof)
{
    const pfa_callgraph_t *graph = &mprof->graph;
    fprintf(to, "\nALLOCATION CALL GRAPH\n\n");
    print_line(to, mprof, &(line_t){.sizes = "  /ances", .calls = "called/total"});
    fprintf(to, "ancestors\n");
    print_line(to, mprof,
               &(line_t){.index = "index",
                         .part = "self + desc",
                         .bytes = "self",
                         .within = pfa_mprof_within_head(mprof),
                         .percent = "(%)",
                         .sizes = "size-func",
                         .fractions = "frac",
                         .calls = "called/recur"});
    fprintf(to, "name [index]\n");
    print_line(to, mprof, &(line_t){.sizes = "  \\desc", .calls = "called/total"});
    fprintf(to, "descendents\n");
    print_rule(to, mprof);
    for (uint32_t i = 0; i < graph->order_count && i < mprof->options.top; i++) {
        print_entry(to, mprof, graph->order[i]);
    }
    if (graph->order_count > mprof->options.top) {
        fprintf(to, "  and %zu more\n", graph->order_count - mprof->options.top);
    }
}
