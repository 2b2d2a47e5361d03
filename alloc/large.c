/* Owns the large chunks: where their memory comes from, their nodes in the interval map, their lives. See alloc/chunk.h
 * for who may call what. */
#define _GNU_SOURCE 1 /* MAP_FIXED_NOREPLACE */
#include "alloc/large.h"
#include "alloc/cells.h"
#include "alloc/finding.h"
#include "alloc/life.h"
#include "base/message.h"
#include "base/sys.h"
#include "meta/extents.h"
#include "meta/measure.h"

#include <string.h>
#include <sys/mman.h>

/* Allocations to let pass where there was no record to be had, since asking costs system calls each time; and nodes that may
 * wait for the background thread. */
enum {
    BACKOFF = 4096,
    RETIRED_MAX = 262144,
    SPARE_MAX = 512 * 1024,
    LET_IT_RUN_NS = 200000,
    PAUSES_MAX = 1000,
    HELP_EVERY = 64
};
#define LEAST (PFA_REGION_CHUNK_MAX + 1)
/* A chunk has an entry in the interval map for each of its granules: of a larger one that would be gigabytes. */
#define MOST ((size_t)1 << 40)

void (*pfa_chunk_want_reclaim)(void);
void (*pfa_chunk_went_outside)(void);

unsigned pfa_large_class(uint64_t size)
{
    unsigned top = 63u - (unsigned)__builtin_clzll(size | 1);
    unsigned class = PFA_CLASS_LARGE + (top > 16 ? top - 16 : 0);
    return class < PFA_CLASS_COUNT ? class : PFA_CLASS_COUNT - 1;
}

static void count_birth(pfa_tls_t *tls, uint64_t size_flags)
{
    if (pfa_life_count_birth(tls, pfa_large_class(pfa_size_of(size_flags)), size_flags)) {
        pfa_live_settle(tls);
    }
}

/* There is no record for it, and hardly for the next. Memory for the chunk itself is another matter: a size that cannot be had
 * says nothing of other sizes, and where there is none the program will hear of it. */
static PFA_COLD void *failed(pfa_tls_t *tls, const char *what)
{
    static _Atomic bool said;
    tls->large_backoff = BACKOFF;
    if (!pfa_extents_said_no_room()) {
        pfa_say_trouble(&said, what);
    }
    return NULL;
}

/* Taking a large chunk from mimalloc and giving it back costs as much as all the rest of recording it, so one of at most
 * SPARE_MAX bytes is kept by each thread. */
static void *from_spare(pfa_tls_t *tls, size_t size, bool zero)
{
    void *chunk = tls->large_spare;
    if (chunk == NULL || size > pfa_backing_usable(chunk)) {
        return NULL;
    }
    tls->large_spare = NULL;
    return zero ? memset(chunk, 0, size) : chunk;
}

/* Not an aligned one: it may be the end of something much bigger. */
static bool becomes_spare(pfa_tls_t *tls, const pfa_large_t *node)
{
    void *chunk = (void *)node->start;
    if (tls->large_heap == NULL || tls->large_spare != NULL || node->aligned || node->size > SPARE_MAX ||
        !pfa_backing_is_own(chunk)) {
        return false;
    }
    tls->large_spare = chunk;
    return true;
}

static void *from_heap(pfa_tls_t *tls, size_t size, size_t align, bool zero)
{
    if (tls->large_heap == NULL) {
        tls->large_heap = pfa_backing_anchored_heap(pfa_range.large_arena, LEAST, &tls->large_anchor);
    }
    if (tls->large_heap == NULL || align > PFA_PLAIN_ALIGN_MAX) {
        return NULL;
    }
    void *spare = align == 0 && size <= SPARE_MAX ? from_spare(tls, size, zero) : NULL;
    if (spare != NULL) {
        return spare;
    }
    return align == 0 ? pfa_backing_heap_malloc(tls->large_heap, size, zero)
                      : pfa_backing_heap_aligned(tls->large_heap, size, align, zero);
}

/* Memory in the upper half of the window, where callbacks that only know the window see it too. Places are tried one after
 * the other, round and round. */
static void *map_in_window(size_t size)
{
    static _Atomic uint64_t next;
    enum { PLACES_TRIED = 16 };
    void *memory;
    for (int i = 0; i < PLACES_TRIED && size <= PFA_WINDOW_SIZE / 8; i++) {
        uint64_t room = (size + PFA_SEGMENT_SIZE) & ~(uint64_t)(PFA_SEGMENT_SIZE - 1);
        uint64_t at = pfa_add_relaxed(&next, room) % (PFA_WINDOW_SIZE / 2);
        if (at + room > PFA_WINDOW_SIZE / 2) {
            continue;
        }
        void *place = (void *)(PFA_WINDOW_BASE + PFA_WINDOW_SIZE / 2 + at);
        if (pfa_sys_map(place, size, PROT_READ | PROT_WRITE, MAP_FIXED_NOREPLACE, &memory) != 0) {
            continue;
        }
        if (memory == place) {
            return memory;
        }
        (void)pfa_sys_unmap(memory, size);
    }
    return NULL;
}

