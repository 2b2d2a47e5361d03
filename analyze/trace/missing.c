/* Owns the sentences that say what a trace lacks. Nothing is left out silently: what a report does not count is told by
 * one of these. */
#include "analyze/trace/trace.h"

#include <inttypes.h>

static void tell_file(pfa_trace_t *trace)
{
    const pfa_blocks_t *blocks = &trace->blocks;
    if (blocks->damages != 0) {
        pfa_notes_add(&trace->missing, "%" PRIu64 " damaged place%s in the trace: %" PRIu64 " bytes skipped",
                      blocks->damages, blocks->damages == 1 ? "" : "s", blocks->skipped);
    }
    if (blocks->end < blocks->size) {
        pfa_notes_t *notes = trace->live != NULL ? &trace->remarks : &trace->missing;
        pfa_notes_add(notes, "the last block was not written to its end: %" PRIu64 " bytes skipped%s",
                      blocks->size - blocks->end, trace->live != NULL ? ", the live table has what was in it" : "");
    }
    if (blocks->given_up) {
        pfa_notes_add(&trace->missing, "damaged beyond reading from byte %" PRIu64 " on", blocks->end);
    }
    if (trace->bad_blocks != 0) {
        pfa_notes_add(&trace->missing, "%" PRIu64 " block%s that cannot be decoded", trace->bad_blocks,
                      trace->bad_blocks == 1 ? "" : "s");
    }
    if (!trace->has_start) {
        pfa_notes_add(&trace->missing, "the first block of the trace");
    }
}

static void tell_rings(pfa_trace_t *trace)
{
    uint64_t missing = 0;
    uint64_t repeated = 0;
    for (size_t i = 0; i < trace->ring_count; i++) {
        missing += trace->rings[i].missing;
        repeated += trace->rings[i].repeated;
    }
    /* A block that could not be written has its deaths in the folds; in a file without damage there is no other way. */
    bool damaged = trace->blocks.damages != 0 || trace->blocks.given_up || trace->bad_blocks != 0 ||
                   (!trace->has_end && trace->live == NULL);
    if (missing != 0 && !damaged && trace->counters.folded >= missing) {
        pfa_notes_add(&trace->remarks, "%" PRIu64 " deaths could not be written one by one and are in the totals only",
                      missing);
    } else if (missing != 0) {
        pfa_notes_add(&trace->missing, "%" PRIu64 " deaths that were recorded and are not in the trace", missing);
    }
    if (repeated != 0) {
        pfa_notes_add(&trace->missing, "%" PRIu64 " deaths are in the trace more than once", repeated);
    }
    if (trace->bad_rings != 0) {
        pfa_notes_add(&trace->missing, "%" PRIu64 " ring%s of events that cannot be read", trace->bad_rings,
                      trace->bad_rings == 1 ? "" : "s");
    }
}

static void tell_nodes(pfa_trace_t *trace)
{
    uint64_t unknown = 0;
    for (uint32_t i = PFA_NODE_FIRST; i < trace->node_count; i++) {
        unknown += trace->pcs[i] == 0 && trace->parents[i] == PFA_NODE_UNKNOWN;
    }
    if (unknown != 0) {
        pfa_notes_add(&trace->missing, "%" PRIu64 " frames of stacks", unknown);
    }
}

static void tell_end(pfa_trace_t *trace)
{
    if (trace->has_end) {
        if (trace->picture == 0) {
            pfa_notes_add(&trace->missing, "the chunks that were alive at the end");
        }
        return;
    }
    if (trace->live == NULL) {
        pfa_notes_add(&trace->missing, "the end of the trace, and there is no live table %s: %s", trace->live_path,
                      trace->picture != 0 ? "what happened after the last picture"
                                          : "the last deaths and all chunks that were alive");
        return;
    }
    if (trace->live->ignored != 0) {
        pfa_notes_add(&trace->missing, "%zu parts of the live table that lie outside its file or in one another",
                      trace->live->ignored);
    }
    if (trace->running) {
        pfa_notes_add(&trace->missing, "process %" PRIu32 " goes on: this is the picture of a moment",
                      trace->live->head->pid);
    } else {
        pfa_notes_add(&trace->remarks, "the process did not end the trace; its live table was merged");
    }
}

void pfa_trace_tell_missing(pfa_trace_t *trace)
{
    const pfa_trace_counters_t *counters = &trace->counters;
    tell_file(trace);
    tell_nodes(trace);
    tell_rings(trace);
    tell_end(trace);
    if (counters->unrecorded != 0) {
        pfa_notes_add(&trace->missing, "%" PRIu64 " chunks that there was no room to record", counters->unrecorded);
    }
    if (trace->fold_count != 0) {
        pfa_notes_add(
            &trace->remarks,
            "%" PRIu64
            " deaths are counted but not listed one by one: they came faster than they could be written, or there was no room",
            counters->folded);
    }
    if (counters->inherited != 0) {
        pfa_notes_add(&trace->remarks,
                      "%" PRIu64 " chunks from before a fork, or the trace, were freed, which are another trace's",
                      counters->inherited);
    }
    if (counters->bad_frees != 0) {
        pfa_notes_add(&trace->remarks, "%" PRIu64 " pointers were freed that are no chunks, or not any more",
                      counters->bad_frees);
    }
}
