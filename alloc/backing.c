/* Owns the vendored mimalloc: compiles its sources as one unit together with the little that we need of its insides.
 * None of its code is in this repository (scripts/fetch-mimalloc.sh gets it, pinned).
 *
 * What we change from outside, by macros around the include:
 *   - its system calls go to the floor (base/sys.h), so they never touch the program's errno and tests can fail them;
 *   - its own errno is a private one, for the same reason;
 *   - its constructor, its exit handler and its thread key are ours to decide (hooks/), so they are not made;
 *   - a thread's default heap is kept in pfa_tls, beside the countdown;
 *   - on arm64 a thread is known by its thread pointer;
 *   - its clock is the kernel's coarse one;
 *   - a failed commit of arena memory makes the arena allocation fail, where 2.0.9 goes on and faults later;
 *   - arenas can be of address space that is not reserved (below);
 *   - abandoned segments are looked through less often. */
#define _GNU_SOURCE 1
#include "alloc/backing.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "base/message.h"
#include "base/sys.h"
#include "base/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static PFA_THREAD_LOCAL int private_errno;

static int settle(int result)
{
    if (result < 0) {
        private_errno = -result;
        return -1;
    }
    return result;
}

static void *floor_mmap(void *hint, size_t size, int prot, int flags)
{
    void *memory;
    return settle(pfa_sys_map(hint, size, prot, flags, &memory)) == 0 ? memory : MAP_FAILED;
}

static PFA_PRINTF(3, 0) int floor_vsnprintf(char *buf, size_t size, const char *format, va_list args)
{
    pfa_text_t text = {buf, size, 0};
    pfa_text_vadd(&text, format, args);
    return (int)text.used;
}

static PFA_PRINTF(3, 4) int floor_snprintf(char *buf, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int used = floor_vsnprintf(buf, size, format, args);
    va_end(args);
    return used;
}

static long floor_syscall(long number, void *a, void *b)
{
    switch (number) {
    case SYS_getrandom:
        return settle((int)pfa_sys_getrandom(a, (size_t)(uintptr_t)b));
    case SYS_getcpu:
        return settle(pfa_sys_cpu_node(a, b));
    default:
        return settle(-ENOSYS);
    }
}

#undef errno
#define errno private_errno
#define mmap(hint, size, prot, flags, fd, offset) floor_mmap(hint, size, prot, flags)
#define munmap(addr, size) settle(pfa_sys_unmap(addr, size))
#define mprotect(addr, size, prot) settle(pfa_sys_protect(addr, size, prot))
#define madvise(addr, size, advice) settle(pfa_sys_advise(addr, size, advice))
#define open(path, flags, ...) settle(pfa_sys_open_read(path))
#define read(fd, buf, size) settle((int)pfa_sys_read(fd, buf, size))
#define close(fd) settle(pfa_sys_close(fd))
#define access(path, mode) (pfa_sys_readable(path) ? 0 : -1)
#define syscall(number, a, b, ...) floor_syscall(number, (void *)(uintptr_t)(a), (void *)(uintptr_t)(b))
#define fputs(text, stream) ((void)(text))
#define snprintf floor_snprintf
#define vsnprintf floor_vsnprintf
#define strerror(number) ((void)(number), "")
#undef stderr
#undef stdout
#define stderr NULL
#define stdout NULL
#define pthread_key_create(key, destructor) (void)(destructor)
#define pthread_setspecific(key, value) (void)(value)
/* It can keep a thread's default heap in the C library's block of the thread: ours is given as that. */
#define MI_TLS_PTHREAD_SLOT_OFS offsetof(pfa_tls_t, heap)
#define pthread_self() ((pthread_t)&pfa_tls)
#define atexit(function) (void)(function)
#define constructor unused
/* Its stand-in for a C++ runtime's function would hide the real one from hooks/new.c. */
#define _ZSt15get_new_handlerv backing_get_new_handler

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunused"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wpedantic"
/* clang-format off: the order of static.c in mimalloc's own sources. */
#include "mimalloc.h"
#include "mimalloc-internal.h"

/* 2.0.9 knows a thread by the word that its thread pointer points to. On arm64 that is the address of the thread's vector of TLS
 * blocks, which moves when modules are loaded; another thread may then get the old one and be taken for this one. */