/* Memory straight from the system, for when L is full or the alignment is beyond mimalloc's. It starts on a granule, since
 * two chunks may not share one. */
static void *from_system(pfa_large_t *node, size_t size, size_t align)
{
    size_t granule = (size_t)1 << PFA_GRANULE_SHIFT;
    align = align > granule ? align : granule;
    size = (size + granule - 1) & ~(granule - 1);
    node->mapping_size = size + align;
    node->mapping = pfa_range_in_window() ? map_in_window(node->mapping_size) : NULL;
    if (node->mapping == NULL &&
        pfa_sys_map(NULL, node->mapping_size, PROT_READ | PROT_WRITE, 0, &node->mapping) != 0) {
        node->mapping = NULL;
        return NULL;
    }
    return (void *)(((uintptr_t)node->mapping + align - 1) & ~(uintptr_t)(align - 1));
}

static void give_back(pfa_tls_t *tls, pfa_large_t *node)
{
    pfa_measure_own_begin(tls);
    if (node->mapping != NULL) {
        (void)pfa_sys_unmap(node->mapping, node->mapping_size);
    } else if (!becomes_spare(tls, node)) {
        pfa_backing_free((void *)node->start);
    }
    pfa_measure_own_end(tls);
}

static bool get_memory(pfa_tls_t *tls, pfa_large_t *node, size_t size, size_t align, bool zero)
{
    /* A chunk of a slot's size could share its page; one byte more than any slot makes it large. */
    size = size > LEAST ? size : LEAST;
    node->mapping = NULL;
    pfa_measure_own_begin(tls);
    void *chunk = from_heap(tls, size, align, zero);
    if (chunk != NULL) {
        node->size = pfa_backing_usable(chunk);
    } else {
        chunk = from_system(node, size, align);
        node->size = size;
    }
    pfa_measure_own_end(tls);
    node->start = (uintptr_t)chunk;
    return chunk != NULL;
}

static pfa_large_t *make_node(bool aligned)
{
    pfa_large_t *node = pfa_backing_malloc(sizeof *node);
    pfa_wide_record_t *cell = node != NULL ? pfa_cells_take(&node->cell) : NULL;
    if (cell == NULL) {
        pfa_backing_free(node);
        return NULL;
    }
    node->record = &cell->record;
    node->aligned = aligned;
    return node;
}

static void drop_node(void *memory)
{
    const pfa_large_t *node = memory;
    pfa_cells_give(node->cell);
    pfa_backing_free(memory);
}

/* Tells the access callbacks where the chunk's record is, or that there is none any more. They need no RCU: a cell stays a
 * cell. */
static void publish(const pfa_large_t *node, bool is_there)
{
    uint64_t offset = node->start - pfa_range.base;
    if (offset >= pfa_range.total_span) {
        static _Atomic bool told;
        if (pfa_chunk_went_outside != NULL && !pfa_load_relaxed(&told) && !atomic_exchange(&told, true)) {
            pfa_chunk_went_outside();
        }
        return;
    }
    uint64_t first = offset >> PFA_SLICE_SHIFT;
    if (!pfa_range_is_wide() || node->size >= PFA_SLICE_CHUNK_MAX || offset != first << PFA_SLICE_SHIFT) {
        return;
    }
    uint64_t last = (offset + node->size - 1) >> PFA_SLICE_SHIFT;
    for (uint64_t i = first; i <= last; i++) {
        pfa_slice_t *slice = &pfa_range.slices[i];
        if (is_there) {
            pfa_store_relaxed(&slice->records, node->record);
        }
        /* Partner: the acquire in find_cell (hooks/accesses.c). The callbacks need none, see pfa_access_by. */
        pfa_store_release(&slice->word, is_there ? PFA_LARGE_LEAD + ((i - first) << PFA_SLICE_SHIFT) : 0);
    }
}

/* Helps when much waits to be reclaimed: the background thread may have no processor, or find a reader that has none in its section
 * each time it looks. If that does not help, gives both a chance. */
static void wait_for_reclaim(void)
{
    static _Atomic uint32_t pauses; /* since there was little last */
    size_t waiting = pfa_intervalmap_retired();
    if (PFA_LIKELY(waiting <= RETIRED_MAX / 8)) {
        if (PFA_UNLIKELY(pfa_load_relaxed(&pauses) != 0)) {
            pfa_store_relaxed(&pauses, 0);
        }
        return;
    }
    if (waiting % HELP_EVERY == 0 || waiting > RETIRED_MAX / 2) {
        (void)pfa_chunk_reclaim();
    }
    if (waiting > RETIRED_MAX / 2 && pfa_load_relaxed(&pauses) < PAUSES_MAX) {
        pfa_add_relaxed(&pauses, 1);
        pfa_sys_pause(LET_IT_RUN_NS);
    } else if (waiting > RETIRED_MAX / 4) {
        pfa_sys_yield();
    }
}

