/* Owns the reading of a live table's rings: which of their entries are there, and which were written over meanwhile. See
 * analyze/trace/livetable.h. */
#include "analyze/trace/blocks.h"
#include "analyze/trace/livetable.h"
#include "analyze/base/memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where the entries of a ring begin. */
static uint64_t entries_of(const pfa_live_extent_t *extent)
{
    return extent->kind == PFA_EXTENT_RINGS ? sizeof(pfa_live_ring_t) : PFA_LIVE_RING_ENTRIES;
}

/* From one ring of an extent to the next; 0: that makes no sense, or none is made yet. */
static uint64_t stride_of(const pfa_livetable_t *table, const pfa_live_extent_t *extent)
{
    pfa_live_ring_t first;
    if (extent->size < sizeof first ||
        pfa_file_read(pfa_livetable_fd(table, extent), &first, sizeof first, pfa_livetable_offset(extent)) != 0) {
        return 0;
    }
    return first.stride > sizeof first && first.stride <= extent->size ? first.stride : 0;
}

size_t pfa_livetable_rings_in(const pfa_livetable_t *table, size_t extent)
{
    const pfa_live_extent_t *whole = &table->extents[extent];
    if (whole->kind != PFA_EXTENT_RINGS) {
        return whole->kind == PFA_EXTENT_RING;
    }
    uint64_t stride = stride_of(table, whole);
    uint64_t count = stride != 0 ? whole->size / stride : 0;
    return count < PFA_LIVE_RINGS_MAX ? (size_t)count : PFA_LIVE_RINGS_MAX;
}

pfa_live_extent_t pfa_livetable_ring_at(const pfa_livetable_t *table, size_t extent, size_t i)
{
    pfa_live_extent_t part = table->extents[extent];
    if (part.kind == PFA_EXTENT_RINGS) {
        part.size = stride_of(table, &part);
        part.index += (uint32_t)i;
        part.offset += i * part.size;
    }
    return part;
}

static int read_ring_head(const pfa_livetable_t *table, const pfa_live_extent_t *extent, pfa_live_ring_t *ring)
{
    if (extent->size < entries_of(extent)) {
        return EBADMSG;
    }
    int error = pfa_file_read(pfa_livetable_fd(table, extent), ring, sizeof *ring, pfa_livetable_offset(extent));
    uint64_t most = (extent->size - entries_of(extent)) / sizeof(pfa_event_t);
    if (error == 0 && (ring->entry_size != sizeof(pfa_event_t) || ring->capacity > most || ring->capacity == 0 ||
                       (ring->capacity & (ring->capacity - 1)) != 0)) {
        error = EBADMSG;
    }
    if (error == 0) { /* from here on as the trace counts */
        ring->head -= ring->base;
        ring->tail -= ring->base;
        ring->folded_from -= ring->folded_from != 0 ? ring->base : 0;
    }
    return error;
}

/* Its place was made, and nothing was stored in it when the process was killed. */
static bool is_unused(const pfa_live_ring_t *ring)
{
    return ring->head == 0 && ring->tail == 0;
}

/* Entries that could not be written are in folds, up to the tail: the first that is in neither. Those before the tail are
 * in the trace or, from folded_from on, in folds; what is in neither was cut off the trace. */
static uint64_t skip_folded(const pfa_livetable_t *table, const pfa_live_ring_t *ring, uint64_t first,
                            pfa_live_span_t *span)
{
    const pfa_live_fold_log_t *log = &table->head->fold_log;
    uint64_t tail = ring->tail;
    if (ring->folded_from == 0) {
        return first;
    }
    if (log->state == 1 && log->ring == ring->number && log->tail - ring->base > tail) {
        tail = log->tail - ring->base;
    }
    uint64_t from = ring->folded_from - 1;
    span->folded_from = from;
    span->folded_to = tail > from ? tail : from;
    span->missing = from > first ? from - first : 0;
    return tail > first ? tail : first;
}

/* What there is for each entry from `first` on, in the one or two runs that it lies in: things of `size` in an array that
 * begins at `array` in the extent. */
