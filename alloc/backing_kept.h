/* Part of alloc/backing.c, which alone includes it, behind mimalloc's sources: heaps that go from one thread to the next.
 *
 * Such a heap has of its own what mimalloc keeps of a thread: its segments hold pages of it alone, and their free spans are in
 * lists of it alone. (So the default heap of its thread does not meet them either.) Whose it is stands in its segments, where free
 * looks. While it waits for a thread it is nobody's: whoever frees a chunk of it does as for chunks of other threads.
 *
 *   1. A thread that has popped one is the only one to know it. No call here waits, but for threads that are just now putting
 *      a chunk on the list of a heap that is given up, as at the end of a thread of mimalloc's.
 *   2. Memory of heaps is never unmapped: that of one that was given up is used for the next. */
#ifndef PFA_ALLOC_BACKING_KEPT_H
#define PFA_ALLOC_BACKING_KEPT_H

typedef struct kept_heap {
    mi_heap_t heap; /* first: callers know it by that */
    mi_tld_t tld;
    void *anchor; /* a chunk that stays */
    struct kept_heap *next_made;
    _Atomic(struct kept_heap *) next; /* in a list */
} kept_heap_t;

/* mimalloc commits the first segment of a thread piece by piece, and loses it where that fails. So one is counted that is not
 * there, as if it were that of the thread's default heap. */
enum { NOBODY = 1, KEPT_PAGES_MAX = 256, KEPT_HEAPS_MAX = 32, SEGMENTS_BEFORE = 1 };

static _Atomic(kept_heap_t *) kept_made; /* all there are */

/* Lists of those that wait, by arena; the first is of memory without a heap. A word has the heap's address, which is that of a
 * page, and a count of changes in the bits that addresses do not use: a list whose first heap went and came back meanwhile is
 * not taken for the same. */
static _Atomic uint64_t kept_lists[MI_MAX_ARENAS + 1];
static _Atomic uint32_t kept_waiting[MI_MAX_ARENAS + 1];
enum { KEPT_PAGE_SHIFT = 12, KEPT_ADDRESS_BITS = 48 - KEPT_PAGE_SHIFT };
#define KEPT_CHANGED ((uint64_t)1 << KEPT_ADDRESS_BITS)

static kept_heap_t *kept_first(uint64_t word)
{
    return (kept_heap_t *)(uintptr_t)((word & (KEPT_CHANGED - 1)) << KEPT_PAGE_SHIFT);
}

static uint64_t kept_word(const kept_heap_t *first, uint64_t before)
{
    return ((before & ~(KEPT_CHANGED - 1)) + KEPT_CHANGED) | (uintptr_t)first >> KEPT_PAGE_SHIFT;
}

static void push_kept(unsigned list, kept_heap_t *kept)
{
    uint64_t seen = pfa_load_relaxed(&kept_lists[list]);
    do {
        pfa_store_relaxed(&kept->next, kept_first(seen));
    } while (
        !pfa_cas_weak_acq_rel(&kept_lists[list], &seen, kept_word(kept, seen))); /* partner: the same in pop_kept */
}

static kept_heap_t *pop_kept(unsigned list)
{
    uint64_t seen = pfa_load_acquire(&kept_lists[list]);
    while (kept_first(seen) != NULL) {
        kept_heap_t *kept = kept_first(seen);
        if (pfa_cas_weak_acq_rel(&kept_lists[list], &seen, kept_word(pfa_load_relaxed(&kept->next), seen))) {
            return kept;
        }
    }
    return NULL;
}

static kept_heap_t *kept_memory(void)
{
    void *memory = pop_kept(0);
    if (memory != NULL || pfa_sys_map(NULL, sizeof(kept_heap_t), PROT_READ | PROT_WRITE, 0, &memory) != 0) {
        return memory;
    }
    if ((uintptr_t)memory >> (KEPT_ADDRESS_BITS + KEPT_PAGE_SHIFT) != 0) {
        (void)pfa_sys_unmap(memory, sizeof(kept_heap_t));
        return NULL;
    }
    kept_heap_t *kept = memory;
    kept_heap_t *first = pfa_load_relaxed(&kept_made);
    do {
        kept->next_made = first;
    } while (!pfa_cas_weak_acq_rel(&kept_made, &first, kept));
    return kept;
}

