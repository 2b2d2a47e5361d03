/* Writes blocks of a trace: for `seal`, which ends one, `pack`, which copies one, and tests, which make them. */
#ifndef PFA_ANALYZE_TRACE_TRACEFILE_H
#define PFA_ANALYZE_TRACE_TRACEFILE_H

#include "analyze/trace/blocks.h"

typedef struct pfa_tracefile {
    int fd;
    uint64_t at; /* where the next block goes */
    pfa_trace_index_t *index;
    size_t count;
    size_t room;
    bool plain; /* blocks are not compressed */
    int error;  /* the first; nothing is written after it */
} pfa_tracefile_t;

/* Goes on behind the blocks that are there; NULL for none. */
void pfa_tracefile_begin(pfa_tracefile_t *writer, int fd, const pfa_blocks_t *blocks);
void pfa_tracefile_free(pfa_tracefile_t *writer);
/* A block; errors are kept in the writer. */
void pfa_tracefile_block(pfa_tracefile_t *writer, pfa_block_kind_t kind, uint64_t time, const void *payload,
                         size_t size);
/* A whole block as it is in another file. */
void pfa_tracefile_copy(pfa_tracefile_t *writer, int from, const pfa_block_t *block);
void pfa_tracefile_nodes(pfa_tracefile_t *writer, uint64_t time, uint32_t first, uint32_t count,
                         const uint32_t *parents, const uint64_t *pcs);
void pfa_tracefile_end(pfa_tracefile_t *writer, pfa_end_t how, uint64_t time);

#endif
