/* Owns the totals of a trace. See analyze/tally.h. */
#include "analyze/tally.h"

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

static void add_kind(void *to, const pfa_batch_kind_t *kind, double weight, bool live)
{
    context_t *context = to;
    pfa_tally_kind(context->tally, context->trace, kind, weight, live);
}

int pfa_tally_trace(pfa_tally_t *tally, pfa_trace_t *trace)
{
    context_t context = {.tally = tally, .trace = trace};
    pfa_visitor_t visitor = {.to = &context, .kind = add_kind};
    *tally = (pfa_tally_t){.frees = 0};
    pfa_tally_folds(tally, trace);
    return pfa_rows_walk(trace, &visitor, true, "counting");
}