#if PFA_THREAD_WORD_MOVES
#define _mi_thread_id() ((mi_threadid_t)__builtin_thread_pointer())
#endif

/* mimalloc counts milliseconds; the kernel's coarse clock, which moves every 1 to 10 of them, is exact enough. */
#define clock_gettime(clock, time) clock_gettime(CLOCK_MONOTONIC_COARSE, time)
#include "stats.c"
#undef clock_gettime
#include "random.c"
#include "os.c"
#include "bitmap.c"

/* Address space that nobody has reserved, so that it costs nothing and the limit on address space counts what is in use:
 * arena.c's claim of blocks maps them, its decommit of blocks that are free again unmaps them. */
static struct {
    uintptr_t start;
    uintptr_t end;
} open_spaces[4];
static _Atomic size_t open_space_count;

int (*pfa_backing_reach)(uintptr_t end);

static bool is_open_space(const void *memory)
{
    uintptr_t at = (uintptr_t)memory;
    for (size_t i = pfa_load_acquire(&open_space_count); i-- > 0;) {
        if (at >= open_spaces[i].start && at < open_spaces[i].end) {
            return true;
        }
    }
    return false;
}

/* 0 or an errno value: EEXIST if somebody else is there. */
static int map_blocks(void *start, size_t size)
{
    void *memory;
    if (!is_open_space(start)) {
        return 0;
    }
    if (pfa_backing_reach != NULL && pfa_backing_reach((uintptr_t)start + size) != 0) {
        return ENOMEM;
    }
    int err = -pfa_sys_map(start, size, PROT_NONE, MAP_NORESERVE | MAP_FIXED_NOREPLACE, &memory);
    if (err == 0 && memory != start) { /* a kernel that does not know the flag */
        (void)pfa_sys_unmap(memory, size);
        return EEXIST;
    }
    return err;
}

static void unmap_blocks(void *start, size_t size)
{
    if (is_open_space(start)) {
        (void)pfa_sys_unmap(start, size);
    }
}

static bool give_blocks(void *start, size_t size, mi_stats_t *stats)
{
    if (!is_open_space(start)) {
        return _mi_os_decommit(start, size, stats);
    }
    _mi_stat_decrease(&_mi_stats_main.committed, size);
    return pfa_sys_unmap(start, size) == 0;
}

/* A block that somebody else has is left claimed, and another is tried. The names are those of the parameters of
 * mi_arena_alloc. */
#define _mi_bitmap_try_find_from_claim_across(bitmap, fields, from, count, index)                                      \
    ({                                                                                                                 \
        bool claimed_;                                                                                                 \
        int err_ = 0;                                                                                                  \
        do {                                                                                                           \
            claimed_ = (_mi_bitmap_try_find_from_claim_across)(bitmap, fields, from, count, index);                    \
            if (claimed_) {                                                                                            \
                err_ = map_blocks(arena->start + mi_bitmap_index_bit(*(index)) * MI_ARENA_BLOCK_SIZE,                  \
                                  (count)*MI_ARENA_BLOCK_SIZE);                                                        \
            }                                                                                                          \
        } while (claimed_ && err_ == EEXIST && (count) == 1);                                                          \
        if (claimed_ && err_ != 0) {                                                                                   \
            _mi_bitmap_unclaim_across(bitmap, fields, count, *(index));                                                \
            claimed_ = false;                                                                                          \
        }                                                                                                              \
        claimed_;                                                                                                      \
    })
#define _mi_os_decommit(start, size, stats) give_blocks(start, size, stats)

/* arena.c claims a block, notes which parts of it were not committed yet, and then ignores whether committing them
 * works. Here the claim itself commits, and on failure gives the block back and fails the call. The names are those of
 * the parameters and locals where arena.c makes the claim. */
#define _mi_bitmap_claim_across(bitmap, fields, count, index, uncommitted)                                             \
    ({                                                                                                                 \
        bool *wanted_ = (uncommitted);                                                                                 \
        bool were_clear_ = (_mi_bitmap_claim_across)(bitmap, fields, count, index, wanted_);                           \
        if (wanted_ != NULL && *wanted_) {                                                                             \
            if (!_mi_os_commit(p, (count)*MI_ARENA_BLOCK_SIZE, NULL, tld->stats)) {                                    \
                unmap_blocks(p, (count)*MI_ARENA_BLOCK_SIZE);                                                          \
                _mi_bitmap_unclaim_across(bitmap, fields, count, index);                                               \
                _mi_bitmap_unclaim_across(arena->blocks_inuse, fields, count, index);                                  \
                return NULL;                                                                                           \
            }                                                                                                          \
            *wanted_ = false;                                                                                          \
        }                                                                                                              \
        were_clear_;                                                                                                   \
    })