void *pfa_large_alloc(pfa_tls_t *tls, size_t size, size_t align, uint64_t flags)
{
    if (size > MOST || align > MOST) {
        return NULL;
    }
    if (tls->large_backoff != 0) {
        tls->large_backoff--;
        return NULL;
    }
    wait_for_reclaim();
    if (pfa_intervalmap_retired() > RETIRED_MAX) {
        return failed(tls, "too many freed large chunks wait for the background thread: some are not recorded");
    }
    /* So that its frees can be answered for later; and see pfa_rcu_enter. */
    bool entered = pfa_rcu_enter(tls);
    pfa_rcu_leave(entered);
    pfa_large_t *node = entered ? make_node(align != 0) : NULL;
    if (node == NULL) {
        return failed(tls, "no memory for records: some large chunks are not recorded");
    }
    if (!get_memory(tls, node, size, align, (flags & PFA_FLAG_ZEROED) != 0)) {
        drop_node(node);
        return NULL;
    }
    uint64_t size_flags = pfa_size_flags(size, flags | PFA_FLAG_LARGE);
    uint64_t now = tls->asked_time != 0 ? tls->asked_time : pfa_clock_now(tls);
    tls->asked_time = 0;
    pfa_cells_place(node->cell, node->start); /* before the record is live */
    pfa_accesses_begin(pfa_record_accesses(node->record));
    uint32_t link = (flags & PFA_FLAG_REALLOC) != 0 ? pfa_life_link(tls) : 0;
    pfa_record_begin(node->record, now, size_flags, tls->stack, link, tls->record_tail);
    if (pfa_intervalmap_insert(&pfa_range.large, node) != 0) {
        pfa_record_end(node->record, size_flags);
        give_back(tls, node);
        drop_node(node);
        return failed(tls, "no memory for the map of large chunks: some are not recorded");
    }
    publish(node, true);
    count_birth(tls, size_flags);
    return (void *)node->start;
}

void pfa_large_judge(uintptr_t address, pfa_finding_t *finding)
{
    const pfa_large_t *node = pfa_intervalmap_find(&pfa_range.large, address);
    if (PFA_UNLIKELY(pfa_range.blind) && node != NULL) {
        pfa_finding_describe(finding, address == node->start ? PFA_CHUNK_SILENT : PFA_CHUNK_INTERIOR, 0, NULL);
        finding->usable = node->size;
    } else if (node != NULL) {
        pfa_finding_describe(finding,
                             pfa_finding_verdict(pfa_load_relaxed(&node->record->size_flags), address == node->start),
                             node->start, node->record);
        finding->usable = node->size;
    } else if (address - pfa_range.large.base < pfa_range.large.span) {
        pfa_finding_describe(finding, PFA_CHUNK_FREED, 0, NULL); /* in L, where only recorded chunks are */
    } else {
        pfa_finding_describe(finding, pfa_finding_unrecorded(address), 0, NULL);
    }
}

pfa_verdict_t pfa_large_free(pfa_tls_t *tls, uintptr_t address, pfa_finding_t *finding)
{
    bool entered = pfa_rcu_enter(tls);
    pfa_large_t *node = pfa_intervalmap_remove(&pfa_range.large, address);
    if (node == NULL) {
        pfa_large_judge(address, finding);
        pfa_rcu_leave(entered);
        /* Found alive again here means that two threads free it at once and the other was first. */
        if (finding->verdict == PFA_CHUNK_LIVE || finding->verdict == PFA_CHUNK_SILENT) {
            finding->verdict = PFA_CHUNK_FREED;
        }
        return finding->verdict;
    }
    pfa_rcu_leave(entered);
    /* It is nobody else's now, and stays until it is retired. Telling its death may mean waiting for the background thread,
     * which may itself wait for those who are in a read section. */
    publish(node, false);
    uint64_t size_flags = PFA_LIKELY(!pfa_range.blind) ? pfa_load_relaxed(&node->record->size_flags) : 0;
    if (pfa_is_live(size_flags)) {
        pfa_life_tell_slowly(tls, node->start, node->record, size_flags);
    } else {
        pfa_chunk_count_inherited(size_flags);
    }
    if (PFA_LIKELY(!pfa_range.blind)) {
        pfa_record_end(node->record, size_flags);
    }
    if (pfa_is_live(size_flags)) {
        pfa_life_count_death(tls, pfa_large_class(pfa_size_of(size_flags)), size_flags);
    }
    pfa_measure_allow(tls, node->size);
    /* The memory first: once retired, the node can be gone any time. */
    give_back(tls, node);
    pfa_intervalmap_retire(node);
    if (pfa_chunk_want_reclaim != NULL) {
        pfa_chunk_want_reclaim();
    }
    return PFA_CHUNK_LIVE;
}

bool pfa_chunk_reclaim(void)
{
    pfa_tls_begin_busy(&pfa_tls); /* a child that a handler forks here has half a list in its hands */
    bool more = pfa_intervalmap_reclaim(drop_node);
    pfa_tls_end_busy(&pfa_tls);
    return more;
}
