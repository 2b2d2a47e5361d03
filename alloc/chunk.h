/* Chunks with records: the façade of alloc/ for the hooks.
 *
 * Allocation and the death of a chunk, by the thread given by its block. base/lock.h says which rare ones take a lock. Three
 * may wait, for a bounded time: a death whose ring is full, an allocation of a large chunk while very many freed ones wait to be
 * reclaimed, and one that needs a unit of records that another thread is making. errno is left alone. */
#ifndef PFA_ALLOC_CHUNK_H
#define PFA_ALLOC_CHUNK_H

#include "alloc/lookup.h"
#include "base/tls.h"

/* A recorded chunk, or NULL if none can be had (no room for its record, arena full, no memory): the caller then takes a
 * plain one. An `align` of 0 is the usual one. `flags` are PFA_FLAG_* and the bits of the weight class; PFA_FLAG_ZEROED
 * asks for zeros. */
void *pfa_chunk_alloc(pfa_tls_t *tls, size_t size, size_t align, uint64_t flags);

/* Up to PFA_CHUNK_PLAIN it is a chunk. */
typedef enum pfa_verdict {
    PFA_CHUNK_LIVE,     /* a recorded chunk starts at this address */
    PFA_CHUNK_SILENT,   /* a chunk starts here that lies where recorded ones do, and is not recorded now */
    PFA_CHUNK_PLAIN,    /* as far as can be told, a chunk without a record starts here */
    PFA_CHUNK_FREED,    /* a recorded chunk that was freed before */
    PFA_CHUNK_INTERIOR, /* inside a recorded chunk, or not where chunks can start */
    PFA_CHUNK_FOREIGN   /* not ours */
} pfa_verdict_t;

/* What is known of an address that the program says is a chunk. */
typedef struct pfa_finding {
    pfa_verdict_t verdict;
    uintptr_t start;     /* of the recorded chunk concerned, or 0 */
    uint64_t size_flags; /* its record's, or 0 */
    uint64_t alloc_time;
    size_t usable; /* bytes the program may use, of a large chunk; 0: ask the backing */
    uint16_t thread;
} pfa_finding_t;

/* Ends the life of the recorded (or silent) chunk that starts at `address` and gives its memory back; then returns
 * PFA_CHUNK_LIVE. Anything else is left as it is and described in *finding. */
pfa_verdict_t pfa_chunk_free(pfa_tls_t *tls, uintptr_t address, pfa_finding_t *finding);
/* Only looks. */
void pfa_chunk_find(uintptr_t address, pfa_finding_t *finding);

/* A chunk found live or silent stays where it is and gets another size: death of the old life, if that was recorded, and
 * birth of a new one, if that is due. */
void pfa_chunk_resize(pfa_tls_t *tls, uintptr_t address, size_t size, bool due, uint64_t weight);

/* What the chunk that starts there holds, by the number of its type; 0: nothing was said, or it has no record. The second says it;
 * false: it has no record. */
uint32_t pfa_chunk_type(uintptr_t address);
bool pfa_chunk_set_type(uintptr_t address, uint32_t type);

/* Ends a life without a record: counts it if the chunk is from before a fork. */
void pfa_chunk_count_inherited(uint64_t size_flags);
/* Counts a chunk that should have been recorded and could not be. */
void pfa_chunk_missed(pfa_tls_t *tls);

/* Gives up the calling thread's heaps; its chunks live on. */
void pfa_chunk_thread_end(pfa_tls_t *tls);

/* Called when something was retired and a background thread should reclaim; set once at start. */
extern void (*pfa_chunk_want_reclaim)(void);
/* Called now and then while chunks take more memory: after some thousand small ones each time, whose deaths will be told; set
 * once at start. */
extern void (*pfa_chunk_many_made)(void);
/* Called when a chunk lies outside the profiled range for the first time; set once at start. */
extern void (*pfa_chunk_went_outside)(void);
/* One round of reclaiming, as pfa_intervalmap_reclaim. */
bool pfa_chunk_reclaim(void);

#endif