#include "arena.c"
#undef _mi_bitmap_claim_across
#undef _mi_bitmap_try_find_from_claim_across
#undef _mi_os_decommit

#include "segment-cache.c"

/* segment.c answers a failed commit of a free span by making another segment, finds the same span first in that too, and
 * so on until memory is full. Here the segment after a failed commit is refused, once, and the allocation fails. */
static PFA_THREAD_LOCAL bool commit_failed;
#define _mi_os_commit(...) (commit_failed = !(_mi_os_commit)(__VA_ARGS__), !commit_failed)
#define _mi_arena_alloc_aligned(...)                                                                                   \
    (commit_failed ? (commit_failed = false, NULL) : (_mi_arena_alloc_aligned)(__VA_ARGS__))
/* segment.c keeps the segments of dead threads in one list. A heap that takes one from it also meets those it cannot take,
 * since they are of another arena: plain heaps those of the profiled range, and the other way round. It looks through all
 * their pages all the same, uses up its tries, and gives back to the system what is free in them, for the heap that can take
 * them to fetch it again, page fault by page fault. Here each heap meets those only that it can take: what comes first out of
 * the list and is of another arena goes to a list of that arena. */
static mi_segment_t *pop_abandoned_for(const mi_heap_t *heap);
#define PFA_ABANDONED_POP_ pop_abandoned_for(heap)               /* where it is called, */
#define PFA_ABANDONED_POP_void pop_abandoned_of_all_arenas(void) /* and where it is defined */
#define mi_abandoned_pop(...) PFA_ABANDONED_POP_##__VA_ARGS__
#include "segment.c"
#undef mi_abandoned_pop
#undef _mi_os_commit
#undef _mi_arena_alloc_aligned
#include "page.c"

/* At the end of each thread heap.c looks through all segments that dead threads have left, for memory that was unused for the
 * decommit delay, or is all free. With threads that come and go that is most of the work. Here it is done once in that delay, for
 * each arena: a heap finds only segments that are like its own. */
static _Atomic(mi_msecs_t) abandoned_collect_next[MI_MAX_ARENAS + 1];
static void collect_abandoned(mi_heap_t *heap, bool force, mi_segments_tld_t *tld)
{
    _Atomic(mi_msecs_t) *next = &abandoned_collect_next[heap->arena_id];
    mi_msecs_t now = _mi_clock_now();
    mi_msecs_t due = pfa_load_relaxed(next);
    if (force || (now >= due && pfa_cas_acq_rel(next, &due, now + mi_option_get(mi_option_decommit_delay)))) {
        _mi_abandoned_collect(heap, force, tld);
    }
}
#define _mi_abandoned_collect(heap, force, tld) collect_abandoned(heap, force, tld)
#include "heap.c"
#undef _mi_abandoned_collect
#include "alloc.c"
#include "alloc-aligned.c"
#include "alloc-posix.c"
#include "init.c"
#include "options.c"
/* clang-format on */
#pragma GCC diagnostic pop

#undef errno
#define errno (*__errno_location())

_Static_assert(MI_SEGMENT_SLICE_SIZE == (size_t)1 << PFA_SLICE_SHIFT, "slice size");
_Static_assert(MI_SEGMENT_SIZE == PFA_SEGMENT_SIZE, "segment size");
_Static_assert(MI_MEDIUM_OBJ_SIZE_MAX == PFA_REGION_CHUNK_MAX, "biggest shared slot");
_Static_assert(MI_MEDIUM_PAGE_SIZE == PFA_REGION_SLICES_MAX * MI_SEGMENT_SLICE_SIZE, "longest shared page");
_Static_assert(3 * MI_MAX_ALIGN_GUARANTEE == PFA_REGION_LEAD, "lead of small pages");
_Static_assert(MI_ALIGNMENT_MAX == PFA_PLAIN_ALIGN_MAX, "alignment limit");
_Static_assert(MI_PADDING_SIZE == 0, "slots have no padding");

