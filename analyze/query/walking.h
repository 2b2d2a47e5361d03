/* A walk while it goes on (analyze/query/walk.c), for its parts: what is new in a slab is looked up (walk_look_up.c), slabs are told
 * (walk_tell.c) and read (walk_read.c). For these alone. */
#ifndef PFA_ANALYZE_QUERY_WALKING_H
#define PFA_ANALYZE_QUERY_WALKING_H

#include "analyze/base/workers.h"
#include "analyze/query/slab.h"
#include "analyze/query/walk.h"
#include "analyze/trace/parts.h"

/* What a thread reads blocks with. */
typedef struct pfa_walk_reader {
    struct pfa_walking *walking;
    pfa_slab_t *slab; /* that is filled */
    pfa_rows_t *rows;
    pfa_part_reader_t *part; /* of a live table */
} pfa_walk_reader_t;

typedef struct pfa_walking {
    pfa_query_t *query;
    const pfa_look_t *looks;
    pfa_look_t all; /* what any of them wants: functions that are not NULL, and flags */
    const pfa_trace_t *trace;
    pfa_source_t *source;
    pfa_workers_t *workers;
    pfa_slab_source_t from;
    pfa_visitor_t visitors[PFA_WORKERS_MOST]; /* by thread */
    pfa_walk_reader_t readers[PFA_WORKERS_MOST];
    pfa_slab_t slabs[PFA_SLABS];
    const pfa_block_t *blocks[PFA_SLABS]; /* of slabs; NULL: they have other rows */
    pfa_parts_t *parts;                   /* of the live table that is read, */
    size_t first_part;                    /* that the first slab has; */
    int errors[PFA_SLABS];
    size_t count;   /* of slabs that are in use */
    bool remembers; /* what is asked of kinds of blocks is asked once for all walks */
    uint64_t bad_blocks;
    uint8_t *met; /* by stack: roles in which this walk has told it */
    size_t met_room;
    double (*numbers)[PFA_FIELDS]; /* of open kinds of a slab */
    size_t number_room;
    uint32_t *slots;
    size_t slot_room;
    uint32_t open_count;
    pfa_asked_t asked;
    pfa_subject_t subject;
} pfa_walking_t;

/* analyze/query/walk_look_up.c: */

/* Whether what there is to say of sources is found out by this walk. */
bool pfa_walk_is_first(const pfa_query_t *query);
uint32_t pfa_walk_find_stack(pfa_walking_t *walking, uint32_t node);
/* Finds out what is not known of the kinds of a slab, and which of its rows are asked for: in order, one slab after the other. */
void pfa_walk_look_up(pfa_walking_t *walking, pfa_slab_t *slab);
/* Of deaths that are known in sums only there is the stack, and that they died: whether they are asked for. */
bool pfa_walk_ask_fold(pfa_walking_t *walking, const pfa_kind_t *kind);

/* analyze/query/walk_tell.c: */

/* Runs tasks, by all threads if several slabs are in use: few rows are told sooner than threads begin. */
void pfa_walk_run(pfa_walking_t *walking, size_t count, pfa_task_t *task);
/* Puts a slab in order by lanes if nothing of it is to be looked up, while it is in the cache. By any thread. */
void pfa_walk_sort_if_known(const pfa_walking_t *walking, pfa_slab_t *slab);
/* Looks up and tells what is in the slabs, which are empty then. */
void pfa_walk_tell(pfa_walking_t *walking);

/* analyze/query/walk_read.c: */

/* Of a source: before, its blocks, what its live table has besides, and after. */
void pfa_walk_begin_reading(pfa_walking_t *walking);
void pfa_walk_blocks(pfa_walking_t *walking, const char *progress);
int pfa_walk_table(pfa_walking_t *walking);
void pfa_walk_end_reading(pfa_walking_t *walking);

#endif