/* As mimalloc sets up the first heap of a thread, and heaps of an arena. */
static void set_up_kept(kept_heap_t *kept, mi_heap_t *parent, int arena)
{
    mi_heap_t *heap = &kept->heap;
    mi_tld_t *tld = &kept->tld;
    memcpy(tld, &tld_empty, sizeof *tld);
    memcpy(heap, &_mi_heap_empty, sizeof *heap);
    heap->tld = tld;
    heap->thread_id = _mi_thread_id();
    heap->arena_id = arena;
    _mi_random_split(&parent->random, &heap->random);
    heap->cookie = _mi_heap_random_next(heap) | 1;
    heap->keys[0] = _mi_heap_random_next(heap);
    heap->keys[1] = _mi_heap_random_next(heap);
    heap->no_reclaim = true;
    tld->heap_backing = heap;
    tld->heaps = heap;
    tld->segments.count = SEGMENTS_BEFORE;
    tld->segments.stats = &tld->stats;
    tld->segments.os = &tld->os;
    tld->os.stats = &tld->stats;
    kept->anchor = NULL;
}

static void set_segment_owner(const void *within, mi_threadid_t owner)
{
    mi_atomic_store_relaxed(&_mi_ptr_segment(within)->thread_id, owner);
}

static bool set_page_owner(mi_heap_t *heap, mi_page_queue_t *queue, mi_page_t *page, void *owner, void *unused)
{
    (void)heap;
    (void)queue;
    (void)unused;
    set_segment_owner(page, (mi_threadid_t)owner);
    return true;
}

/* A segment has pages in use or free spans, most have both. */
static void set_owner(kept_heap_t *kept, mi_threadid_t owner)
{
    kept->heap.thread_id = owner;
    if (kept->anchor != NULL && kept->tld.segments.count == SEGMENTS_BEFORE + 1) {
        set_segment_owner((char *)kept->anchor, owner);
        return;
    }
    mi_heap_visit_pages(&kept->heap, &set_page_owner, (void *)owner, NULL);
    for (size_t i = 0; i <= MI_SEGMENT_BIN_MAX; i++) {
        for (const mi_slice_t *span = kept->tld.segments.spans[i].first; span != NULL; span = span->next) {
            set_segment_owner(span, owner);
        }
    }
}

void *pfa_backing_kept_heap(int arena, size_t size, void **anchor)
{
    mi_heap_t *parent = arena != 0 ? mi_heap_get_default() : NULL;
    *anchor = NULL;
    if (parent == NULL || !mi_heap_is_initialized(parent)) {
        return NULL; /* there was no memory for what mimalloc keeps of a thread */
    }
    kept_heap_t *kept = pop_kept((unsigned)arena);
    if (kept != NULL) {
        pfa_sub_relaxed(&kept_waiting[arena], 1);
        set_owner(kept, _mi_thread_id());
        return &kept->heap;
    }
    kept = kept_memory();
    if (kept == NULL) {
        return NULL;
    }
    set_up_kept(kept, parent, arena);
    kept->anchor = *anchor = mi_heap_malloc(&kept->heap, size);
    return &kept->heap;
}

void pfa_backing_give_up_heap(void *heap)
{
    kept_heap_t *kept = heap;
    if (kept->anchor != NULL) {
        mi_free(kept->anchor);
    }
    _mi_heap_collect_abandon(&kept->heap);
    _mi_stats_done(&kept->tld.stats);
    push_kept(0, kept);
}

/* How many may wait is bounded, and how large they are, since what is free in them is free for one thread only. */
void pfa_backing_leave_heap(void *heap)
{
    kept_heap_t *kept = heap;
    int arena = kept->heap.arena_id;
    bool small = kept->heap.page_count <= KEPT_PAGES_MAX;
    if (small && pfa_add_relaxed(&kept_waiting[arena], 1) < KEPT_HEAPS_MAX) {
        set_owner(kept, NOBODY);
        push_kept((unsigned)arena, kept);
        return;
    }
    if (small) {
        pfa_sub_relaxed(&kept_waiting[arena], 1);
    }
    pfa_backing_give_up_heap(heap);
}

/* All that wait, by a thread that has time. */
static void give_up_waiting(void)
{
    for (unsigned arena = 1; arena <= MI_MAX_ARENAS; arena++) {
        for (kept_heap_t *kept = pop_kept(arena); kept != NULL; kept = pop_kept(arena)) {
            pfa_sub_relaxed(&kept_waiting[arena], 1);
            set_owner(kept, _mi_thread_id());
            pfa_backing_give_up_heap(kept);
        }
    }
}

#endif