/* By the arena that alone may use them; 0: any heap but those of such arenas. Tagged and guarded against decommits as
 * segment.c's own list is, which see. */
static _Atomic(mi_tagged_segment_t) abandoned_in[MI_MAX_ARENAS + 1];

static _Atomic(mi_tagged_segment_t) *abandoned_like(const mi_segment_t *segment)
{
    size_t arena;
    mi_bitmap_index_t index;
    bool exclusive = mi_arena_memid_indices(segment->memid, &arena, &index);
    return &abandoned_in[exclusive ? arena + 1 : 0];
}

static void put_aside(mi_segment_t *segment)
{
    _Atomic(mi_tagged_segment_t) *list = abandoned_like(segment);
    mi_tagged_segment_t first = mi_atomic_load_relaxed(list);
    mi_tagged_segment_t with;
    do {
        mi_atomic_store_ptr_release(mi_segment_t, &segment->abandoned_next, mi_tagged_segment_ptr(first));
        with = mi_tagged_segment(segment, first);
    } while (!mi_atomic_cas_weak_release(list, &first, with));
}

static mi_segment_t *take_aside(_Atomic(mi_tagged_segment_t) *list)
{
    if (mi_tagged_segment_ptr(mi_atomic_load_relaxed(list)) == NULL) {
        return NULL;
    }
    mi_segment_t *segment;
    mi_tagged_segment_t without = 0;
    mi_atomic_increment_relaxed(&abandoned_readers);
    mi_tagged_segment_t first = mi_atomic_load_acquire(list);
    do {
        segment = mi_tagged_segment_ptr(first);
        if (segment != NULL) {
            without = mi_tagged_segment(mi_atomic_load_ptr_relaxed(mi_segment_t, &segment->abandoned_next), first);
        }
    } while (segment != NULL && !mi_atomic_cas_weak_acq_rel(list, &first, without));
    mi_atomic_decrement_relaxed(&abandoned_readers);
    if (segment != NULL) {
        mi_atomic_store_ptr_release(mi_segment_t, &segment->abandoned_next, NULL);
    }
    return segment;
}

static mi_segment_t *pop_abandoned_for(const mi_heap_t *heap)
{
    enum { TRIES = 64 }; /* an allocation must not wait for more */
    _Atomic(mi_tagged_segment_t) *list = &abandoned_in[heap->arena_id];
    mi_segment_t *segment = take_aside(list);
    for (unsigned i = 0; segment == NULL && i < TRIES; i++) {
        segment = pop_abandoned_of_all_arenas();
        if (segment == NULL) {
            return NULL;
        }
        if (abandoned_like(segment) != list) {
            put_aside(segment);
            segment = NULL;
        }
    }
    return segment;
}

void pfa_backing_init(void)
{
    os_preloading = false;
    mi_process_init();
    /* Else a collection by the main thread would take abandoned segments of the exclusive arenas into its default heap,
     * and a plain chunk could come to lie in the profiled range. */
    _mi_heap_main.no_reclaim = true;
    /* It looks into /sys once: now, rather than when a program has shut itself in. */
    (void)_mi_os_numa_node_count();
}

int pfa_backing_add_space(void *base, size_t size, bool exclusive, bool open_space)
{
    mi_arena_id_t arena = 0;
    size_t spaces = pfa_load_relaxed(&open_space_count);
    if (open_space) {
        if (spaces == sizeof open_spaces / sizeof open_spaces[0]) {
            return 0;
        }
        open_spaces[spaces].start = (uintptr_t)base;
        open_spaces[spaces].end = (uintptr_t)base + size;
        pfa_store_release(&open_space_count, spaces + 1);
    }
    return mi_manage_os_memory_ex(base, size, false, false, true, -1, exclusive, &arena) && arena > 0 ? arena : 0;
}

/* Also for sizes that no memory can have, and those have thrown the countdown far off: the next allocation sets it
 * anew. */
static PFA_COLD void *out_of_memory(void)
{
    pfa_tls_disarm(&pfa_tls);
    errno = ENOMEM;
    return NULL;
}

static PFA_NOINLINE void *malloc_generic(mi_heap_t *heap, size_t size, bool zero)
{
    void *chunk = _mi_malloc_generic(heap, size, zero, 0);
    return PFA_LIKELY(chunk != NULL) ? chunk : out_of_memory();
}

