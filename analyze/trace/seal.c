/* Owns the sealing of traces. See analyze/trace/seal.h. All or nothing: until the END block is on the disk the live table stays, and what was appended
 * is cut off again when something fails. */
#include "analyze/trace/seal.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/trace/tally.h"
#include "analyze/trace/tracefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAPS_SIZE = 1 << 20 }; /* of a block of maps, about */

typedef struct sealing {
    pfa_trace_t *trace;
    pfa_tracefile_t writer;
    pfa_batch_t *batch;
    uint8_t *bytes; /* a LIVE block's head, then an encoded batch */
    uint64_t time;
    pfa_bytes_t regions; /* of chunks that wait to be written: a REGIONS block's head and some */
    uint64_t last_region;
    pfa_died_t died;
    pfa_account_t account;
    int fd;
    int error;
} sealing_t;

/* Those that were gathered; then begins others of this form. */
static void write_events(sealing_t *sealing, uint32_t flags)
{
    if (sealing->batch->head.rows != 0) {
        size_t size = pfa_batch_finish(sealing->batch, sealing->bytes);
        pfa_tracefile_block(&sealing->writer, PFA_BLOCK_EVENTS, sealing->time, sealing->bytes, size);
    }
    pfa_batch_begin(sealing->batch, pfa_trace_cut(sealing->trace), flags);
}

/* What is left in one ring, as entries of it. */
static void add_span(void *to, const pfa_live_span_t *span)
{
    sealing_t *sealing = to;
    uint32_t flags =
        (span->accesses != NULL ? PFA_BATCH_ACCESSES : 0) | (span->addresses != NULL ? PFA_BATCH_ADDRESSES : 0);
    bool named = false;
    for (size_t i = 0; i < span->count; i++) {
        if (sealing->batch->head.rows == PFA_BATCH_ROWS ||
            (sealing->batch->head.flags & (PFA_BATCH_ACCESSES | PFA_BATCH_ADDRESSES)) != flags ||
            (!named && sealing->batch->head.segments == PFA_BATCH_SEGMENTS)) {
            write_events(sealing, flags);
            named = false;
        }
        if (!named) {
            (void)pfa_batch_segment(sealing->batch, span->ring, span->first + i);
            named = true;
        }
        (void)pfa_batch_add(sealing->batch, &span->events[i], span->accesses != NULL ? &span->accesses[i] : NULL,
                            span->addresses != NULL ? span->addresses[i] : 0);
    }
}

static void begin_live(sealing_t *sealing)
{
    uint32_t accesses = pfa_livetable_has_accesses(sealing->trace->live) ? PFA_BATCH_ACCESSES : 0;
    pfa_batch_begin(sealing->batch, pfa_trace_cut(sealing->trace), PFA_BATCH_LIVE | PFA_BATCH_ADDRESSES | accesses);
}

/* Those of the chunks that are about to be written. */
static void write_regions(sealing_t *sealing)
{
    pfa_bytes_t *regions = &sealing->regions;
    pfa_trace_regions_t head = {.picture = sealing->trace->last_picture + 1};
    if (regions->size != 0) {
        head.count = (uint32_t)((regions->size - sizeof head) / sizeof(pfa_trace_region_t));
        memcpy(regions->bytes, &head, sizeof head);
        pfa_tracefile_block(&sealing->writer, PFA_BLOCK_REGIONS, sealing->time, regions->bytes, regions->size);
        regions->size = 0;
    }
}

/* Records come region by region: each is told once, or a few times. */
static void add_region(sealing_t *sealing, const pfa_live_place_t *place)
{
    pfa_bytes_t *regions = &sealing->regions;
    pfa_trace_region_t region = {.start = place->region, .slot_size = place->slot_size, .slots = place->slots};
    if (place->region == 0 || place->region == sealing->last_region) {
        return;
    }
    size_t at = regions->size != 0 ? regions->size : sizeof(pfa_trace_regions_t);
    pfa_bytes_room(regions, at + sizeof region);
    memcpy(regions->bytes + at, &region, sizeof region);
    regions->size = at + sizeof region;
    sealing->last_region = place->region;
}

