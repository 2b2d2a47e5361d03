/* Rows of a trace while a walk goes through them. A slab has those of one block, or some ten thousand of a live table; a walk has some slabs
 * at a time. They are filled by any thread, each slab by one; then, in their order, what is not known yet of their kinds is looked up; then they
 * are told, also by several threads: each lane by one. For analyze/query alone. */
#ifndef PFA_ANALYZE_QUERY_SLAB_H
#define PFA_ANALYZE_QUERY_SLAB_H

#include "analyze/query/query.h"
#include "analyze/trace/rows.h"

/* Of kinds that are not asked for, and of rows. */
#define PFA_SKIP PFA_ROW_SKIP

/* So many at a time, however many threads there are: what a walk tells must not depend on that. */
enum { PFA_SLABS = 16 };

typedef struct pfa_slab_kind {
    pfa_kind_t kind;    /* the group is PFA_SKIP if it is not asked for */
    uint32_t rows;      /* that are asked for */
    uint32_t open : 31; /* 1 and which of the kinds whose rows are to be asked one by one; 0: it is not */
    uint32_t raw : 1;   /* its stacks are nodes of the trace still */
} pfa_slab_kind_t;
_Static_assert(sizeof(pfa_slab_kind_t) == 64, "a kind is as large as a line of the cache");

typedef struct pfa_slab {
    pfa_slab_kind_t *kinds; /* in `kinds_block`, each in a line of the cache */
    void *kinds_block;
    uint32_t kind_count;
    size_t kind_room;
    const uint64_t *asked; /* by kind, a bit if it is asked for, as an earlier walk found; NULL: not known */
    uint32_t asked_count;
    uint32_t *late; /* kinds that have to be looked up in order */
    uint32_t late_count;
    size_t late_room;
    pfa_chunk_row_t *rows;
    uint32_t row_count;
    size_t row_room;
    pfa_event_accesses_t *accesses; /* by row, if they are asked for */
    size_t access_room;
    pfa_row_t *whole; /* likewise */
    size_t whole_room;
    pfa_tally_t tally; /* of all its kinds */
    bool bad;          /* it ends in what makes no sense */
    bool sorted;       /* by lanes */
    /* Lane by lane: the numbers of kinds, and copies of rows, so that those of a lane lie together; behind them, what is not asked for. */
    uint32_t *kind_order;
    size_t kind_order_room;
    uint16_t *kind_lanes; /* by kind; PFA_LANES: it is not asked for */
    size_t kind_lane_room;
    pfa_chunk_row_t *lane_rows;
    size_t lane_row_room;
    pfa_event_accesses_t *lane_accesses;
    size_t lane_access_room;
    uint32_t kind_starts[PFA_LANES + 1]; /* and in the last place, where those that are asked for end */
    uint32_t row_starts[PFA_LANES + 1];
} pfa_slab_t;

/* What slabs are filled with. */
typedef struct pfa_slab_source {
    const pfa_query_t *query;
    const pfa_source_t *source;
    const pfa_trace_t *trace;
    const uint8_t *met; /* by stack, up to `met_count`: in which roles a walk has told it; NULL: nobody is told */
    size_t met_count;
    bool rows;
    bool accesses;
    bool whole;
    bool all_late; /* kinds depend on what is found out in order */
} pfa_slab_source_t;

/* Roles of stacks. */
enum { PFA_MET_DEAD = 1, PFA_MET_LIVE = 2, PFA_MET_FREES = 4 };

void pfa_slab_clear(pfa_slab_t *slab);
void pfa_slab_free(pfa_slab_t *slab);
/* As a visitor's functions (analyze/trace/rows.h). */
uint32_t pfa_slab_add_kind(pfa_slab_t *slab, const pfa_slab_source_t *from, const pfa_batch_kind_t *kind, double weight,
                           bool live);
void pfa_slab_add_row(pfa_slab_t *slab, const pfa_slab_source_t *from, uint32_t kind, const pfa_row_t *row);
/* Space for so many more rows, without accesses, and how many of them were filled then. */
pfa_chunk_row_t *pfa_slab_room(pfa_slab_t *slab, uint32_t count);
void pfa_slab_add_rows(pfa_slab_t *slab, uint32_t count);
/* Puts kinds and rows in order by lanes, with accesses or not. */
void pfa_slab_sort(pfa_slab_t *slab, bool accesses);

static inline double pfa_slab_ns(const pfa_source_t *source, uint64_t time)
{
    return source->start_ns + (double)(int64_t)(time - source->start.counter) * source->ns_per_tick;
}

/* What there is to say of a chunk's accesses, once its times are told. */
void pfa_slab_tell_accesses(const pfa_source_t *source, pfa_chunk_t *chunk, uint64_t size);

/* A chunk as it is told; with accesses, unless they are NULL or not known. Inlined: walks call it for each row. */
static inline void pfa_slab_chunk(const pfa_kind_t *kind, const pfa_chunk_row_t *row,
                                  const pfa_event_accesses_t *accesses, pfa_chunk_t *chunk)
{
    const pfa_source_t *source = kind->source;
    chunk->row = row;
    chunk->whole = NULL;
    chunk->born = pfa_slab_ns(source, row->alloc_time);
    chunk->died = kind->live ? source->end_ns : pfa_slab_ns(source, row->free_time);
    chunk->died = chunk->died > chunk->born ? chunk->died : chunk->born;
    chunk->life = kind->live ? chunk->died - chunk->born : (double)row->life * source->ns_per_tick;
    chunk->accesses = row->told ? accesses : NULL;
    if (chunk->accesses != NULL) {
        pfa_slab_tell_accesses(source, chunk, kind->size);
    }
}

#endif
