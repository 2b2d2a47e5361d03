/* Owns the opening of traces and what can be asked of an open one. See analyze/trace/trace.h. */
#include "analyze/trace/trace.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { META_RATIO = 64, META_FREE = 64 << 20 };

__attribute__((format(printf, 2, 3))) static int fail(char **why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    *why = pfa_memory_vformat(format, arguments);
    va_end(arguments);
    return -1;
}

static int open_file(pfa_trace_t *trace, pfa_files_t *files, char **why)
{
    struct stat status;
    if (files != NULL) {
        trace->file = pfa_files_take(files, trace->path);
        trace->fd = trace->file != NULL ? pfa_file_descriptor(trace->file) : -1;
    } else {
        trace->fd = open(trace->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    }
    if (trace->fd < 0 || fstat(trace->fd, &status) != 0) {
        return fail(why, "cannot open %s: %s", trace->path, strerror(errno));
    }
    if (!S_ISREG(status.st_mode)) {
        return fail(why, "%s is not a file", trace->path);
    }
    if (status.st_size == 0) {
        return fail(why, "%s is empty, not a trace", trace->path);
    }
    trace->blocks =
        (pfa_blocks_t){.size = (uint64_t)status.st_size,
                       .device = status.st_dev,
                       .inode = status.st_ino,
                       .changed_ns = (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec};
    return 0;
}

static void note_picture(pfa_trace_t *trace, const pfa_block_t *block)
{
    enum { NAME = 256 };
    pfa_bytes_t payload = {.bytes = NULL};
    pfa_batch_head_t head;
    pfa_trace_live_t live;
    const uint8_t *batch;
    size_t size;
    if (pfa_block_load_start(trace->loader, block, sizeof live + NAME + sizeof head, &payload) == 0 &&
        payload.size >= sizeof live) {
        memcpy(&live, payload.bytes, sizeof live);
        if (pfa_trace_live_batch(&payload, &live, &batch, &size) && size >= sizeof head) {
            memcpy(&head, batch, sizeof head);
            pfa_trace_note_cut(trace, &head);
        }
        trace->last_picture = live.number > trace->last_picture ? live.number : trace->last_picture;
        if (live.flags == (PFA_LIVE_LAST | PFA_LIVE_FINAL)) {
            trace->picture = live.number;
        }
    }
    pfa_bytes_free(&payload);
}

static bool is_meta(uint16_t kind)
{
    return kind != PFA_BLOCK_EVENTS && kind != PFA_BLOCK_LIVE && kind != PFA_BLOCK_REGIONS && kind != PFA_BLOCK_SYMBOLS;
}

uint64_t pfa_trace_meta_most(const pfa_trace_t *trace)
{
    return META_RATIO * trace->blocks.size + META_FREE;
}

/* What is no rows is kept in memory: all of it together is not much longer than the file, unless that is short. */
static bool read_meta(pfa_trace_t *trace, const pfa_block_t *block, uint64_t *budget, pfa_bytes_t *payload)
{
    uint64_t cost = block->kind != PFA_BLOCK_MAPS ? block->raw_size : 0; /* a map takes the place of the one before */
    if (cost > *budget) {
        return false;
    }
    *budget -= cost;
    return pfa_block_load(trace->loader, block, payload) == 0 && pfa_trace_take(trace, block, payload);
}

static int read_blocks(pfa_trace_t *trace, char **why)
{
    pfa_bytes_t payload = {.bytes = NULL};
    uint64_t budget = pfa_trace_meta_most(trace);
    int result = 0;
    for (size_t i = 0; result == 0 && i < trace->blocks.count; i++) {
        const pfa_block_t *block = &trace->blocks.list[i];
        trace->last_time = block->time > trace->last_time ? block->time : trace->last_time;
        if (block->kind == PFA_BLOCK_LIVE) {
            note_picture(trace, block);
        } else if (is_meta(block->kind) && !read_meta(trace, block, &budget, &payload)) {
            trace->bad_blocks++;
        }
        if (trace->has_start && trace->start.version > PFA_TRACE_VERSION) {
            result = fail(why, "%s is a trace of version %" PRIu32 ", and this profalloc knows versions up to %u",
                          trace->path, trace->start.version, PFA_TRACE_VERSION);
        }
    }
    pfa_bytes_free(&payload);
    pfa_trace_sort_modules(trace);
    return result;
}

/* EAGAIN: the trace was ended while we looked. */
static int open_live(pfa_trace_t *trace)
{
    struct stat status;
    if (trace->has_end || !trace->has_start) {
        return 0;
    }
    if (fstat(trace->fd, &status) != 0) {
        return errno;
    }
    int error =
        pfa_livetable_open(trace->live_path, trace->table_path, trace->start.session, status.st_uid, &trace->live);
    if (error == ENOENT && fstat(trace->fd, &status) == 0 && (uint64_t)status.st_size != trace->blocks.size) {
        return EAGAIN;
    }
    if (error == ESTALE) {
        pfa_notes_add(&trace->missing, "%s is the live table of another trace", trace->live_path);
    } else if (error == EPERM) {
        pfa_notes_add(&trace->missing, "%s is neither yours nor of the owner of the trace, and is not read",
                      trace->live_path);
    } else if (error == EBADMSG) {
        pfa_notes_add(&trace->missing, "%s is damaged", trace->live_path);
    } else if (error != 0 && error != ENOENT) {
        pfa_notes_add(&trace->missing, "cannot read %s: %s", trace->live_path, strerror(error));
    }
    if (error == ENOENT && trace->table_path != NULL) {
        pfa_notes_add(&trace->missing, "the live table was in memory, %s, and is gone", trace->table_path);
    }
    if (trace->live != NULL) {
        trace->running =
            pfa_livetable_in_use(trace->live, trace->live->path != NULL ? trace->live->path : trace->live_path);
        pfa_trace_merge_live(trace);
    }
    return 0;
}

/* Finds the blocks, or takes those that are known. */
static int find_blocks(pfa_trace_t *trace, unsigned threads)
{
    if (trace->file != NULL && pfa_file_recall(trace->file, &trace->blocks)) {
        return 0;
    }
    int error = pfa_blocks_scan(trace->fd, trace->watch, threads, &trace->blocks);
    if (error == 0 && trace->file != NULL) {
        pfa_file_remember(trace->file, &trace->blocks);
    }
    return error;
}

static int open_once(pfa_trace_t *trace, pfa_files_t *files, unsigned threads, char **why)
{
    if (open_file(trace, files, why) != 0) {
        return -1;
    }
    trace->loader = pfa_loader_new(trace->fd);
    int error = find_blocks(trace, threads);
    if (error != 0) {
        return fail(why, "cannot read %s: %s", trace->path, strerror(error));
    }
    if (trace->blocks.count == 0) {
        return fail(why, "%s is not a trace of profalloc", trace->path);
    }
    for (uint32_t i = 0; i < PFA_NODE_FIRST; i++) {
        pfa_trace_put_node(trace, i, i, 0);
    }
    if (read_blocks(trace, why) != 0) {
        return -1;
    }
    pfa_trace_read_rings(trace);
    return open_live(trace);
}

static void close_file(void *object)
{
    const pfa_trace_t *trace = object;
    if (trace->file != NULL) {
        pfa_files_give_back(trace->file);
    } else if (trace->fd >= 0) {
        close(trace->fd);
    }
}

pfa_trace_t *pfa_trace_open(const char *path, const pfa_watch_t *watch, char **why)
{
    return pfa_trace_open_of(NULL, path, watch, 0, why);
}

pfa_trace_t *pfa_trace_open_of(pfa_files_t *files, const char *path, const pfa_watch_t *watch, unsigned threads,
                               char **why)
{
    for (int tries = 0;; tries++) {
        pfa_trace_t *trace = pfa_memory_object(sizeof *trace, close_file);
        size_t length = strlen(path);
        trace->fd = -1;
        trace->watch = watch;
        trace->path = pfa_memory_copy(path, length);
        trace->live_path = pfa_memory_get(length + sizeof PFA_LIVE_SUFFIX, 1);
        memcpy(trace->live_path, path, length);
        strcpy(trace->live_path + length, PFA_LIVE_SUFFIX);
        int result = open_once(trace, files, threads, why);
        if (result == 0 || (result == EAGAIN && tries == 3)) {
            pfa_trace_sort_died(trace);
            return trace;
        }
        pfa_trace_close(trace);
        if (result != EAGAIN) {
            return NULL;
        }
    }
}

void pfa_trace_close(pfa_trace_t *trace)
{
    if (trace == NULL) {
        return;
    }
    pfa_loader_free(trace->loader);
    pfa_trace_free_meta(trace);
    pfa_livetable_close(trace->live);
    pfa_blocks_free(&trace->blocks);
    pfa_notes_free(&trace->marks);
    pfa_notes_free(&trace->lacks);
    pfa_notes_free(&trace->missing);
    pfa_notes_free(&trace->remarks);
    pfa_memory_free(trace->rings);
    pfa_memory_free(trace->died);
    pfa_memory_free(trace->died_marks);
    pfa_memory_free(trace->path);
    pfa_memory_free(trace->live_path);
    pfa_memory_free(trace);
}

bool pfa_trace_read_start_of(int fd, pfa_trace_start_t *start)
{
    pfa_block_header_t header;
    pfa_bytes_t payload = {.bytes = NULL};
    bool found = pfa_file_read(fd, &header, sizeof header, 0) == 0 && header.magic == PFA_BLOCK_MAGIC &&
                 header.kind == PFA_BLOCK_START && header.raw_size <= 1 << 20 && header.stored_size <= 1 << 20;
    if (found) {
        pfa_loader_t *loader = pfa_loader_new(fd);
        pfa_block_t block = {.raw_size = header.raw_size, .stored_size = header.stored_size, .flags = header.flags};
        found = pfa_block_load_start(loader, &block, sizeof *start, &payload) == 0 && payload.size == sizeof *start;
        pfa_loader_free(loader);
    }
    if (found) {
        memcpy(start, payload.bytes, sizeof *start);
    }
    pfa_bytes_free(&payload);
    return found;
}

static void close_held(void *object)
{
    const int *fd = object;
    if (*fd >= 0) {
        close(*fd);
    }
}

bool pfa_trace_read_start(const char *path, pfa_trace_start_t *start)
{
    int *fd = pfa_memory_object(sizeof *fd, close_held);
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool found = *fd >= 0 && pfa_trace_read_start_of(*fd, start);
    pfa_memory_free(fd);
    return found;
}

/* The last list that begins at the node or before it; the first is for those before it, too. */
static const pfa_module_list_t *modules_for(const pfa_trace_t *trace, uint32_t node)
{
    size_t low = trace->module_list_count != 0 ? 1 : 0;
    size_t high = trace->module_list_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (trace->module_lists[middle].first_node <= node) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low != 0 ? &trace->module_lists[low - 1] : NULL;
}

pfa_module_t *pfa_trace_module(const pfa_trace_t *trace, uint32_t node)
{
    uint64_t pc = trace->pcs[node] - 1;
    const pfa_module_list_t *list = modules_for(trace, node);
    size_t low = 0;
    size_t high = list != NULL ? list->count : 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (list->modules[middle].end <= pc) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return list != NULL && low < list->count && list->modules[low].start <= pc ? &list->modules[low] : NULL;
}

double pfa_trace_weight(const pfa_trace_t *trace, uint64_t size_flags)
{
    uint64_t class = size_flags >> PFA_RECORD_WEIGHT_SHIFT & PFA_RECORD_WEIGHT_MASK;
    uint64_t period = class != 0 ? trace->weights[class] : 1;
    uint64_t size = size_flags >> PFA_RECORD_SIZE_SHIFT;
    if (period <= 1 || size == 0) {
        return 1; /* a chunk without bytes cannot be hit by a sample point: it stands for itself */
    }
    return 1 / -expm1(-(double)size / (double)period);
}

double pfa_trace_seconds(const pfa_trace_t *trace, uint64_t time)
{
    const pfa_trace_start_t *start = &trace->start;
    double ticks = (double)(int64_t)(time - start->counter);
    double ticks_seen = (double)(int64_t)(trace->clock.counter - start->counter);
    double ns_seen = (double)(int64_t)(trace->clock.monotonic_ns - start->monotonic_ns);
    /* Over less than a millisecond the two readings tell the speed worse than the counter's own word. */
    if (trace->has_clock && ticks_seen > 0 && ns_seen > (start->counter_hz != 0 ? 1e6 : 0)) {
        return ticks * (ns_seen / ticks_seen) * 1e-9;
    }
    return ticks / (start->counter_hz != 0 ? (double)start->counter_hz : 1e9);
}

void pfa_trace_note_cut(pfa_trace_t *trace, const pfa_batch_head_t *head)
{
    bool lengths = (head->flags & PFA_BATCH_LENGTHS) != 0;
    bool live = (head->flags & PFA_BATCH_LIVE) != 0;
    uint32_t *most = lengths ? &trace->axis : &trace->shift;
    if (head->shift > *most && head->shift <= PFA_BATCH_SHIFT_MAX && (lengths || !live)) {
        *most = head->shift;
    }
}

uint32_t pfa_trace_cut(const pfa_trace_t *trace)
{
    return trace->axis > trace->shift ? trace->axis : trace->shift;
}

bool pfa_trace_has_accesses(const pfa_trace_t *trace)
{
    bool known = trace->has_counters || trace->live != NULL;
    return trace->start.record_size == sizeof(pfa_live_record_t) + sizeof(pfa_live_accesses_t) &&
           (trace->counters.instrumented != 0 || !known);
}

bool pfa_trace_is_final(const pfa_trace_t *trace, const pfa_trace_live_t *live)
{
    return trace->live == NULL && trace->picture != 0 && live->number == trace->picture &&
           (live->flags & PFA_LIVE_FINAL) != 0;
}

bool pfa_trace_live_batch(const pfa_bytes_t *payload, pfa_trace_live_t *live, const uint8_t **bytes, size_t *size)
{
    if (payload->size < sizeof *live) {
        return false;
    }
    memcpy(live, payload->bytes, sizeof *live);
    uint64_t start = (sizeof *live + (uint64_t)live->name_size + 7) / 8 * 8;
    if (start > payload->size) {
        return false;
    }
    *bytes = payload->bytes + start;
    *size = payload->size - (size_t)start;
    return true;
}
