/* Owns the live tables of made traces. See tests/analyze/make_trace.h. */
#include "tests/analyze/make_trace.h"

#include <fcntl.h>

enum { RING_CAPACITY = 4096, RECORD_SIZE = 64 };

static uint64_t add_extent(pfa_live_head_t *head, uint32_t kind, uint32_t index, uint64_t size)
{
    uint64_t offset = head->file_size;
    uint32_t number = head->extent_count++;
    size = (size + PFA_LIVE_PAGE - 1) / PFA_LIVE_PAGE * PFA_LIVE_PAGE;
    head->extents[number] = (pfa_live_extent_t){.kind = kind, .index = index, .offset = offset, .size = size};
    head->file_size += size;
    return offset;
}

static void put(int fd, uint64_t at, const void *bytes, size_t size)
{
    must(pwrite(fd, bytes, size, (off_t)at) == (ssize_t)size);
}

static pfa_live_record_t record_of(const pfa_event_t *event)
{
    return (pfa_live_record_t){.alloc_time = event->alloc_time,
                               .size_flags = (event->size_flags & ~(uint64_t)PFA_RECORD_STATE) | PFA_RECORD_LIVE,
                               .stack = event->stack,
                               .thread = event->thread,
                               .tag = event->tag,
                               .last_thread = event->last_thread};
}

static void put_ring(int fd, pfa_live_head_t *head, const made_t *made, const heap_t *heap, uint32_t number,
                     size_t in_trace)
{
    size_t first = heap->ring_start[number];
    size_t count = heap->ring_start[number + 1] - first;
    uint64_t at =
        add_extent(head, PFA_EXTENT_RING, number,
                   PFA_LIVE_RING_ENTRIES + RING_CAPACITY * (sizeof(pfa_event_t) + sizeof(pfa_event_accesses_t)));
    uint64_t accesses = at + PFA_LIVE_RING_ENTRIES + RING_CAPACITY * sizeof(pfa_event_t);
    bool folded = number == 0 && made->unwritten;
    /* Unless it settled with the ring, the writer was killed after its block and before it told that: the tail is behind. */
    pfa_live_ring_t ring = {.number = number,
                            .entry_size = sizeof(pfa_event_t),
                            .capacity = RING_CAPACITY,
                            .head = count,
                            .tail = folded          ? in_trace + UNWRITTEN
                                    : made->settled ? in_trace
                                                    : in_trace / 2,
                            .folded_from = folded ? in_trace + 1 : 0};
    put(fd, at, &ring, sizeof ring);
    for (size_t i = count > RING_CAPACITY ? count - RING_CAPACITY : 0; i < count; i++) {
        put(fd, at + PFA_LIVE_RING_ENTRIES + i % RING_CAPACITY * sizeof(pfa_event_t), &heap->deaths[first + i].event,
            sizeof(pfa_event_t));
        put(fd, accesses + i % RING_CAPACITY * sizeof(pfa_event_accesses_t), &heap->deaths[first + i].accesses,
            sizeof(pfa_event_accesses_t));
    }
}

/* Every third record is a large chunk's; between the others there are holes, and dead and silent ones. */
static void put_records(int fd, pfa_live_head_t *head, const heap_t *heap, bool dying)
{
    size_t most = heap->live_count + RINGS + 1;
    uint64_t records = add_extent(head, PFA_EXTENT_RECORDS, 0, most * 3 * RECORD_SIZE);
    uint64_t larges = add_extent(head, PFA_EXTENT_LARGES, 0, most * PFA_LIVE_LARGE_CELL);
    for (size_t i = 0; i < heap->live_count; i++) {
        pfa_live_record_t record = record_of(&heap->lives[i].event);
        uint64_t at = i % 3 == 0 ? larges + i * PFA_LIVE_LARGE_CELL : records + 3 * i * RECORD_SIZE;
        put(fd, at, &record, sizeof record);
        pfa_live_accesses_t accesses = live_accesses_of(&heap->lives[i], i % 3 == 0 ? 0 : i);
        put(fd, at + sizeof record, &accesses, sizeof accesses);
        record.size_flags = (record.size_flags & ~(uint64_t)PFA_RECORD_STATE) | (i % 2 == 0 ? 2 : 3);
        put(fd, records + (3 * i + 1) * RECORD_SIZE, &record, sizeof record);
    }
    for (uint32_t i = 0; dying && i < RINGS; i++) {
        if (heap->ring_start[i + 1] != heap->ring_start[i]) {
            pfa_live_record_t record = record_of(&heap->deaths[heap->ring_start[i + 1] - 1].event);
            put(fd, records + 3 * (heap->live_count + i) * RECORD_SIZE, &record, sizeof record);
        }
    }
}

