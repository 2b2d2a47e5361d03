/* The blocks of a trace file: where they are, whether they are whole, and their payloads.
 *
 * The file is read with pread and never mapped: it may be cut or grow while it is read. Nothing in it is trusted; what is
 * allocated for it is bounded by its size. */
#ifndef PFA_ANALYZE_TRACE_BLOCKS_H
#define PFA_ANALYZE_TRACE_BLOCKS_H

#include "analyze/base/progress.h"
#include "export/format/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pfa_block {
    uint64_t offset;
    uint64_t time;
    uint32_t raw_size;
    uint32_t stored_size;
    uint16_t kind;
    uint16_t flags;
} pfa_block_t;

typedef struct pfa_blocks {
    pfa_block_t *list;
    size_t count;
    size_t room;
    uint64_t size;   /* of the file when it was scanned, */
    uint64_t device; /* and which file it was */
    uint64_t inode;
    uint64_t changed_ns;
    uint64_t end;     /* of the last whole block */
    uint64_t skipped; /* bytes between whole blocks that are none */
    uint64_t damages; /* in so many places */
    bool given_up;    /* so much looked like blocks and was none that the rest was not searched */
} pfa_blocks_t;

typedef struct pfa_bytes {
    uint8_t *bytes;
    size_t size;
    size_t room;
} pfa_bytes_t;

/* Reads exactly `size` bytes at `offset`: 0, or an error number (ENODATA: the file is shorter). */
int pfa_file_read(int fd, void *to, size_t size, uint64_t offset);
void pfa_bytes_room(pfa_bytes_t *bytes, size_t size);
void pfa_bytes_free(pfa_bytes_t *bytes);

/* Finds all whole blocks of the file, which is blocks->size long, verifying every checksum, by so many threads; 0: as many as there are
 * processors. What is found does not depend on them. 0 or an error number. (analyze/trace/verify.c) */
int pfa_blocks_scan(int fd, const pfa_watch_t *watch, unsigned threads, pfa_blocks_t *blocks);
void pfa_blocks_free(pfa_blocks_t *blocks);
/* Whether both are of one file that was not changed between. */
static inline bool pfa_blocks_are_of_same(const pfa_blocks_t *one, const pfa_blocks_t *other)
{
    return one->size == other->size && one->device == other->device && one->inode == other->inode &&
           one->changed_ns == other->changed_ns;
}

/* What it takes to load blocks of a file: for one thread at a time. */
typedef struct pfa_loader pfa_loader_t;

pfa_loader_t *pfa_loader_new(int fd);
void pfa_loader_free(pfa_loader_t *loader);

/* The unpacked payload. 0, or an error number; EBADMSG: it cannot be unpacked. */
int pfa_block_load(pfa_loader_t *loader, const pfa_block_t *block, pfa_bytes_t *payload);
/* As much of the beginning of the payload as `limit`, or all of it. */
int pfa_block_load_start(pfa_loader_t *loader, const pfa_block_t *block, size_t limit, pfa_bytes_t *payload);
const char *pfa_block_name(uint16_t kind);

/* Takes things off the front of a payload; NULL when there is not enough left. */
typedef struct pfa_cursor {
    const uint8_t *at;
    size_t left;
} pfa_cursor_t;

static inline const void *pfa_cursor_take(pfa_cursor_t *cursor, size_t size)
{
    if (cursor->left < size) {
        return NULL;
    }
    const void *taken = cursor->at;
    cursor->at += size;
    cursor->left -= size;
    return taken;
}

static inline bool pfa_cursor_copy(pfa_cursor_t *cursor, void *to, size_t size)
{
    const void *from = pfa_cursor_take(cursor, size);
    if (from != NULL) {
        __builtin_memcpy(to, from, size);
    }
    return from != NULL;
}

#endif
