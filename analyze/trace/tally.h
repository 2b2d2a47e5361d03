/* Totals of a trace: what `report`, `check` and `seal` agree on. Allocations are deaths, folded deaths and live chunks. */
#ifndef PFA_ANALYZE_TRACE_TALLY_H
#define PFA_ANALYZE_TRACE_TALLY_H

#include "analyze/trace/rows.h"

typedef struct pfa_tally {
    double frees;
    double bytes_freed;
    double live_chunks;
    double live_bytes;
    uint64_t deaths; /* rows */
    uint64_t lives;
    uint64_t unknown_stacks; /* rows whose stack is not in the trace */
} pfa_tally_t;

/* Adds rows to a tally; for visitors. */
void pfa_tally_kind(pfa_tally_t *tally, const pfa_trace_t *trace, const pfa_batch_kind_t *kind, double weight,
                    bool live);
/* Adds what is in another one. */
void pfa_tally_join(pfa_tally_t *tally, const pfa_tally_t *other);
void pfa_tally_folds(pfa_tally_t *tally, const pfa_trace_t *trace);
/* All of a trace. 0 or an error number. */
int pfa_tally_trace(pfa_tally_t *tally, const pfa_trace_t *trace, pfa_account_t *account);
/* The same, and every row of every block is decoded, also of pictures that do not count. */
int pfa_tally_check(pfa_tally_t *tally, const pfa_trace_t *trace, pfa_account_t *account);
/* Says what is missing, once all rows were walked through: pfa_trace_tell_missing, and what the tally shows. */
void pfa_tally_tell_missing(const pfa_tally_t *tally, const pfa_trace_t *trace, pfa_account_t *account);

#endif
