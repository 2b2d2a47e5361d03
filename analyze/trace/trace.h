/* A trace as the tool has it open: everything but the rows, which analyze/trace/rows.h walks through. Memory is proportional to
 * nodes, threads and blocks, not to rows. */
#ifndef PFA_ANALYZE_TRACE_TRACE_H
#define PFA_ANALYZE_TRACE_TRACE_H

#include "analyze/trace/blocks.h"
#include "analyze/trace/files.h"
#include "analyze/trace/livetable.h"
#include "analyze/trace/maps.h"
#include "analyze/base/notes.h"
#include "export/format/batch.h"
#include "export/format/trace.h"

typedef struct pfa_module {
    uint64_t bias;
    uint64_t start;
    uint64_t end;
    uint8_t *build_id;
    size_t build_id_size;
    char *path;
    uint32_t flags;  /* PFA_MODULE_... */
    uint32_t number; /* for whoever counts modules across traces; 0 at first */
} pfa_module_t;

/* The modules for the nodes from first_node on, by address. */
typedef struct pfa_module_list {
    uint32_t first_node;
    uint32_t order; /* in the file */
    pfa_module_t *modules;
    size_t count;
} pfa_module_list_t;

/* How far one ring's entries got in EVENTS blocks. */
typedef struct pfa_ring {
    uint32_t number;
    uint64_t end;      /* the highest entry and one */
    uint64_t missing;  /* entries that are in no block, */
    uint64_t folded;   /* and, of these, those that the live table has in folds */
    uint64_t repeated; /* entries that are there again */
} pfa_ring_t;

/* What the program said that chunks hold. */
typedef struct pfa_declared_type {
    uint32_t number;
    uint64_t size; /* of one element; 0: not known */
    char *name;
} pfa_declared_type_t;

typedef struct pfa_tag {
    uint32_t number;
    char *name;
} pfa_tag_t;

/* Of a chunk of the final picture that died while it was taken; sorted. */
typedef struct pfa_chunk_key {
    uint64_t alloc_time;
    uint64_t size_thread; /* size << 16 | thread */
    uint32_t stack;
} pfa_chunk_key_t;

typedef struct pfa_trace {
    char *path;
    char *live_path;
    char *table_path; /* where the trace says that its live table is; NULL: beside it */
    int fd;
    pfa_file_t *file;         /* whose descriptor it is; NULL: it is this trace's own */
    pfa_loader_t *loader;     /* while it is opened, and for who has it alone */
    const pfa_watch_t *watch; /* who is told how far long work with it is */
    pfa_blocks_t blocks;
    pfa_livetable_t *live; /* NULL if the trace was ended, or there is none */
    bool running;          /* the process is still there */

    bool has_start;
    pfa_trace_start_t start;
    char *program;
    char *command; /* arguments with spaces between */
    char *options;

    uint32_t *parents;
    uint64_t *pcs;
    uint32_t node_count;
    size_t parent_room;
    size_t pc_room;
    uint64_t nodes_seen; /* in blocks */
    uint32_t nodes_end;  /* of those in blocks, the highest and one */

    pfa_module_list_t *module_lists; /* by first_node, once all are read */
    size_t module_list_count;
    size_t module_list_room;
    size_t module_count; /* of all lists together */
    pfa_trace_thread_t *threads;
    size_t thread_count;
    size_t thread_room;
    pfa_tag_t *tags;
    size_t tag_count;
    size_t tag_room;
    pfa_declared_type_t *types; /* by number */
    size_t type_count;
    size_t type_room;
    uint64_t weights[PFA_LIVE_WEIGHTS];
    pfa_trace_fold_t *folds;
    size_t fold_count;
    size_t fold_room;
    bool has_counters;
    pfa_trace_counters_t counters;
    pfa_maps_t maps; /* of accesses */
    bool has_clock;
    pfa_trace_clock_t clock; /* the last */
    pfa_notes_t marks;
    bool has_end;
    pfa_trace_end_t end;

    pfa_ring_t *rings;
    size_t ring_count;
    size_t ring_room;
    uint32_t picture;      /* number of the final picture, 0 if there is none that is complete */
    uint32_t last_picture; /* the highest number of any */
    pfa_chunk_key_t *died; /* while the final picture was taken, or of ring's last entries */
    size_t died_count;
    size_t died_room;
    uint64_t *died_marks; /* bits, by a hash of their times: most records can be told apart by it; NULL: none died */
    uint64_t died_mark_mask;
    uint64_t bad_blocks; /* whole, but they do not make sense */
    uint64_t last_time;
    uint32_t shift; /* by which lives were cut with the times of deaths, at most; by old traces alone */
    uint32_t
        axis; /* by which moments are to be cut, so that all are in order: as the coarsest of them. 0 of old traces */

    pfa_notes_t lacks;   /* of what is missing, what the live table should have; a sealed trace says so, too */
    pfa_notes_t missing; /* what keeps this trace from being complete, as far as opening it tells */
    pfa_notes_t remarks; /* what is good to know and no loss, likewise */
} pfa_trace_t;

/* What there is to say of a trace once all of it was looked at. */
typedef struct pfa_account {
    uint64_t bad_blocks; /* that cannot be decoded, besides those met when it was opened */
    pfa_notes_t missing;
    pfa_notes_t remarks;
} pfa_account_t;

void pfa_account_free(pfa_account_t *account);

/* Opens a trace and its live table. NULL: it is none; *why says so, and the caller frees it. */
pfa_trace_t *pfa_trace_open(const char *path, const pfa_watch_t *watch, char **why);
/* The same of one of these files, with so many threads; 0: as many as there are processors. Unless it has changed since, it is verified only
 * if no trace of it was opened before. */
