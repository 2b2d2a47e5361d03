/* Owns what makes one account of a trace and its live table: how far rings got, which live chunks are dead after all, and
 * what is missing in the end. */
#include "analyze/trace/trace.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Chunks that died while the final picture was taken: as many as rings have room for, never so many. */
enum { DIED_MAX = 16 << 20 };
/* Of the marks of these chunks: one in so many is set. */
enum { MARKS = 32 };
/* More than a process has. */
enum { RINGS_MAX = 65536 };

/* Where the ring is, or where it is to be put: they are sorted by number, and mostly met in order. */
static size_t find_ring(const pfa_trace_t *trace, uint32_t number)
{
    size_t i = 0;
    size_t high = trace->ring_count;
    while (i < high) {
        size_t middle = (i + high) / 2;
        if (trace->rings[middle].number < number) {
            i = middle + 1;
        } else {
            high = middle;
        }
    }
    return i;
}

static bool has_ring(const pfa_trace_t *trace, uint32_t number)
{
    size_t i = find_ring(trace, number);
    return i < trace->ring_count && trace->rings[i].number == number;
}

bool pfa_trace_takes_ring(const pfa_trace_t *trace, uint32_t number)
{
    return trace->ring_count < RINGS_MAX || has_ring(trace, number);
}

pfa_ring_t *pfa_trace_ring(pfa_trace_t *trace, uint32_t number)
{
    size_t i = find_ring(trace, number);
    if (i == trace->ring_count || trace->rings[i].number != number) {
        trace->rings = pfa_memory_grow(trace->rings, &trace->ring_room, trace->ring_count + 1, sizeof *trace->rings);
        memmove(&trace->rings[i + 1], &trace->rings[i], (trace->ring_count - i) * sizeof *trace->rings);
        trace->ring_count++;
        trace->rings[i] = (pfa_ring_t){.number = number};
    }
    return &trace->rings[i];
}

uint64_t pfa_trace_ring_end(const pfa_trace_t *trace, uint32_t number)
{
    return has_ring(trace, number) ? trace->rings[find_ring(trace, number)].end : 0;
}

/* False if it makes no sense. */
static bool add_segment(pfa_trace_t *trace, const pfa_batch_segment_t *segment)
{
    if (segment->rows == 0) {
        return true;
    }
    if (segment->first > UINT64_MAX - segment->rows || !pfa_trace_takes_ring(trace, segment->ring)) {
        return false;
    }
    pfa_ring_t *ring = pfa_trace_ring(trace, segment->ring);
    uint64_t end = segment->first + segment->rows;
    if (segment->first > ring->end) {
        ring->missing += segment->first - ring->end;
    } else {
        uint64_t known = end < ring->end ? end : ring->end;
        ring->repeated += known - segment->first;
    }
    ring->end = end > ring->end ? end : ring->end;
    return true;
}

/* Heads and segments are at the start of a batch; they are read without unpacking all of it. */
static void read_segments(pfa_trace_t *trace, const pfa_block_t *block, pfa_bytes_t *start, bool *after_live)
{
    pfa_batch_head_t head;
    size_t limit = sizeof head + PFA_BATCH_SEGMENTS * sizeof(pfa_batch_segment_t);
    if (pfa_block_load_start(trace->loader, block, limit, start) != 0 || start->size < sizeof head) {
        trace->bad_blocks++;
        return;
    }
    memcpy(&head, start->bytes, sizeof head);
    if (head.segments > (start->size - sizeof head) / sizeof(pfa_batch_segment_t) || head.rows > PFA_BATCH_ROWS) {
        trace->bad_blocks++;
        return;
    }
    uint64_t rows = 0;
    bool sane = true;
    for (uint32_t i = 0; i < head.segments; i++) {
        pfa_batch_segment_t segment;
        memcpy(&segment, start->bytes + sizeof head + i * sizeof segment, sizeof segment);
        rows += segment.rows;
        if (rows <= head.rows) {
            sane = add_segment(trace, &segment) && sane;
        }
    }
    trace->bad_blocks += !sane;
    trace->last_time = head.last_time > trace->last_time ? head.last_time : trace->last_time;
    pfa_trace_note_cut(trace, &head);
    *after_live = (head.flags & PFA_BATCH_AFTER_LIVE) != 0;
}

static void read_after_live(pfa_trace_t *trace, const pfa_block_t *block, pfa_bytes_t *payload)
{
    pfa_batch_reader_t reader;
    if (pfa_block_load(trace->loader, block, payload) != 0 || !pfa_batch_open(&reader, payload->bytes, payload->size)) {
        return; /* counted as bad when its rows are walked through */
    }
    pfa_batch_kind_t *kinds = pfa_memory_get(reader.head.kinds, sizeof *kinds);
    for (uint32_t i = 0; i < reader.head.kinds; i++) {
        pfa_batch_kind_at(&reader, i, &kinds[i]);
    }
    pfa_batch_row_t row;
    while (pfa_batch_next(&reader, kinds, &row, NULL) == 1) {
        pfa_trace_put_died(trace, &row.event);
    }
    pfa_memory_free(kinds);
}