static void write_live(sealing_t *sealing, bool last)
{
    write_regions(sealing);
    pfa_trace_live_t live = {.number = sealing->trace->last_picture + 1,
                             .flags = PFA_LIVE_FINAL | (last ? PFA_LIVE_LAST : 0),
                             .time = sealing->time};
    memcpy(sealing->bytes, &live, sizeof live);
    size_t size = pfa_batch_finish(sealing->batch, sealing->bytes + sizeof live);
    pfa_tracefile_block(&sealing->writer, PFA_BLOCK_LIVE, sealing->time, sealing->bytes, sizeof live + size);
    begin_live(sealing);
}

static void add_record(void *to, const pfa_live_record_t *record, const pfa_event_accesses_t *accesses,
                       const pfa_live_place_t *place)
{
    sealing_t *sealing = to;
    if (pfa_died_has(&sealing->died, record)) {
        return;
    }
    pfa_event_t event = pfa_live_event(record);
    if (!pfa_batch_add(sealing->batch, &event, accesses, place->address)) {
        write_live(sealing, false);
        (void)pfa_batch_add(sealing->batch, &event, accesses, place->address);
    }
    add_region(sealing, place);
}

static void write_tags(sealing_t *sealing)
{
    const pfa_trace_t *trace = sealing->trace;
    size_t size = 0;
    for (size_t i = 0; i < trace->tag_count; i++) {
        size += sizeof(pfa_trace_tag_t) + strlen(trace->tags[i].name);
    }
    char *payload = pfa_memory_get(size, 1);
    char *at = payload;
    for (size_t i = 0; i < trace->tag_count; i++) {
        size_t length = strlen(trace->tags[i].name);
        pfa_trace_tag_t tag = {.number = trace->tags[i].number, .name_size = (uint32_t)length};
        memcpy(at, &tag, sizeof tag);
        memcpy(at + sizeof tag, trace->tags[i].name, length);
        at += sizeof tag + length;
    }
    if (size != 0) {
        pfa_tracefile_block(&sealing->writer, PFA_BLOCK_TAGS, sealing->time, payload, size);
    }
    pfa_memory_free(payload);
}

static void write_types(sealing_t *sealing)
{
    const pfa_trace_t *trace = sealing->trace;
    pfa_bytes_t payload = {.bytes = NULL};
    for (size_t i = 0; i < trace->type_count; i++) {
        const pfa_declared_type_t *type = &trace->types[i];
        pfa_trace_type_t head = {.number = type->number, .name_size = (uint32_t)strlen(type->name), .size = type->size};
        pfa_bytes_room(&payload, payload.size + sizeof head + head.name_size);
        memcpy(payload.bytes + payload.size, &head, sizeof head);
        memcpy(payload.bytes + payload.size + sizeof head, type->name, head.name_size);
        payload.size += sizeof head + head.name_size;
    }
    if (payload.size != 0) {
        pfa_tracefile_block(&sealing->writer, PFA_BLOCK_TYPES, sealing->time, payload.bytes, payload.size);
    }
    pfa_bytes_free(&payload);
}

static void write_names(sealing_t *sealing)
{
    const pfa_trace_t *trace = sealing->trace;
    if (trace->thread_count != 0) {
        pfa_tracefile_block(&sealing->writer, PFA_BLOCK_THREADS, sealing->time, trace->threads,
                            trace->thread_count * sizeof *trace->threads);
    }
    write_tags(sealing);
    write_types(sealing);
    pfa_tracefile_block(&sealing->writer, PFA_BLOCK_WEIGHTS, sealing->time, trace->weights, sizeof trace->weights);
}

/* All that there are: those of the live table are later than the trace's. */
static void write_maps(sealing_t *sealing)
{
    const pfa_maps_t *maps = &sealing->trace->maps;
    pfa_bytes_t payload = {.bytes = NULL};
    for (size_t i = 0; i < maps->count; i++) {
        pfa_access_map_t head = {.words = maps->list[i].words, .stack = maps->list[i].stack};
        size_t size = pfa_map_size(head.words);
        pfa_bytes_room(&payload, payload.size + sizeof head + size);
        memcpy(payload.bytes + payload.size, &head, sizeof head);
        memcpy(payload.bytes + payload.size + sizeof head, maps->list[i].counters, size);
        payload.size += sizeof head + size;
        if (payload.size >= MAPS_SIZE || i + 1 == maps->count) {
            pfa_tracefile_block(&sealing->writer, PFA_BLOCK_MAPS, sealing->time, payload.bytes, payload.size);
            payload.size = 0;
        }
    }
    pfa_bytes_free(&payload);
}