/* Below zero, so that even a first malloc(0) finds the way to its set-up. */
PFA_THREAD_LOCAL pfa_tls_t pfa_tls = {.countdown = -1, .heap = (void *)&_mi_heap_empty};

/* What mimalloc's inline functions of similar names find, in fewer instructions: with the place of the table in the offset of the
 * load. */
PFA_INLINE mi_page_t *small_page(mi_heap_t *heap, size_t size)
{
    _Static_assert(offsetof(mi_heap_t, pages_free_direct) % sizeof(void *) == 0, "the rounding below");
    size_t at = (size + sizeof(void *) - 1 + offsetof(mi_heap_t, pages_free_direct)) & ~(sizeof(void *) - 1);
    return *(mi_page_t **)((char *)heap + at);
}

PFA_INLINE mi_page_t *page_of(const mi_segment_t *segment, const void *chunk)
{
    size_t index = ((uintptr_t)chunk - (uintptr_t)segment) >> MI_SEGMENT_SLICE_SHIFT;
    uintptr_t at = (uintptr_t)segment + index * sizeof(mi_slice_t);
    at -= *(const uint32_t *)(at + offsetof(mi_segment_t, slices) + offsetof(mi_slice_t, slice_offset));
    return (mi_page_t *)(at + offsetof(mi_segment_t, slices));
}

/* A free slot of the page, NULL if it has none ready. */
PFA_INLINE void *pop(mi_page_t *page)
{
    mi_block_t *block = page->free;
    if (PFA_LIKELY(block != NULL)) {
        page->used++;
        page->free = mi_block_next(page, block);
    }
    return block;
}

/* Of the first page of its size, like a small one: mimalloc itself goes all its long way for each. */
static PFA_NOINLINE void *malloc_medium(mi_heap_t *heap, size_t size)
{
    PFA_ASSUME(size > MI_SMALL_SIZE_MAX);
    if (PFA_LIKELY(size <= MI_MEDIUM_OBJ_SIZE_MAX)) {
        mi_page_t *page = heap->pages[mi_bin(size)].first;
        void *chunk = page != NULL ? pop(page) : NULL;
        if (PFA_LIKELY(chunk != NULL)) {
            return chunk;
        }
    }
    return malloc_generic(heap, size, false);
}

/* mimalloc's own fast path with the rare rest as a tail call, so that no stack frame is set up for the frequent case. */
void *pfa_backing_malloc(size_t size)
{
    mi_heap_t *heap = pfa_tls.heap;
    if (PFA_LIKELY(size <= MI_SMALL_SIZE_MAX)) {
        void *chunk = pop(small_page(heap, size));
        return PFA_LIKELY(chunk != NULL) ? chunk : malloc_generic(heap, size, false);
    }
    return malloc_medium(heap, size);
}

/* mimalloc would write zeros over all of a huge chunk, though its memory is fresh from the system. Asking the system for
 * fresh pages costs nothing where nothing was touched; should it refuse (locked memory), zeros are written after all. */
static PFA_NOINLINE void *zeroed_huge(mi_heap_t *heap, size_t size)
{
    uint8_t *chunk = mi_heap_malloc(heap, size);
    if (chunk == NULL) {
        return NULL;
    }
    uint8_t *first = (uint8_t *)_mi_align_up((uintptr_t)chunk, _mi_os_page_size());
    size_t pages = (size_t)(chunk + size - first) & ~(_mi_os_page_size() - 1);
    if (pfa_sys_advise(first, pages, MADV_DONTNEED) != 0) {
        memset(chunk, 0, size);
        return chunk;
    }
    memset(chunk, 0, (size_t)(first - chunk));
    memset(first + pages, 0, (size_t)(chunk + size - (first + pages)));
    return chunk;
}

PFA_INLINE void *zeroed(mi_heap_t *heap, size_t size)
{
    if (PFA_UNLIKELY(size > MI_LARGE_OBJ_SIZE_MAX) && size <= PTRDIFF_MAX) {
        return zeroed_huge(heap, size);
    }
    return mi_heap_zalloc(heap, size);
}

void *pfa_backing_calloc(size_t size)
{
    void *chunk = zeroed(mi_get_default_heap(), size);
    return PFA_LIKELY(chunk != NULL) ? chunk : out_of_memory();
}

