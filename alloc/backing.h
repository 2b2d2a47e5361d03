/* The narrow face of the vendored mimalloc: heaps, and the geometry of the page a chunk lies in. alloc/backing.c is the
 * only file that sees mimalloc's headers.
 *
 * Concurrency: a heap is used by the thread that made it; pfa_backing_free and _usable may be called by any thread on any
 * chunk. Nothing here takes a lock, nothing touches errno except the functions that say so. */
#ifndef PFA_ALLOC_BACKING_H
#define PFA_ALLOC_BACKING_H

#include "alloc/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* mimalloc's numbers that the rest relies on; backing.c asserts each. */
#define PFA_SEGMENT_SHIFT 25 /* segments are 32 MiB, aligned to that */
#define PFA_SEGMENT_SIZE ((size_t)1 << PFA_SEGMENT_SHIFT)
#define PFA_REGION_CHUNK_MAX ((size_t)128 << 10) /* biggest slot that shares its page with others */
#define PFA_REGION_SLICES_MAX 8                  /* slices of the longest page with several slots */
#define PFA_PLAIN_ALIGN_MAX ((size_t)16 << 20)   /* alignments above come straight from the system */

/* Prepares mimalloc for this process; before anything else here. */
void pfa_backing_init(void);
/* Hands address space to mimalloc, aligned to PFA_SEGMENT_SIZE. It was reserved without access by the caller, or is `open`:
 * nobody has it, and segments of it are mapped when they are used and unmapped after. Exclusive space is used by heaps of its
 * arena only, other space by the default heaps. Returns the arena, or 0. Only one thread at a time. */
int pfa_backing_add_space(void *base, size_t size, bool exclusive, bool open);
/* Called before segments of open space up to `end` are mapped; an errno value: they are not to be. Set once, or NULL. (alloc/range.c) */
extern int (*pfa_backing_reach)(uintptr_t end);

/* Chunks of the calling thread's default heap. These set errno to ENOMEM when they return NULL. */
void *pfa_backing_malloc(size_t size);
void *pfa_backing_calloc(size_t size);
void *pfa_backing_aligned(size_t size, size_t align, bool zero);
/* Does every chunk of that size have the alignment, a power of two, anyway? */
static inline bool pfa_backing_aligns(size_t size, size_t align)
{
    return align <= 8 || (align == 16 && size > 8);
}
/* For any power of two, meant to be expanded in the caller, and leaves errno alone. */
void *pfa_backing_aligned_here(size_t size, size_t align);
/* mimalloc's rule for realloc: does a chunk stay where it is, since the new size fits and wastes at most half of it? */
static inline bool pfa_backing_keeps(size_t usable, size_t size)
{
    return size <= usable && size >= usable / 2;
}
/* realloc of a plain chunk that does not stay, with so many usable bytes; sets errno as malloc's does. */
void *pfa_backing_move(void *chunk, size_t usable, size_t size);
/* Any chunk, of any heap of any thread. Keeps errno. */
void pfa_backing_free(void *chunk);
/* The same for what is not NULL, meant to be expanded in the caller; the second makes the slot the next to be used. */
void pfa_backing_free_here(void *chunk);
void pfa_backing_free_first_here(void *chunk);
/* The same, and keeps the only page of its size: for heaps of few chunks. */
void pfa_backing_free_keeping(void *chunk);
size_t pfa_backing_usable(const void *chunk);
size_t pfa_backing_usable_here(const void *chunk); /* the same, not for NULL, and meant to be expanded in the caller */
bool pfa_backing_is_own(const void *chunk);        /* does it come from a heap of the calling thread? */
/* Does the address lie in a segment of mimalloc's? For addresses outside the space handed to it: rare, may cost a system
 * call. Total: any value may be asked about. */
bool pfa_backing_owns(const void *address);

/* A heap of the calling thread in an exclusive arena; lives until the thread ends. NULL if there is no memory. */
void *pfa_backing_heap(int arena);
/* The same with one chunk of that size that stays until it is freed: mimalloc gives a segment without chunks back, and
 * setting up the next costs as much as clearing 100 KB. With little recorded at a time that would happen all the time. */
void *pfa_backing_anchored_heap(int arena, size_t size, void **anchor);

/* A heap of an exclusive arena whose pages hold several slots each. A thread has it until it leaves it, and then another thread:
 * with threads that come and go, taking its pages apart and making others for the next thread takes longer than all that is
 * recorded. Gives one that a thread has left, with *anchor NULL; or a new one, with a chunk of that size, which stays for as
 * long as the heap does, or NULL if there was no memory for it. NULL if there is no memory for a heap. */
void *pfa_backing_kept_heap(int arena, size_t size, void **anchor);
/* The calling thread is done with it. If it is large, or many wait, it is given up. */
void pfa_backing_leave_heap(void *heap);
/* Nobody shall have this one. Its chunks live on; their segments are taken over by other heaps of the arena. */
void pfa_backing_give_up_heap(void *heap);

/* A chunk of such a heap that is at hand, NULL if there is none: only of pages that a chunk was taken from before
 * with one of the two calls below, so the page's geometry is known to whoever wanted to know it. */
void *pfa_backing_heap_pop(void *heap, size_t size);                       /* small ones alone */
void *pfa_backing_heap_pop_aligned(void *heap, size_t size, size_t align); /* a power of two, or 0 for any */
/* Any chunk of such a heap, NULL if its arena is full. */
void *pfa_backing_heap_malloc(void *heap, size_t size, bool zero);
void *pfa_backing_heap_aligned(void *heap, size_t size, size_t align, bool zero);

/* Takes back what other threads have freed of its full pages; now and then, since with slots used again at once mimalloc
 * may not come to it for long. */
void pfa_backing_heap_tend(void *heap);

typedef struct pfa_page_geometry {
    uintptr_t start; /* of the first slot */
    size_t slot_size;
    size_t slices; /* slices the page covers */
} pfa_page_geometry_t;
void pfa_backing_geometry(const void *chunk, pfa_page_geometry_t *geometry);

/* The end of the calling thread: its heaps' chunks live on and are taken over by other threads. Kept heaps are left before. */
void pfa_backing_thread_end(void);
/* In a fork child: mends what other threads were in the middle of. Heaps that they have not left are lost, but for their chunks. */
void pfa_backing_after_fork(void);

/* Of the system's memory. */
size_t pfa_backing_page_size(void);

/* Gives unused memory back to the system; true if the process shrank. */
bool pfa_backing_trim(void);

typedef struct pfa_backing_stats {
    size_t committed; /* bytes the allocator may touch, process-wide */
    size_t used;      /* bytes in chunks of the calling thread's heaps */
    size_t chunks;    /* their number */
} pfa_backing_stats_t;
void pfa_backing_stats(pfa_backing_stats_t *stats);

#endif