void pfa_trace_read_rings(pfa_trace_t *trace)
{
    pfa_bytes_t payload = {.bytes = NULL};
    for (size_t i = 0; i < trace->blocks.count; i++) {
        bool after_live = false;
        if (trace->blocks.list[i].kind == PFA_BLOCK_EVENTS) {
            read_segments(trace, &trace->blocks.list[i], &payload, &after_live);
        }
        if (after_live) {
            read_after_live(trace, &trace->blocks.list[i], &payload);
        }
    }
    pfa_bytes_free(&payload);
}

static pfa_chunk_key_t make_key(uint64_t alloc_time, uint64_t size_flags, uint32_t stack, uint16_t thread)
{
    uint64_t size = size_flags >> PFA_RECORD_SIZE_SHIFT;
    return (pfa_chunk_key_t){
        .alloc_time = alloc_time, .size_thread = size << PFA_RECORD_SIZE_SHIFT | thread, .stack = stack};
}

void pfa_trace_put_died(pfa_trace_t *trace, const pfa_event_t *event)
{
    if (trace->died_count == DIED_MAX) {
        return;
    }
    trace->died = pfa_memory_grow(trace->died, &trace->died_room, trace->died_count + 1, sizeof *trace->died);
    trace->died[trace->died_count++] = make_key(event->alloc_time, event->size_flags, event->stack, event->thread);
}

static int compare_keys(const void *a, const void *b)
{
    const pfa_chunk_key_t *left = a;
    const pfa_chunk_key_t *right = b;
    if (left->alloc_time != right->alloc_time) {
        return left->alloc_time < right->alloc_time ? -1 : 1;
    }
    if (left->stack != right->stack) {
        return left->stack < right->stack ? -1 : 1;
    }
    return left->size_thread < right->size_thread ? -1 : left->size_thread > right->size_thread;
}

void pfa_trace_sort_died(pfa_trace_t *trace)
{
    uint64_t marks = 64;
    pfa_memory_free(trace->died_marks);
    trace->died_marks = NULL;
    if (trace->died_count == 0) {
        return;
    }
    qsort(trace->died, trace->died_count, sizeof *trace->died, compare_keys);
    while (marks < MARKS * (uint64_t)trace->died_count) {
        marks *= 2;
    }
    trace->died_marks = pfa_memory_get(marks / 64, sizeof *trace->died_marks);
    trace->died_mark_mask = marks - 1;
    for (size_t i = 0; i < trace->died_count; i++) {
        uint64_t mark = pfa_trace_died_mark(trace, trace->died[i].alloc_time);
        trace->died_marks[mark / 64] |= (uint64_t)1 << mark % 64;
    }
}

pfa_died_t pfa_died_begin(const pfa_trace_t *trace)
{
    return (pfa_died_t){.trace = trace};
}

void pfa_died_end(pfa_died_t *died)
{
    pfa_memory_free(died->used);
}

