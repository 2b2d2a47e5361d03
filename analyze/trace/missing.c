/* Owns the sentences that say what a trace lacks. Nothing is left out silently: what a report does not count is told by
 * one of these. */
#include "analyze/trace/trace.h"
#include "analyze/base/notes.h"

#include <inttypes.h>

void pfa_account_free(pfa_account_t *account)
{
    pfa_notes_free(&account->missing);
    pfa_notes_free(&account->remarks);
}

void pfa_trace_tell_opened(const pfa_trace_t *trace, pfa_account_t *account)
{
    pfa_notes_join(&account->missing, &trace->missing);
    pfa_notes_join(&account->remarks, &trace->remarks);
}

static void tell_file(const pfa_trace_t *trace, pfa_account_t *account)
{
    const pfa_blocks_t *blocks = &trace->blocks;
    if (blocks->damages != 0) {
        pfa_notes_add(&account->missing, "%" PRIu64 " damaged place%s in the trace: %" PRIu64 " bytes skipped",
                      blocks->damages, blocks->damages == 1 ? "" : "s", blocks->skipped);
    }
    if (blocks->end < blocks->size) {
        bool there = trace->live != NULL && pfa_trace_lost(trace, account) == 0;
        pfa_notes_add(there ? &account->remarks : &account->missing,
                      "the last block was not written to its end: %" PRIu64 " bytes skipped%s",
                      blocks->size - blocks->end, there ? ", the live table has what was in it" : "");
    }
    if (blocks->given_up) {
        pfa_notes_add(&account->missing, "damaged beyond reading from byte %" PRIu64 " on", blocks->end);
    }
    uint64_t bad = trace->bad_blocks + account->bad_blocks;
    if (bad != 0) {
        pfa_notes_add(&account->missing, "%" PRIu64 " block%s that cannot be decoded", bad, bad == 1 ? "" : "s");
    }
    if (!trace->has_start) {
        pfa_notes_add(&account->missing, "the first block of the trace");
    }
}

/* Entries of rings that are in no block, and, of these, those in folds. */
static uint64_t count_gaps(const pfa_trace_t *trace, uint64_t *folded)
{
    uint64_t missing = 0;
    *folded = 0;
    for (size_t i = 0; i < trace->ring_count; i++) {
        missing += trace->rings[i].missing;
        *folded += trace->rings[i].folded;
    }
    return missing;
}

/* A live table says which entries are in folds. In a trace that has its end they are those that whoever ended it did not find
 * lost: the runtime leaves no gaps in one that it can end. */
uint64_t pfa_trace_lost(const pfa_trace_t *trace, const pfa_account_t *account)
{
    uint64_t folded;
    uint64_t missing = count_gaps(trace, &folded);
    const pfa_trace_counters_t *counters = &trace->counters;
    bool damaged = trace->blocks.damages != 0 || trace->blocks.given_up || trace->bad_blocks != 0 ||
                   account->bad_blocks != 0 || !trace->has_end;
    if (trace->live != NULL) {
        return missing - folded;
    }
    uint64_t known = missing > counters->lost ? missing : counters->lost;
    return damaged || missing > counters->lost + counters->folded ? known : counters->lost;
}

static void tell_rings(const pfa_trace_t *trace, pfa_account_t *account)
{
    uint64_t folded;
    uint64_t missing = count_gaps(trace, &folded);
    uint64_t lost = pfa_trace_lost(trace, account);
    uint64_t repeated = 0;
    for (size_t i = 0; i < trace->ring_count; i++) {
        repeated += trace->rings[i].repeated;
    }
    if (missing > lost) {
        pfa_notes_add(&account->remarks,
                      "%" PRIu64 " deaths could not be written one by one and are in the totals only", missing - lost);
    }
    if (lost != 0) {
        pfa_notes_add(&account->missing, "%" PRIu64 " deaths that were recorded and are not in the trace", lost);
    }
    if (repeated != 0) {
        pfa_notes_add(&account->missing, "%" PRIu64 " deaths are in the trace more than once", repeated);
    }
}

static void tell_nodes(const pfa_trace_t *trace, pfa_account_t *account)
{
    uint64_t unknown = 0;
    for (uint32_t i = PFA_NODE_FIRST; i < trace->node_count; i++) {
        unknown += trace->pcs[i] == 0 && trace->parents[i] == PFA_NODE_UNKNOWN;
    }
    if (unknown != 0) {
        pfa_notes_add(&account->missing, "%" PRIu64 " frames of stacks", unknown);
    }
}

static void tell_end(const pfa_trace_t *trace, pfa_account_t *account)
{
    if (trace->has_end) {
        if (trace->picture == 0) {
            pfa_notes_add(&account->missing, "the chunks that were alive at the end");
        }
        return;
    }
    if (trace->live == NULL) {
        pfa_notes_add(&account->missing, "the end of the trace, and there is no live table %s: %s", trace->live_path,
                      trace->picture != 0 ? "what happened after the last picture"
                                          : "the last deaths and all chunks that were alive");
        return;
    }
    if (trace->running) {
        pfa_notes_add(&account->missing, "process %" PRIu32 " goes on: this is the picture of a moment",
                      trace->live->head->pid);
    } else {
        pfa_notes_add(&account->remarks, "the process did not end the trace; its live table was merged");
    }
}

void pfa_trace_tell_missing(const pfa_trace_t *trace, pfa_account_t *account)
{
    const pfa_trace_counters_t *counters = &trace->counters;
    tell_file(trace, account);
    tell_nodes(trace, account);
    tell_rings(trace, account);
    for (size_t i = 0; i < trace->lacks.count; i++) {
        pfa_notes_add(&account->missing, "%s", trace->lacks.list[i]);
    }
    tell_end(trace, account);
    if (counters->unrecorded != 0) {
        pfa_notes_add(&account->missing, "%" PRIu64 " chunks that there was no room to record", counters->unrecorded);
    }
    if (trace->fold_count != 0) {
        pfa_notes_add(
            &account->remarks,
            "%" PRIu64
            " deaths are counted but not listed one by one: they came faster than they could be written, or there was no room",
            counters->folded);
    }
    if (counters->inherited != 0) {
        pfa_notes_add(&account->remarks,
                      "%" PRIu64 " chunks from before a fork, or the trace, were freed, which are another trace's",
                      counters->inherited);
    }
    if (counters->bad_frees != 0) {
        pfa_notes_add(&account->remarks, "%" PRIu64 " pointers were freed that are no chunks, or not any more",
                      counters->bad_frees);
    }
}