/* All of them small, in regions of one size, each described in front of its records. */
static void put_dense(int fd, pfa_live_head_t *head, const heap_t *heap)
{
    enum { SLOTS = 1023, SLOT_SIZE = 512 };
    uint8_t *run = calloc(SLOTS + 1, RECORD_SIZE);
    size_t runs = (heap->live_count + SLOTS - 1) / SLOTS;
    uint64_t at = add_extent(head, PFA_EXTENT_RECORDS, 0, runs * (SLOTS + 1) * RECORD_SIZE);
    must(run != NULL);
    for (size_t i = 0; i < runs; i++, at += (SLOTS + 1) * RECORD_SIZE) {
        size_t count = heap->live_count - i * SLOTS < SLOTS ? heap->live_count - i * SLOTS : SLOTS;
        pfa_live_record_t region = {.alloc_time = (uint64_t)(i + 1) << 20,
                                    .size_flags = (uint64_t)SLOT_SIZE << PFA_RECORD_SIZE_SHIFT | PFA_RECORD_REGION,
                                    .stack = SLOTS,
                                    .type_link = 1};
        memcpy(run, &region, sizeof region);
        for (size_t j = 0; j < count; j++) {
            const life_t *life = &heap->lives[i * SLOTS + j];
            pfa_live_record_t record = record_of(&life->event);
            pfa_live_accesses_t accesses = live_accesses_of(life, 0);
            memcpy(run + (j + 1) * RECORD_SIZE, &record, sizeof record);
            memcpy(run + (j + 1) * RECORD_SIZE + sizeof record, &accesses, sizeof accesses);
        }
        put(fd, at, run, (count + 1) * RECORD_SIZE);
    }
    free(run);
}

/* Those of the trace are older. */
static void put_maps(int fd, pfa_live_head_t *head)
{
    uint8_t *maps = calloc(1, MAPS_ROOM);
    must(maps != NULL);
    size_t size = make_maps(maps, false);
    put(fd, add_extent(head, PFA_EXTENT_MAPS, 0, MAPS_ROOM), maps, size);
    free(maps);
}

static void put_names(int fd, pfa_live_head_t *head, const heap_t *heap)
{
    uint64_t nodes = add_extent(head, PFA_EXTENT_NODES, 0, PFA_LIVE_NODES * sizeof(pfa_live_node_t));
    for (uint32_t i = PFA_NODE_FIRST; i < NODE_COUNT; i++) {
        pfa_live_node_t node = {.pc = heap->pcs[i], .parent = heap->parents[i], .ready = 1};
        put(fd, nodes + i * sizeof node, &node, sizeof node);
    }
    uint64_t threads = add_extent(head, PFA_EXTENT_THREADS, 0, PFA_LIVE_THREADS * sizeof(pfa_trace_thread_t));
    for (uint32_t i = 1; i <= RINGS; i++) {
        pfa_trace_thread_t thread = {.number = i, .tid = 1000 + i, .start = heap->start + i};
        snprintf(thread.name, sizeof thread.name, "worker-%u", i);
        put(fd, threads + i * sizeof thread, &thread, sizeof thread);
    }
    uint64_t tags = add_extent(head, PFA_EXTENT_TAGS, 0, 8 * PFA_LIVE_TAG_SIZE);
    put(fd, tags + PFA_LIVE_TAG_SIZE, "cache", 6);
}

/* What was asked for, and the deaths of a block of ring 0 that could not be written. */
static void put_folds(int fd, pfa_live_head_t *head, const made_t *made, const heap_t *heap, size_t in_trace)
{
    pfa_live_fold_t folds[NODE_COUNT] = {{0}};
    uint64_t at = add_extent(head, PFA_EXTENT_FOLDS, 0, PFA_LIVE_NODES * sizeof(pfa_live_fold_t));
    if (made->folded) {
        folds[PFA_NODE_FIRST + 1] = (pfa_live_fold_t){.chunks = 1024 * 7, .bytes = 700};
        head->folded = 7;
    }
    folds[PFA_NODE_FIRST].chunks += 1024 * made->folds;
    folds[PFA_NODE_FIRST].bytes += 100 * made->folds;
    head->folded += made->folds;
    for (size_t i = in_trace; made->unwritten && i < in_trace + UNWRITTEN; i++) {
        const pfa_event_t *event = &heap->deaths[heap->ring_start[0] + i].event;
        folds[event->stack].chunks += 1024;
        folds[event->stack].bytes += event->size_flags >> PFA_RECORD_SIZE_SHIFT;
        head->folded++;
    }
    put(fd, at, folds, sizeof folds);
}

void write_live_table(const made_t *made, const heap_t *heap, const size_t in_trace[RINGS], bool dying)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s", made->path, PFA_LIVE_SUFFIX);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    must(fd >= 0);
    pfa_live_head_t *head = calloc(1, sizeof *head);
    must(head != NULL);
    head->magic = PFA_LIVE_MAGIC;
    head->version = PFA_TRACE_VERSION;
    head->pid = (uint32_t)made->pid;
    head->session = made->session;
    head->record_size = RECORD_SIZE;
    head->start_counter = heap->start;
    head->last_counter = heap->end;
    head->last_monotonic_ns = heap->end + made->later + made->boot;
    head->node_count = NODE_COUNT;
    head->instrumented = made->instrumented ? 2 : 0;
    head->merged = made->merged;
    head->times = made->times;
    head->weights[CLASS] = made->sampled ? PERIOD : 0;
    head->file_size = (sizeof *head + PFA_LIVE_PAGE - 1) / PFA_LIVE_PAGE * PFA_LIVE_PAGE;
    for (uint32_t i = 0; i < RINGS; i++) {
        put_ring(fd, head, made, heap, i, in_trace[i]);
    }
    if (made->dense) {
        put_dense(fd, head, heap);
    } else {
        put_records(fd, head, heap, dying);
    }
    if (made->maps) {
        put_maps(fd, head);
    }
    put_names(fd, head, heap);
    put_folds(fd, head, made, heap, in_trace[0]);
    put(fd, 0, head, sizeof *head);
    must(ftruncate(fd, (off_t)head->file_size) == 0);
    close(fd);
    free(head);
}
