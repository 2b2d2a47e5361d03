/* Owns the totals of a trace. See analyze/trace/tally.h. */
#include "analyze/trace/tally.h"
#include "analyze/base/notes.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void pfa_tally_kind(pfa_tally_t *tally, const pfa_trace_t *trace, const pfa_batch_kind_t *kind, double weight,
                    bool live)
{
    double chunks = weight * kind->rows;
    double bytes = chunks * (double)(kind->size_flags >> PFA_RECORD_SIZE_SHIFT);
    *(live ? &tally->live_chunks : &tally->frees) += chunks;
    *(live ? &tally->live_bytes : &tally->bytes_freed) += bytes;
    *(live ? &tally->lives : &tally->deaths) += kind->rows;
    tally->unknown_stacks += kind->stack >= trace->node_count ? kind->rows : 0;
}

void pfa_tally_join(pfa_tally_t *tally, const pfa_tally_t *other)
{
    tally->frees += other->frees;
    tally->bytes_freed += other->bytes_freed;
    tally->live_chunks += other->live_chunks;
    tally->live_bytes += other->live_bytes;
    tally->deaths += other->deaths;
    tally->lives += other->lives;
    tally->unknown_stacks += other->unknown_stacks;
}

void pfa_tally_folds(pfa_tally_t *tally, const pfa_trace_t *trace)
{
    for (size_t i = 0; i < trace->fold_count; i++) {
        tally->frees += (double)trace->folds[i].chunks / 1024;
        tally->bytes_freed += (double)trace->folds[i].bytes;
    }
}

typedef struct context {
    pfa_tally_t *tally;
    const pfa_trace_t *trace;
} context_t;

static uint32_t add_kind(void *to, const pfa_batch_kind_t *kind, double weight, bool live)
{
    context_t *context = to;
    pfa_tally_kind(context->tally, context->trace, kind, weight, live);
    return 0;
}

/* That there is one has the rows decoded. */
static void ignore_row(void *to, uint32_t kind, const pfa_row_t *row, double weight, bool live)
{
    (void)to;
    (void)kind;
    (void)row;
    (void)weight;
    (void)live;
}

static int walk(pfa_tally_t *tally, const pfa_trace_t *trace, pfa_account_t *account, bool rows)
{
    context_t context = {.tally = tally, .trace = trace};
    pfa_visitor_t visitor = {.to = &context, .accesses = rows, .kind = add_kind, .row = rows ? ignore_row : NULL};
    *tally = (pfa_tally_t){.frees = 0};
    pfa_tally_folds(tally, trace);
    return pfa_rows_walk(trace, &visitor, &account->bad_blocks, rows ? "checking" : "counting");
}

int pfa_tally_trace(pfa_tally_t *tally, const pfa_trace_t *trace, pfa_account_t *account)
{
    return walk(tally, trace, account, false);
}

/* Whether a block is of a picture that does not count, which the walk leaves out. */
static bool is_other_picture(const pfa_trace_t *trace, pfa_loader_t *loader, const pfa_block_t *block)
{
    pfa_bytes_t payload = {.bytes = NULL};
    pfa_trace_live_t live;
    bool other = false;
    if (block->kind == PFA_BLOCK_LIVE && pfa_block_load_start(loader, block, sizeof live, &payload) == 0 &&
        payload.size == sizeof live) {
        memcpy(&live, payload.bytes, sizeof live);
        other = !pfa_trace_is_final(trace, &live);
    }
    pfa_bytes_free(&payload);
    return other;
}

int pfa_tally_check(pfa_tally_t *tally, const pfa_trace_t *trace, pfa_account_t *account)
{
    pfa_visitor_t nothing = {.accesses = true, .row = ignore_row};
    int error = walk(tally, trace, account, true);
    pfa_loader_t *loader = pfa_loader_new(trace->fd);
    pfa_rows_t *rows = pfa_rows_begin(trace, &nothing, true);
    for (size_t i = 0; i < trace->blocks.count; i++) {
        const pfa_block_t *block = &trace->blocks.list[i];
        account->bad_blocks += is_other_picture(trace, loader, block) && !pfa_rows_block(rows, block);
    }
    pfa_rows_end(rows);
    pfa_loader_free(loader);
    return error;
}

/* Whole numbers agree if equal. Estimates from samples were rounded one by one where they were counted. */
static bool agree(double ours, uint64_t theirs, bool sampled)
{
    double allowed = sampled ? 1 + 1e-3 * ours : 0.75;
    return fabs(ours - (double)theirs) <= allowed;
}

static void compare(const pfa_trace_t *trace, pfa_account_t *account, const char *what, double ours, uint64_t theirs)
{
    bool sampled = false;
    for (size_t i = 1; i < PFA_LIVE_WEIGHTS; i++) {
        sampled = sampled || trace->weights[i] > 1;
    }
    if (!agree(ours, theirs, sampled)) {
        pfa_notes_add(&account->missing, "%s: %.0f in the trace, %" PRIu64 " counted by the library", what, ours,
                      theirs);
    }
}

static void compare_counters(const pfa_trace_t *trace, pfa_account_t *account, const pfa_tally_t *tally)
{
    const pfa_trace_counters_t *counters = &trace->counters;
    if (!trace->has_counters || trace->running || trace->end.how == PFA_END_STOPPED ||
        trace->start.origin == PFA_ORIGIN_NEXT) {
        return; /* threads went on while it began or ended, or go on */
    }
    compare(trace, account, "allocations", tally->frees + tally->live_chunks, counters->allocations);
    compare(trace, account, "frees", tally->frees, counters->frees);
    compare(trace, account, "allocated bytes", tally->bytes_freed + tally->live_bytes, counters->bytes_allocated);
    compare(trace, account, "freed bytes", tally->bytes_freed, counters->bytes_freed);
}

static void compare_index(const pfa_trace_t *trace, pfa_account_t *account)
{
    if (trace->has_end && trace->end.blocks + (size_t)1 != trace->blocks.count) {
        pfa_notes_add(&account->missing, "%zu blocks before the end, and %" PRIu32 " were written",
                      trace->blocks.count - 1, trace->end.blocks);
    }
}

void pfa_tally_tell_missing(const pfa_tally_t *tally, const pfa_trace_t *trace, pfa_account_t *account)
{
    pfa_trace_tell_opened(trace, account);
    compare_index(trace, account);
    pfa_trace_tell_missing(trace, account);
    if (tally->unknown_stacks != 0) {
        pfa_notes_add(&account->missing, "the stacks of %" PRIu64 " chunks", tally->unknown_stacks);
    }
    compare_counters(trace, account, tally);
}