/* The _at forms: the others take a short cut for powers of two that forgets the lead of small pages, and return chunks
 * of 256 to 1024 bytes that are not aligned. */
static void *aligned_in(mi_heap_t *heap, size_t size, size_t align, bool zero)
{
    return zero ? mi_heap_zalloc_aligned_at(heap, size, align, 0) : mi_heap_malloc_aligned_at(heap, size, align, 0);
}

void *pfa_backing_aligned(size_t size, size_t align, bool zero)
{
    void *chunk = aligned_in(mi_get_default_heap(), size, align, zero);
    return PFA_LIKELY(chunk != NULL) ? chunk : out_of_memory();
}

static PFA_NOINLINE void *aligned_generic(mi_heap_t *heap, size_t size, size_t align)
{
    void *chunk = pfa_backing_aligns(size, align) ? mi_heap_malloc(heap, size) : aligned_in(heap, size, align, false);
    if (PFA_UNLIKELY(chunk == NULL)) {
        pfa_tls_disarm(&pfa_tls);
    }
    return chunk;
}

PFA_INLINE void *pop_aligned(mi_page_t *page, size_t mask)
{
    return ((uintptr_t)page->free & mask) == 0 ? pop(page) : NULL;
}

void *pfa_backing_aligned_here(size_t size, size_t align)
{
    mi_heap_t *heap = pfa_tls.heap;
    void *chunk = NULL;
    if (PFA_LIKELY(size <= MI_SMALL_SIZE_MAX)) {
        chunk = pop_aligned(small_page(heap, size), align - 1);
    }
    return PFA_LIKELY(chunk != NULL) ? chunk : aligned_generic(heap, size, align);
}

/* One and the same, without a jump in between. */
void pfa_backing_free(void *chunk) __attribute__((alias("mi_free")));

static PFA_NOINLINE void retire(mi_page_t *page)
{
    _mi_page_retire(page);
}

/* A plain load, since an atomic one takes an instruction more. Other threads may write the word, but only a thread itself makes it
 * its own number, or another. */
PFA_NO_TSAN bool pfa_backing_is_own(const void *chunk)
{
    return _mi_thread_id() == *(const volatile mi_threadid_t *)&_mi_ptr_segment(chunk)->thread_id;
}

/* mimalloc's free. It first uses up the slots of a page that were free before; with `first` this slot, which is warm, is
 * the next to be used. Not for slots of default heaps that are freed: their mallocs come by mimalloc's slow path, where it looks
 * after other things, only when a page's free slots have run out. (Region heaps, and default heaps when a chunk moves, are looked
 * after by pfa_backing_heap_tend.) With `keep` the only page of its size is not given up when nothing is left in it. */
PFA_INLINE void give(void *chunk, bool first, bool keep)
{
    mi_segment_t *segment = _mi_ptr_segment(chunk);
    mi_page_t *page = page_of(segment, chunk);
    if (PFA_UNLIKELY(!pfa_backing_is_own(chunk))) {
        _mi_free_generic(segment, page, false, chunk);
    } else if (PFA_UNLIKELY(page->flags.full_aligned != 0)) {
        _mi_free_generic(segment, page, true, chunk);
    } else {
        mi_block_t **list = first ? &page->free : &page->local_free;
        mi_block_set_next(page, chunk, *list);
        *list = chunk;
        if (first) {
            page->is_zero = false; /* its free slots are no longer as they came from the system: calloc goes by that */
        }
        if (PFA_UNLIKELY(--page->used == 0) && !(keep && page->next == NULL && page->prev == NULL)) {
            retire(page);
        }
    }
}

void pfa_backing_free_here(void *chunk)
{
    give(chunk, false, false);
}

void pfa_backing_free_first_here(void *chunk)
{
    give(chunk, true, false);
}

void pfa_backing_free_keeping(void *chunk)
{
    give(chunk, true, true);
}

PFA_NOINLINE PFA_FLATTEN void *pfa_backing_move(void *chunk, size_t usable, size_t size)
{
    void *moved = pfa_backing_malloc(size);
    if (PFA_LIKELY(moved != NULL)) {
        memcpy(moved, chunk, usable < size ? usable : size);
        if (usable <= MI_SMALL_SIZE_MAX) { /* two calls, for constants */
            give(chunk, false, false);
        } else {
            give(chunk, true, false);
            pfa_backing_heap_tend(pfa_tls.heap);
        }
    }
    return moved;
}

