/* Writes blocks of a trace: for `seal`, which ends one, `pack`, which copies one, and tests, which make them. */
#ifndef PFA_ANALYZE_WRITER_H
#define PFA_ANALYZE_WRITER_H

#include "analyze/blocks.h"

typedef struct pfa_writer {
    int fd;
    uint64_t at; /* where the next block goes */
    pfa_trace_index_t *index;
    size_t count;
    size_t room;
    bool plain; /* blocks are not compressed */
    int error;  /* the first; nothing is written after it */
} pfa_writer_t;

/* Goes on behind the blocks that are there; NULL for none. */
void pfa_writer_begin(pfa_writer_t *writer, int fd, const pfa_blocks_t *blocks);
void pfa_writer_free(pfa_writer_t *writer);
/* A block; errors are kept in the writer. */
void pfa_writer_block(pfa_writer_t *writer, pfa_block_kind_t kind, uint64_t time, const void *payload, size_t size);
/* A whole block as it is in another file. */
void pfa_writer_copy(pfa_writer_t *writer, int from, const pfa_block_t *block);
void pfa_writer_nodes(pfa_writer_t *writer, uint64_t time, uint32_t first, uint32_t count, const uint32_t *parents,
                      const uint64_t *pcs);
void pfa_writer_end(pfa_writer_t *writer, pfa_end_t how, uint64_t time);

#endif