pfa_trace_t *pfa_trace_open_of(pfa_files_t *files, const char *path, const pfa_watch_t *watch, unsigned threads,
                               char **why);
void pfa_trace_close(pfa_trace_t *trace);
/* The first block of a file that may be a trace; false if it is none. */
bool pfa_trace_read_start(const char *path, pfa_trace_start_t *start);
bool pfa_trace_read_start_of(int fd, pfa_trace_start_t *start);

/* Reads one block that is not rows into the trace; false if it makes no sense. (analyze/trace/meta.c) */
bool pfa_trace_take(pfa_trace_t *trace, const pfa_block_t *block, const pfa_bytes_t *payload);
void pfa_trace_sort_modules(pfa_trace_t *trace);
/* Stores a node, with those between that were not seen. */
void pfa_trace_put_node(pfa_trace_t *trace, uint32_t number, uint32_t parent, uint64_t pc);
void pfa_trace_put_thread(pfa_trace_t *trace, const pfa_trace_thread_t *thread);
void pfa_trace_put_tag(pfa_trace_t *trace, uint32_t number, const char *name, size_t size);
void pfa_trace_put_type(pfa_trace_t *trace, uint32_t number, uint64_t type_size, const char *name, size_t size);
/* The type of this number; NULL: nothing is known of it. */
const pfa_declared_type_t *pfa_trace_type(const pfa_trace_t *trace, uint32_t number);
void pfa_trace_put_fold(pfa_trace_t *trace, uint32_t stack, uint64_t chunks, uint64_t bytes);
void pfa_trace_free_meta(pfa_trace_t *trace);

/* Merges what is only in the live table, but for rows. (analyze/trace/merge.c) */
void pfa_trace_merge_live(pfa_trace_t *trace);
/* Reads of which entries of rings the EVENTS blocks are, and which chunks died while the final picture was taken. */
void pfa_trace_read_rings(pfa_trace_t *trace);
pfa_ring_t *pfa_trace_ring(pfa_trace_t *trace, uint32_t number);
/* False: it is not known, and there are more already than a process has. */
bool pfa_trace_takes_ring(const pfa_trace_t *trace, uint32_t number);
void pfa_trace_put_died(pfa_trace_t *trace, const pfa_event_t *event);
void pfa_trace_sort_died(pfa_trace_t *trace);
/* Which live chunks are among those that died meanwhile; each of those answers once. */
typedef struct pfa_died {
    const pfa_trace_t *trace;
    uint32_t *used; /* by the first of equal ones: so many of them have answered; NULL: none has */
} pfa_died_t;
pfa_died_t pfa_died_begin(const pfa_trace_t *trace);
static inline uint64_t pfa_trace_died_mark(const pfa_trace_t *trace, uint64_t alloc_time)
{
    return alloc_time * 0x9e3779b97f4a7c15u >> 32 & trace->died_mark_mask;
}

/* False: no recorded death has its time (a Bloom filter), so that pfa_died_has is false, too. */
static inline bool pfa_died_may_have(const pfa_died_t *died, const pfa_live_record_t *record)
{
    const pfa_trace_t *trace = died->trace;
    uint64_t mark = pfa_trace_died_mark(trace, record->alloc_time);
    return trace->died_marks != NULL && (trace->died_marks[mark / 64] >> mark % 64 & 1) != 0;
}
bool pfa_died_has(pfa_died_t *died, const pfa_live_record_t *record);
void pfa_died_end(pfa_died_t *died);
/* Where the entries of a ring that are in blocks end. */
uint64_t pfa_trace_ring_end(const pfa_trace_t *trace, uint32_t number);

/* Deaths that were recorded, and are neither in the trace nor in folds. */
uint64_t pfa_trace_lost(const pfa_trace_t *trace, const pfa_account_t *account);
/* Says what is missing, once all rows were walked through or all blocks read; behind what opening it told. */
void pfa_trace_tell_missing(const pfa_trace_t *trace, pfa_account_t *account);
void pfa_trace_tell_opened(const pfa_trace_t *trace, pfa_account_t *account);

pfa_module_t *pfa_trace_module(const pfa_trace_t *trace, uint32_t node);
/* How many chunks one of this size and flags stands for. */
double pfa_trace_weight(const pfa_trace_t *trace, uint64_t size_flags);
/* By how many bits its moments are cut, at most. */
uint32_t pfa_trace_cut(const pfa_trace_t *trace);
/* A batch of this head is part of the trace. */
void pfa_trace_note_cut(pfa_trace_t *trace, const pfa_batch_head_t *head);
/* Seconds since the start of the trace. */
double pfa_trace_seconds(const pfa_trace_t *trace, uint64_t time);
/* Whether there was instrumented code whose accesses were recorded. If the end of the trace is missing, nobody knows; then
 * batches with accesses are believed. */
bool pfa_trace_has_accesses(const pfa_trace_t *trace);
/* So many bytes of things other than rows are kept in memory, at most. */
uint64_t pfa_trace_meta_most(const pfa_trace_t *trace);
/* Whether the batch in this block counts: EVENTS always, LIVE if it is of the final picture. */
bool pfa_trace_is_final(const pfa_trace_t *trace, const pfa_trace_live_t *live);
/* The batch of a LIVE block. */
bool pfa_trace_live_batch(const pfa_bytes_t *payload, pfa_trace_live_t *live, const uint8_t **bytes, size_t *size);

#endif