size_t pfa_backing_usable(const void *chunk)
{
    return mi_usable_size(chunk);
}

static PFA_NOINLINE size_t usable_otherwise(const void *chunk)
{
    return mi_usable_size(chunk);
}

size_t pfa_backing_usable_here(const void *chunk)
{
    const mi_page_t *page = _mi_segment_page_of(_mi_ptr_segment(chunk), chunk);
    size_t usable = page->xblock_size;
    return PFA_LIKELY(!mi_page_has_aligned(page)) && PFA_LIKELY(usable < MI_HUGE_BLOCK_SIZE) ? usable
                                                                                             : usable_otherwise(chunk);
}

/* Segments that were found to be mimalloc's, so that a process without plain space does not ask the kernel each time: where
 * they start and, in the low bits, how many slices they have, since somebody else's memory may follow a short one.
 * A stale entry can only make a wild free as harmful as it is without us. */
static _Atomic uintptr_t known_segments[64];
#define SLICES_MASK (((uintptr_t)1 << PFA_SEGMENT_SHIFT) - 1)

/* Is the entry of this segment, and does the segment reach as far? A chunk may start right where the first 32 MiB of its
 * segment end, and so does mimalloc count. */
static bool reaches(uintptr_t known, const mi_segment_t *segment, const void *address)
{
    uintptr_t offset = (uintptr_t)address - 1 - (uintptr_t)segment;
    return (known & ~SLICES_MASK) == (uintptr_t)segment && offset < (known & SLICES_MASK) * MI_SEGMENT_SLICE_SIZE;
}

/* Memory of whoever: a sanitizer would object. */
PFA_NO_ASAN static bool has_cookie(const mi_segment_t *segment)
{
    return segment->cookie == _mi_ptr_cookie(segment);
}

PFA_NO_ASAN static uintptr_t slices_of(const mi_segment_t *segment)
{
    return segment->segment_slices;
}

bool pfa_backing_owns(const void *address)
{
    const mi_segment_t *segment = _mi_ptr_segment(address);
    _Atomic uintptr_t *known = &known_segments[((uintptr_t)segment >> PFA_SEGMENT_SHIFT) % 64];
    if (segment == NULL || reaches(pfa_load_relaxed(known), segment, address)) {
        return segment != NULL;
    }
    if (!pfa_sys_can_read(&segment->cookie) || !has_cookie(segment)) {
        return false;
    }
    uintptr_t entry = (uintptr_t)segment | (slices_of(segment) & SLICES_MASK);
    pfa_store_relaxed(known, entry);
    return reaches(entry, segment, address);
}

void *pfa_backing_heap(int arena)
{
    if (!mi_heap_is_initialized(mi_heap_get_default())) {
        return NULL; /* there was no memory for what mimalloc keeps of a thread */
    }
    return mi_heap_new_in_arena(arena);
}

void *pfa_backing_anchored_heap(int arena, size_t size, void **anchor)
{
    void *heap = arena != 0 ? pfa_backing_heap(arena) : NULL;
    *anchor = heap != NULL ? pfa_backing_heap_malloc(heap, size, false) : NULL;
    return heap;
}

#include "alloc/backing_kept.h"

void *pfa_backing_heap_pop(void *heap, size_t size)
{
    return PFA_LIKELY(size <= MI_SMALL_SIZE_MAX) ? pop(_mi_heap_get_free_small_page(heap, size)) : NULL;
}

void *pfa_backing_heap_pop_aligned(void *heap, size_t size, size_t align)
{
    mi_page_t *page = size <= MI_SMALL_SIZE_MAX        ? _mi_heap_get_free_small_page(heap, size)
                      : size <= MI_MEDIUM_OBJ_SIZE_MAX ? ((mi_heap_t *)heap)->pages[_mi_bin(size)].first
                                                       : NULL;
    return page != NULL ? pop_aligned(page, align - (align != 0)) : NULL;
}

void *pfa_backing_heap_malloc(void *heap, size_t size, bool zero)
{
    return zero ? zeroed(heap, size) : mi_heap_malloc(heap, size);
}