static int read_array(const pfa_livetable_t *table, const pfa_live_extent_t *extent, const pfa_live_ring_t *ring,
                      uint64_t array, size_t size, uint64_t first, void *things, size_t count)
{
    for (size_t done = 0; done < count;) {
        uint64_t slot = (ring->base + first + done) & (ring->capacity - 1);
        size_t run = count - done < ring->capacity - slot ? count - done : (size_t)(ring->capacity - slot);
        int error = pfa_file_read(pfa_livetable_fd(table, extent), (char *)things + done * size, run * size,
                                  pfa_livetable_offset(extent) + array + slot * size);
        if (error != 0) {
            return error;
        }
        done += run;
    }
    return 0;
}

static int read_entries(const pfa_livetable_t *table, const pfa_live_extent_t *extent, const pfa_live_ring_t *ring,
                        uint64_t first, pfa_event_t *events, size_t count)
{
    return read_array(table, extent, ring, entries_of(extent), sizeof *events, first, events, count);
}

/* Those of the entries of the span, if the ring has room for them. */
static int read_accesses(const pfa_livetable_t *table, const pfa_live_extent_t *extent, const pfa_live_ring_t *ring,
                         uint64_t first, pfa_live_span_t *span)
{
    uint64_t room = (extent->size - entries_of(extent)) / (sizeof(pfa_event_t) + sizeof *span->accesses);
    if (!pfa_livetable_has_accesses(table) || ring->capacity > room) {
        return 0;
    }
    span->accesses = pfa_memory_get(span->count, sizeof *span->accesses);
    return read_array(table, extent, ring, entries_of(extent) + ring->capacity * sizeof(pfa_event_t),
                      sizeof *span->accesses, first, span->accesses, span->count);
}

/* The addresses of their chunks, likewise, behind the accesses. */
static int read_addresses(const pfa_livetable_t *table, const pfa_live_extent_t *extent, const pfa_live_ring_t *ring,
                          uint64_t first, pfa_live_span_t *span)
{
    size_t entry = sizeof(pfa_event_t) + (pfa_livetable_has_accesses(table) ? sizeof *span->accesses : 0);
    uint64_t room = (extent->size - entries_of(extent)) / (entry + sizeof *span->addresses);
    if (table->head->version < 3 || ring->has_addresses != 1 || ring->capacity > room) {
        return 0;
    }
    span->addresses = pfa_memory_get(span->count, sizeof *span->addresses);
    return read_array(table, extent, ring, entries_of(extent) + ring->capacity * entry, sizeof *span->addresses, first,
                      span->addresses, span->count);
}

/* As a batch would have them: a part of the chunk, and times of its life. */
static void mend_accesses(pfa_live_span_t *span)
{
    for (size_t i = 0; span->accesses != NULL && i < span->count; i++) {
        const pfa_event_t *event = &span->events[i];
        pfa_event_accesses_t *told = &span->accesses[i];
        uint64_t units = pfa_access_units(event->size_flags >> PFA_RECORD_SIZE_SHIFT);
        if (told->length == 0 || told->low >= units) {
            *told = (pfa_event_accesses_t){.reads = told->reads, .writes = told->writes};
            continue;
        }
        told->length = told->length < units - told->low ? told->length : (uint32_t)(units - told->low);
        told->first = told->first < event->free_time ? told->first : event->free_time;
        told->first = told->first > event->alloc_time ? told->first : event->alloc_time;
        told->last = told->last < event->free_time ? told->last : event->free_time;
        told->last = told->last > told->first ? told->last : told->first;
    }
}

void pfa_live_span_free(pfa_live_span_t *span)
{
    pfa_memory_free(span->events);
    pfa_memory_free(span->accesses);
    pfa_memory_free(span->addresses);
    span->events = NULL;
    span->accesses = NULL;
    span->addresses = NULL;
    span->count = 0;
}

/* Bytes of an extent that are no holes. */
static uint64_t data_in(const pfa_livetable_t *table, const pfa_live_extent_t *extent)
{
    off_t end = (off_t)(pfa_livetable_offset(extent) + extent->size);
    uint64_t sum = 0;
    for (off_t at = (off_t)pfa_livetable_offset(extent); at < end;) {
        off_t data = lseek(pfa_livetable_fd(table, extent), at, SEEK_DATA);
        if (data < 0 && errno != ENXIO) {
            return table->data; /* nobody can tell */
        }
        off_t hole = data >= 0 && data < end ? lseek(pfa_livetable_fd(table, extent), data, SEEK_HOLE) : -1;
        if (hole <= at) {
            break;
        }
        at = hole < end ? hole : end;
        sum += (uint64_t)(at - data);
    }
    return sum;
}