/* What the live table lacks, which is removed when all of it is here. */
static void write_lacks(sealing_t *sealing)
{
    const pfa_notes_t *lacks = &sealing->trace->lacks;
    for (size_t i = 0; i < lacks->count; i++) {
        pfa_trace_mark_t mark = {
            .time = sealing->time, .what = PFA_MARK_LOST, .text_size = (uint32_t)strlen(lacks->list[i])};
        char *payload = pfa_memory_get(sizeof mark + mark.text_size, 1);
        memcpy(payload, &mark, sizeof mark);
        memcpy(payload + sizeof mark, lacks->list[i], mark.text_size);
        pfa_tracefile_block(&sealing->writer, PFA_BLOCK_MARK, sealing->time, payload, sizeof mark + mark.text_size);
        pfa_memory_free(payload);
    }
}

static uint64_t whole(double value)
{
    return value < 0x1p63 ? (uint64_t)(value + 0.5) : UINT64_MAX;
}

static void write_totals(sealing_t *sealing, const pfa_tally_t *tally)
{
    const pfa_trace_t *trace = sealing->trace;
    pfa_trace_counters_t counters = trace->counters;
    counters.allocations = whole(tally->frees + tally->live_chunks);
    counters.frees = whole(tally->frees);
    counters.bytes_allocated = whole(tally->bytes_freed + tally->live_bytes);
    counters.bytes_freed = whole(tally->bytes_freed);
    counters.lost = pfa_trace_lost(trace, &sealing->account);
    if (trace->fold_count != 0) {
        pfa_tracefile_block(&sealing->writer, PFA_BLOCK_FOLDS, sealing->time, trace->folds,
                            trace->fold_count * sizeof *trace->folds);
    }
    pfa_tracefile_block(&sealing->writer, PFA_BLOCK_COUNTERS, sealing->time, &counters, sizeof counters);
    if (trace->has_clock) {
        pfa_tracefile_block(&sealing->writer, PFA_BLOCK_CLOCK, sealing->time, &trace->clock, sizeof trace->clock);
    }
}

/* The first node that blocks have not: all from there on are written again. */
static uint32_t count_written_nodes(const pfa_trace_t *trace)
{
    bool gaps = trace->blocks.damages != 0 || trace->nodes_end < PFA_NODE_FIRST;
    return gaps ? PFA_NODE_FIRST : trace->nodes_end;
}

static int append(sealing_t *sealing, int fd)
{
    pfa_trace_t *trace = sealing->trace;
    pfa_tally_t tally;
    int error = pfa_tally_trace(&tally, trace, &sealing->account);
    uint32_t first = count_written_nodes(trace);
    pfa_tracefile_begin(&sealing->writer, fd, &trace->blocks);
    pfa_tracefile_nodes(&sealing->writer, sealing->time, first, trace->node_count - first, trace->parents + first,
                        trace->pcs + first);
    write_names(sealing);
    pfa_batch_begin(sealing->batch, pfa_trace_cut(sealing->trace), 0);
    pfa_rows_walk_rings(trace, add_span, sealing);
    write_events(sealing, 0);
    begin_live(sealing);
    sealing->died = pfa_died_begin(trace);
    error = error != 0 ? error : pfa_livetable_records(trace->live, add_record, sealing);
    write_live(sealing, true);
    write_maps(sealing);
    write_lacks(sealing);
    write_totals(sealing, &tally);
    bool left = trace->live->head->ended == PFA_LIVE_LEFT;
    pfa_tracefile_end(&sealing->writer, left ? PFA_END_EXIT : PFA_END_SEALED, sealing->time);
    error = error != 0 ? error : sealing->writer.error;
    pfa_tracefile_free(&sealing->writer);
    return error != 0 || fdatasync(fd) == 0 ? error : errno;
}

