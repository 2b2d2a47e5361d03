/* The way through all rows of a trace and its live table: every death once, then every chunk that is alive once. Rows are
 * decoded block by block and not kept. */
#ifndef PFA_ANALYZE_TRACE_ROWS_H
#define PFA_ANALYZE_TRACE_ROWS_H

#include "analyze/trace/trace.h"

/* A chunk as it is told. Its moments are cut to the trace's axis, all of them alike: none comes before what was before it. Its life
 * is not, and nor is the time from its birth to its accesses: they are what their differences say. */
typedef struct pfa_row {
    pfa_event_t event; /* of a live chunk the free time is UINT64_MAX */
    uint64_t life;     /* in ticks; 0 of a live chunk */
    bool told;         /* its accesses are known */
    pfa_event_accesses_t accesses;
    pfa_live_place_t
        place; /* where it lies, or lay; of a death the address alone. Only where the visitor asks for it */
} pfa_row_t;

#define PFA_ROW_SKIP UINT32_MAX

/* What is called, with `to`; each may be NULL. `weight` is how many chunks each of the rows stands for. */
typedef struct pfa_visitor {
    void *to;
    bool accesses; /* rows are to be told with them, */
    bool places;   /* and with the places of their chunks */
    /* More kinds begin: those before have no more rows. */
    void (*batch)(void *to);
    /* Rows that have all but their times in common; kind->rows of them. What it returns is told with each of them. */
    uint32_t (*kind)(void *to, const pfa_batch_kind_t *kind, double weight, bool live);
    /* One of them. */
    void (*row)(void *to, uint32_t kind, const pfa_row_t *row, double weight, bool live);
    /* Many at once, where nobody wants more of them than their times. NULL: they come by `row`. `room` returns space for so many rows, and
     * `rows` says how many of them were filled. The kind of each is what `kind` returned; PFA_ROW_SKIP: ignore the row. */
    pfa_batch_brief_t *(*room)(void *to, uint32_t count);
    void (*rows)(void *to, uint32_t count);
} pfa_visitor_t;

/* A death or a live chunk of the live table, as a walk tells it, but for its place. Accesses may be NULL. */
pfa_row_t pfa_row_of(const pfa_trace_t *trace, const pfa_event_t *event, const pfa_event_accesses_t *accesses,
                     bool live);
/* The same of entry `i` of a span, with its place. */
pfa_row_t pfa_row_of_span(const pfa_trace_t *trace, const pfa_live_span_t *span, size_t i);

/* Some batches have whole times, others are cut: together they are in order if all are cut alike. */
void pfa_row_put_on_axis(const pfa_trace_t *trace, pfa_row_t *row);

/* 0, or the error number of a file that can no longer be read. *bad_blocks grows by the number of blocks that make no sense. Any number
 * of walks through one trace may be under way. */
int pfa_rows_walk(const pfa_trace_t *trace, const pfa_visitor_t *visitor, uint64_t *bad_blocks, const char *progress);

/* Block by block, each by any thread that has a pfa_rows_t of its own. pfa_rows_block tells the rows of a block of EVENTS or LIVE; false: they
 * make no sense. One of REGIONS has none, but what it says holds for rows that follow. With `all`, rows of whatever picture are told, also
 * of chunks that died since; else those that a walk tells. Without `all`, and where chunks of the final picture died since, all blocks of LIVE
 * are to be read by one pfa_rows_t: each death is taken off once. */
typedef struct pfa_rows pfa_rows_t;
pfa_rows_t *pfa_rows_begin(const pfa_trace_t *trace, const pfa_visitor_t *visitor, bool all);
bool pfa_rows_block(pfa_rows_t *rows, const pfa_block_t *block);
/* Whether pfa_rows_block has anything to do with it. */
bool pfa_rows_are_in(const pfa_block_t *block, const pfa_visitor_t *visitor);
/* The rows that are in the live table alone: deaths, then live ones. 0 or an error number, as of pfa_rows_walk. */
int pfa_rows_table(pfa_rows_t *rows);
/* Of these, the deaths: where live ones are read in parts (analyze/trace/parts.h). */
void pfa_rows_deaths(pfa_rows_t *rows);
void pfa_rows_end(pfa_rows_t *rows);
/* The deaths that are only in rings. */
typedef void pfa_span_visit_t(void *to, const pfa_live_span_t *span);
void pfa_rows_walk_rings(const pfa_trace_t *trace, pfa_span_visit_t *visit, void *to);

/* The touched part in bytes: up to *behind, not included. */
void pfa_access_bytes(const pfa_event_accesses_t *accesses, uint64_t size, uint64_t *low, uint64_t *behind);

#endif
