/* Stands for mimalloc's own header where its tests are built for the standard functions, so that they ask whatever malloc a program
 * has. What has no standard counterpart is put together from those; a heap is a name for the one that there is. */
#ifndef PFA_TESTS_MIMALLOC_H
#define PFA_TESTS_MIMALLOC_H

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MI_ALIGNMENT_MAX (1024 * 1024)
#define MI_MAX_ALIGN_SIZE 16
#define MI_DEBUG 0
#define MI_SMALL_SIZE_MAX 1024

typedef struct mi_heap_s {
    int unused;
} mi_heap_t;

enum { mi_option_verbose };

#define mi_option_disable(option) ((void)(option))
#define mi_stats_print(out) ((void)(out))
#define mi_stats_reset() ((void)0)
#define mi_collect(force) ((void)(force))
#define mi_version() 209
#define mi_free free
#define mi_malloc malloc
#define mi_malloc_small malloc
#define mi_posix_memalign posix_memalign
#define mi_memalign memalign
#define mi_reallocarray reallocarray
#define mi_usable_size malloc_usable_size
#define mi_realpath realpath
#define mi_heap_new() ((mi_heap_t *)malloc(sizeof(mi_heap_t)))
#define mi_heap_destroy(heap) free(heap)
#define mi_heap_delete(heap) free(heap)
#define mi_heap_malloc_tp(heap, type) ((type *)malloc(sizeof(type)))
#define mi_heap_malloc_aligned(heap, size, alignment) mi_malloc_aligned(size, alignment)
#define mi_heap_contains_block(heap, chunk) ((chunk) != NULL)

static inline void *mi_calloc(size_t count, size_t size)
{
    return calloc(count, size);
}

static inline void *mi_zalloc(size_t size)
{
    return calloc(1, size);
}

#define mi_zalloc_small mi_zalloc

/* mimalloc keeps a chunk of 0 bytes, where glibc frees it. */
static inline void *mi_realloc(void *chunk, size_t size)
{
    return realloc(chunk, size != 0 ? size : 1);
}

static inline void *mi_mallocn(size_t count, size_t size)
{
    return reallocarray(NULL, count, size);
}

static inline void *mi_reallocn(void *chunk, size_t count, size_t size)
{
    return reallocarray(chunk, count, size);
}

static inline void *mi_malloc_aligned(size_t size, size_t alignment)
{
    void *chunk = NULL;
    size_t least = alignment < sizeof(void *) ? sizeof(void *) : alignment;
    return posix_memalign(&chunk, least, size) == 0 ? chunk : NULL;
}

static inline void *mi_zalloc_aligned(size_t size, size_t alignment)
{
    void *chunk = mi_malloc_aligned(size, alignment);
    return chunk != NULL ? memset(chunk, 0, size) : NULL;
}

static inline void *mi_calloc_aligned(size_t count, size_t size, size_t alignment)
{
    return mi_zalloc_aligned(count * size, alignment);
}

/* At an offset there is no standard function for: only 0. */
static inline void *mi_malloc_aligned_at(size_t size, size_t alignment, size_t offset)
{
    return offset == 0 ? mi_malloc_aligned(size, alignment) : NULL;
}

static inline void *mi_move(void *to, void *chunk, size_t size)
{
    size_t before = malloc_usable_size(chunk);
    if (to != NULL && chunk != NULL) {
        memcpy(to, chunk, before < size ? before : size);
        free(chunk);
    }
    return to;
}

static inline void *mi_realloc_aligned(void *chunk, size_t size, size_t alignment)
{
    return mi_move(mi_malloc_aligned(size, alignment), chunk, size);
}

static inline void *mi_rezalloc(void *chunk, size_t size)
{
    return mi_move(mi_zalloc(size), chunk, size);
}

static inline void *mi_recalloc(void *chunk, size_t count, size_t size)
{
    return mi_rezalloc(chunk, count * size);
}

static inline void *mi_rezalloc_aligned(void *chunk, size_t size, size_t alignment)
{
    return mi_move(mi_zalloc_aligned(size, alignment), chunk, size);
}

static inline void *mi_recalloc_aligned(void *chunk, size_t count, size_t size, size_t alignment)
{
    return mi_rezalloc_aligned(chunk, count * size, alignment);
}

static inline int reallocarr(void *chunk, size_t count, size_t size)
{
    void **place = (void **)chunk;
    void *moved = reallocarray(*place, count, size);
    *place = moved != NULL ? moved : *place;
    return moved != NULL ? 0 : errno;
}

#endif