void *pfa_backing_heap_aligned(void *heap, size_t size, size_t align, bool zero)
{
    return aligned_in(heap, size, align, zero);
}

void pfa_backing_heap_tend(void *heap)
{
    if (PFA_UNLIKELY(mi_atomic_load_ptr_relaxed(mi_block_t, &((mi_heap_t *)heap)->thread_delayed_free) != NULL)) {
        _mi_heap_delayed_free_partial(heap);
    }
}

void pfa_backing_geometry(const void *chunk, pfa_page_geometry_t *geometry)
{
    const mi_segment_t *segment = _mi_ptr_segment(chunk);
    const mi_page_t *page = _mi_segment_page_of(segment, chunk);
    geometry->start = (uintptr_t)_mi_page_start(segment, page, NULL);
    geometry->slot_size = mi_page_block_size(page);
    geometry->slices = page->slice_count;
}

void pfa_backing_thread_end(void)
{
    mi_thread_done();
}

/* A page whose flag says that another thread is just now putting a chunk on our heap's list: that thread is gone, and
 * waiting for it would never end. */
static bool mend_page(mi_heap_t *heap, mi_page_queue_t *queue, mi_page_t *page, void *a, void *b)
{
    (void)heap;
    (void)queue;
    (void)a;
    (void)b;
    mi_thread_free_t tfree = mi_atomic_load_relaxed(&page->xthread_free);
    if (mi_tf_delayed(tfree) == MI_DELAYED_FREEING) {
        mi_atomic_store_release(&page->xthread_free, mi_tf_set_delayed(tfree, MI_NO_DELAYED_FREE));
    }
    return true;
}

void pfa_backing_after_fork(void)
{
    /* Readers of the abandoned list that were in it at the fork will never leave it. */
    mi_atomic_store_release(&abandoned_readers, 0);
    mi_atomic_store_relaxed(&thread_count, 1);
    mi_heap_t *heap = mi_get_default_heap();
    if (mi_heap_is_initialized(heap)) {
        for (mi_heap_t *each = heap->tld->heaps; each != NULL; each = each->next) {
            mi_heap_visit_pages(each, &mend_page, NULL, NULL);
        }
    }
    for (kept_heap_t *kept = pfa_load_relaxed(&kept_made); kept != NULL; kept = kept->next_made) {
        if (kept->heap.thread_id == _mi_thread_id() || kept->heap.thread_id == NOBODY) {
            mi_heap_visit_pages(&kept->heap, &mend_page, NULL, NULL);
        }
    }
}

size_t pfa_backing_page_size(void)
{
    return _mi_os_page_size();
}

bool pfa_backing_trim(void)
{
    mi_heap_t *heap = mi_heap_get_default();
    if (!mi_heap_is_initialized(heap)) {
        return false;
    }
    int64_t before = _mi_stats_main.committed.current;
    give_up_waiting();
    for (mi_heap_t *each = heap->tld->heaps; each != NULL; each = each->next) {
        mi_heap_collect(each, true);
    }
    if (pfa_tls.region_heap != NULL) {
        mi_heap_collect(pfa_tls.region_heap, true);
    }
    return _mi_stats_main.committed.current < before;
}

static bool add_area(const mi_heap_t *heap, const mi_heap_area_t *area, void *chunk, size_t size, void *arg)
{
    (void)heap;
    (void)chunk;
    (void)size;
    pfa_backing_stats_t *stats = arg;
    stats->used += area->used * area->block_size;
    stats->chunks += area->used;
    return true;
}

void pfa_backing_stats(pfa_backing_stats_t *stats)
{
    mi_heap_t *heap = mi_heap_get_default();
    *stats = (pfa_backing_stats_t){0, 0, 0};
    stats->committed = (size_t)(_mi_stats_main.committed.current > 0 ? _mi_stats_main.committed.current : 0);
    for (mi_heap_t *each = mi_heap_is_initialized(heap) ? heap->tld->heaps : NULL; each != NULL; each = each->next) {
        mi_heap_visit_blocks(each, false, &add_area, stats);
    }
    if (pfa_tls.region_heap != NULL) {
        mi_heap_visit_blocks(pfa_tls.region_heap, false, &add_area, stats);
    }
    /* mimalloc counts some decommits of arena memory twice, so its figure falls behind with every trim. */
    stats->committed = stats->committed < stats->used ? stats->used : stats->committed;
}