/* As work of its own: without memory, too, what was appended is cut off again. */
static void append_all(void *to)
{
    sealing_t *sealing = to;
    sealing->batch = pfa_memory_get(1, sizeof *sealing->batch);
    sealing->bytes = pfa_memory_get(sizeof(pfa_trace_live_t) + PFA_BATCH_SIZE_MAX, 1);
    sealing->error = append(sealing, sealing->fd);
    pfa_memory_free(sealing->batch);
    pfa_memory_free(sealing->bytes);
    pfa_bytes_free(&sealing->regions);
    pfa_died_end(&sealing->died);
}

static int append_or_undo(pfa_trace_t *trace, int fd, bool *kept)
{
    sealing_t sealing = {.trace = trace, .time = trace->last_time, .fd = fd};
    if (ftruncate(fd, (off_t)trace->blocks.end) != 0) {
        return errno;
    }
    int error = pfa_memory_work(pfa_memory_arena(), append_all, &sealing);
    error = error != 0 ? error : sealing.error;
    *kept = error != 0 && ftruncate(fd, (off_t)trace->blocks.end) != 0;
    return error;
}

__attribute__((format(printf, 3, 4))) static pfa_sealed_t give_up(pfa_sealed_t how, char **why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    *why = pfa_memory_vformat(format, arguments);
    va_end(arguments);
    return how;
}

/* A live table that was left behind although the trace has its end. */
static void remove_leftover(const pfa_trace_t *trace)
{
    pfa_livetable_t *table;
    struct stat status;
    if (trace->has_start && fstat(trace->fd, &status) == 0 &&
        pfa_livetable_open(trace->live_path, trace->table_path, trace->start.session, status.st_uid, &table) == 0) {
        if (!pfa_livetable_in_use(table, table->path != NULL ? table->path : trace->live_path)) {
            (void)pfa_livetable_remove(table, trace->live_path);
        }
        pfa_livetable_close(table);
    }
}

static pfa_sealed_t seal_open(pfa_trace_t *trace, char **why)
{
    if (trace->has_end) {
        remove_leftover(trace);
        return PFA_SEALED_BEFORE;
    }
    if (trace->live == NULL) {
        return give_up(PFA_SEAL_FAILED, why, "%s has no end, and its live table %s is not there", trace->path,
                       trace->live_path);
    }
    if (trace->running) {
        return give_up(PFA_SEAL_RUNNING, why, "the process of %s, %u, goes on", trace->path, trace->live->head->pid);
    }
    int fd = open(trace->path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        return give_up(PFA_SEAL_FAILED, why, "cannot write %s: %s", trace->path, strerror(errno));
    }
    bool kept = false;
    int error = flock(fd, LOCK_EX | LOCK_NB) != 0 ? errno : append_or_undo(trace, fd, &kept);
    close(fd);
    if (error == EWOULDBLOCK) {
        return give_up(PFA_SEAL_FAILED, why, "%s is being sealed", trace->path);
    }
    if (error != 0) {
        return give_up(PFA_SEAL_FAILED, why, "cannot end %s: %s; its live table stays%s", trace->path, strerror(error),
                       kept ? ", and so does an unfinished end, which could not be cut off" : "");
    }
    error = pfa_livetable_remove(trace->live, trace->live_path);
    if (error != 0) {
        return give_up(PFA_SEAL_FAILED, why, "%s is sealed, but its live table %s cannot be removed: %s", trace->path,
                       trace->live->path != NULL ? trace->live->path : trace->live_path, strerror(error));
    }
    return PFA_SEALED;
}

pfa_sealed_t pfa_seal(const char *path, const pfa_watch_t *watch, char **why)
{
    *why = NULL;
    pfa_trace_t *trace = pfa_trace_open(path, watch, why);
    if (trace == NULL) {
        return PFA_SEAL_NO_TRACE;
    }
    pfa_sealed_t how = seal_open(trace, why);
    pfa_trace_close(trace);
    return how;
}