bool pfa_died_has(pfa_died_t *died, const pfa_live_record_t *record)
{
    const pfa_trace_t *trace = died->trace;
    if (!pfa_died_may_have(died, record)) {
        return false;
    }
    pfa_chunk_key_t key = make_key(record->alloc_time, record->size_flags, record->stack, record->thread);
    size_t low = 0;
    size_t high = trace->died_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compare_keys(&trace->died[middle], &key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (died->used == NULL) {
        died->used = pfa_memory_get(trace->died_count, sizeof *died->used);
    }
    size_t next = low < trace->died_count ? low + died->used[low] : low;
    if (next >= trace->died_count || compare_keys(&trace->died[next], &key) != 0) {
        return false;
    }
    died->used[low]++;
    return true;
}

static void merge_node(void *to, uint32_t number, const pfa_live_node_t *node)
{
    pfa_trace_t *trace = to;
    uint64_t most = trace->nodes_seen + trace->blocks.size + trace->live->data / sizeof *node + 65536;
    if (number >= PFA_NODE_FIRST && number < most) {
        pfa_trace_put_node(trace, number, node->parent, node->pc);
    }
}

static void merge_thread(void *to, const pfa_trace_thread_t *thread)
{
    if (thread->number <= UINT16_MAX) {
        pfa_trace_put_thread(to, thread);
    }
}

static void merge_tag(void *to, uint32_t number, const char *name)
{
    pfa_trace_t *trace = to;
    if (number <= UINT16_MAX && trace->tag_count < 65536) {
        pfa_trace_put_tag(trace, number, name, strlen(name));
    }
}

static void merge_type(void *to, uint32_t number, const pfa_live_type_t *type)
{
    pfa_trace_put_type(to, number, type->size, type->name, type->name_size);
}

static void merge_fold(void *to, uint32_t number, const pfa_live_fold_t *fold)
{
    pfa_trace_put_fold(to, number, fold->chunks, fold->bytes);
}

static bool merge_map(void *to, const pfa_access_map_t *head, const void *counters)
{
    pfa_trace_t *trace = to;
    /* Large ones may be holes but for a page in 32. */
    uint64_t most = pfa_trace_meta_most(trace) + 32 * trace->live->data;
    return pfa_maps_put(&trace->maps, head->stack, head->words, counters, most);
}

/* They count from the start: the trace's are older. */
static void merge_maps(pfa_trace_t *trace)
{
    if (!pfa_livetable_has_maps(trace->live)) {
        return;
    }
    pfa_maps_free(&trace->maps);
    int error = pfa_livetable_maps(trace->live, merge_map, trace);
    if (error != 0) {
        pfa_notes_add(&trace->lacks, "cannot read all maps of accesses in %s: %s", trace->live_path, strerror(error));
    }
}

static void put_folded(pfa_trace_t *trace, const pfa_live_folded_t *chunk)
{
    if (chunk->alloc_time != 0) {
        pfa_event_t event = {.alloc_time = chunk->alloc_time,
                             .size_flags = chunk->size_flags,
                             .stack = chunk->stack,
                             .thread = (uint16_t)chunk->thread};
        pfa_trace_put_died(trace, &event);
    }
}

/* Of one ring, whose blocks end where the span was asked for. Entries below that which are in no block may be in folds, too, if
 * a sealer wrote those behind them and was killed. */
static void merge_gap(pfa_ring_t *ring, const pfa_live_span_t *span)
{
    uint64_t below = span->folded_to < ring->end ? span->folded_to : ring->end;
    uint64_t folded = below > span->folded_from ? below - span->folded_from : 0;
    ring->folded = folded < ring->missing ? folded : ring->missing;
    ring->folded += span->folded_to - span->folded_from - folded;
    ring->missing += span->missing + span->folded_to - span->folded_from - folded;
}

/* False: it cannot be read. */
static bool merge_last_entry(pfa_trace_t *trace, pfa_live_extent_t ring)
{
    pfa_live_span_t span;
    if (!pfa_trace_takes_ring(trace, ring.index) ||
        pfa_livetable_ring(trace->live, &ring, pfa_trace_ring(trace, ring.index)->end, &span) != 0) {
        return false;
    }
    if (span.has_last) {
        pfa_trace_put_died(trace, &span.last);
    }
    put_folded(trace, &span.folded);
    merge_gap(pfa_trace_ring(trace, span.ring), &span);
    pfa_live_span_free(&span);
    return true;
}

static void merge_last_entries(pfa_trace_t *trace)
{
    uint64_t unread = 0;
    trace->died_count = 0; /* those of the trace are about its own picture */
    put_folded(trace, &trace->live->head->folded_last);
    if (trace->live->head->fold_log.state == 1) { /* a kill may have come into the middle of it */
        put_folded(trace, &trace->live->head->fold_log.chunk);
    }
    for (size_t i = 0; i < trace->live->extent_count; i++) {
        for (size_t ring = 0; ring < pfa_livetable_rings_in(trace->live, i); ring++) {
            unread += !merge_last_entry(trace, pfa_livetable_ring_at(trace->live, i, ring));
        }
    }
    if (unread != 0) {
        pfa_notes_add(&trace->lacks, "%" PRIu64 " ring%s of events that cannot be read", unread,
                      unread == 1 ? "" : "s");
    }
}

void pfa_trace_merge_live(pfa_trace_t *trace)
{
    const pfa_live_head_t *head = trace->live->head;
    merge_last_entries(trace);
    trace->fold_count = 0;
    int error = pfa_livetable_nodes(trace->live, merge_node, trace);
    error = error != 0 ? error : pfa_livetable_threads(trace->live, merge_thread, trace);
    error = error != 0 ? error : pfa_livetable_tags(trace->live, merge_tag, trace);
    error = error != 0 ? error : pfa_livetable_types(trace->live, merge_type, trace);
    error = error != 0 ? error : pfa_livetable_folds(trace->live, merge_fold, trace);
    if (error != 0) {
        pfa_notes_add(&trace->lacks, "cannot read all of %s: %s", trace->live_path, strerror(error));
    }
    merge_maps(trace);
    if (trace->live->ignored != 0) {
        pfa_notes_add(&trace->lacks, "%zu parts of the live table are ignored: they lie outside its file, or overlap",
                      trace->live->ignored);
    }
    for (size_t i = 0; i < PFA_LIVE_WEIGHTS; i++) {
        trace->weights[i] = head->weights[i] != 0 ? head->weights[i] : trace->weights[i];
    }
    trace->has_counters = false;
    trace->counters = (pfa_trace_counters_t){.unrecorded = head->unrecorded,
                                             .folded = head->folded,
                                             .inherited = head->inherited,
                                             .instrumented = head->instrumented,
                                             .merged = head->merged,
                                             .times = head->times};
    if (head->last_counter > trace->start.counter && (!trace->has_clock || head->last_counter > trace->clock.counter)) {
        trace->has_clock = true;
        trace->clock = (pfa_trace_clock_t){.counter = head->last_counter, .monotonic_ns = head->last_monotonic_ns};
    }
    trace->last_time = head->last_counter > trace->last_time ? head->last_counter : trace->last_time;
}