/* The first entry that nobody has begun to write over. While the head says so, the owner may be filling the entry that is to come,
 * if the writer is done with the one whose place that takes (has_room() of meta/ring.c): so never one that is not before the tail,
 * and of a process that is gone none that is wanted. */
static uint64_t first_whole(const pfa_live_ring_t *ring)
{
    if (ring->head < ring->capacity) {
        return 0;
    }
    uint64_t oldest = ring->head - ring->capacity;
    return ring->tail > oldest ? oldest + 1 : oldest;
}

/* Leaves out entries before this one. */
static void cut_span(pfa_live_span_t *span, uint64_t whole)
{
    uint64_t lost = whole > span->first ? whole - span->first : 0;
    lost = lost < span->count ? lost : span->count;
    span->first += lost;
    span->count -= (size_t)lost;
    memmove(span->events, span->events + lost, span->count * sizeof *span->events);
    if (span->accesses != NULL) {
        memmove(span->accesses, span->accesses + lost, span->count * sizeof *span->accesses);
    }
    if (span->addresses != NULL) {
        memmove(span->addresses, span->addresses + lost, span->count * sizeof *span->addresses);
    }
    span->has_last = span->has_last && span->head - 1 >= whole;
}

/* Entries of the span, then what a running process has written over meanwhile. */
static int read_span(const pfa_livetable_t *table, const pfa_live_extent_t *extent, const pfa_live_ring_t *ring,
                     pfa_live_span_t *span)
{
    pfa_live_ring_t later;
    /* Partner: the release store of the head in pfa_ring_commit. */
    atomic_thread_fence(memory_order_acquire);
    span->events = pfa_memory_get(span->count, sizeof *span->events);
    int error = read_entries(table, extent, ring, span->first, span->events, span->count);
    error = error != 0 ? error : read_accesses(table, extent, ring, span->first, span);
    error = error != 0 ? error : read_addresses(table, extent, ring, span->first, span);
    if (error == 0 && span->head != 0) {
        error = read_entries(table, extent, ring, span->head - 1, &span->last, 1);
        span->has_last = error == 0;
    }
    /* Whoever saw a part of an entry sees the head and the tail that were there before it. Partners: pfa_ring_commit, and
     * has_room() by way of pfa_ring_done. */
    atomic_thread_fence(memory_order_acquire);
    error = error != 0 ? error : read_ring_head(table, extent, &later);
    if (error == 0) {
        cut_span(span, first_whole(&later));
    }
    return error;
}

int pfa_livetable_ring(const pfa_livetable_t *table, const pfa_live_extent_t *extent, uint64_t first,
                       pfa_live_span_t *span)
{
    pfa_live_ring_t ring;
    *span = (pfa_live_span_t){.ring = extent->index, .first = first};
    int error = read_ring_head(table, extent, &ring);
    if (error == EBADMSG && extent->size >= entries_of(extent) && is_unused(&ring)) {
        return 0;
    }
    if (error != 0) {
        return error;
    }
    span->folded = ring.folded_last;
    first = skip_folded(table, &ring, first, span);
    uint64_t head = ring.head;
    uint64_t oldest = head > ring.capacity ? head - ring.capacity : 0;
    /* What is before the tail was dealt with: it is in the trace, or, if that could not be written, in the folds. */
    oldest = ring.tail > oldest ? ring.tail : oldest;
    oldest = oldest < head ? oldest : head;
    span->first = first > oldest ? first : oldest;
    span->head = head;
    span->count = span->first < head ? (size_t)(head - span->first) : 0;
    if (span->count > data_in(table, extent) / sizeof *span->events) {
        span->count = 0;
        return EBADMSG; /* more than was ever stored there */
    }
    error = read_span(table, extent, &ring, span);
    if (error != 0) {
        pfa_live_span_free(span);
        return error;
    }
    mend_accesses(span);
    for (size_t i = 0; i < span->count; i++) {
        bool before = span->events[i].alloc_time < table->head->start_counter;
        span->events[i].size_flags |= before ? PFA_EVENT_BEFORE : 0;
    }
    span->missing += span->first > first && first < head ? span->first - first : 0;
    return 0;
}
