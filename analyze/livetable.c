/* Owns the reading of live tables. See analyze/livetable.h. */
#include "analyze/livetable.h"
#include "analyze/blocks.h"
#include "analyze/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STEP = 1 << 18 }; /* a multiple of all sizes of things in extents */

static int compare_places(const void *a, const void *b)
{
    const pfa_live_extent_t *left = *(const pfa_live_extent_t *const *)a;
    const pfa_live_extent_t *right = *(const pfa_live_extent_t *const *)b;
    if (left->offset != right->offset) {
        return left->offset < right->offset ? -1 : 1;
    }
    return left < right ? -1 : left > right;
}

/* Takes away all that begin in another: they would be read again and again. */
static void drop_overlapping(pfa_livetable_t *table)
{
    pfa_live_extent_t **places = pfa_memory_get(table->extent_count, sizeof *places);
    uint64_t end = 0;
    size_t kept = 0;
    for (size_t i = 0; i < table->extent_count; i++) {
        places[i] = &table->extents[i];
    }
    qsort(places, table->extent_count, sizeof *places, compare_places);
    for (size_t i = 0; i < table->extent_count; i++) {
        if (places[i]->offset < end) {
            places[i]->kind = PFA_EXTENT_NONE;
        } else {
            end = places[i]->offset + places[i]->size;
        }
    }
    for (size_t i = 0; i < table->extent_count; i++) {
        if (table->extents[i].kind != PFA_EXTENT_NONE) {
            table->extents[kept++] = table->extents[i];
        }
    }
    table->ignored += table->extent_count - kept;
    table->extent_count = kept;
    free(places);
}

/* Extents that lie in the file, each in a place of its own. */
static void keep_extents(pfa_livetable_t *table)
{
    uint32_t count = table->head->extent_count;
    count = count < PFA_LIVE_EXTENTS ? count : PFA_LIVE_EXTENTS;
    table->extents = pfa_memory_get(count, sizeof *table->extents);
    for (uint32_t i = 0; i < count; i++) {
        const pfa_live_extent_t *extent = &table->head->extents[i];
        if (extent->kind == PFA_EXTENT_NONE) {
            continue;
        }
        if (extent->offset > table->size || extent->size > table->size - extent->offset) {
            table->ignored++;
            continue;
        }
        table->extents[table->extent_count++] = *extent;
    }
    drop_overlapping(table);
}

static int read_head(pfa_livetable_t *table, uint64_t session)
{
    struct stat status;
    if (fstat(table->fd, &status) != 0) {
        return errno;
    }
    if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size < sizeof(pfa_live_head_t)) {
        return EBADMSG;
    }
    table->size = (uint64_t)status.st_size;
    table->data = (uint64_t)status.st_blocks * 512 + STEP;
    table->data = table->data < table->size ? table->data : table->size;
    table->head = pfa_memory_get(1, sizeof *table->head);
    int error = pfa_file_read(table->fd, table->head, sizeof *table->head, 0);
    if (error != 0) {
        return error;
    }
    const pfa_live_head_t *head = table->head;
    if (head->magic != PFA_LIVE_MAGIC || head->version != PFA_TRACE_VERSION ||
        head->record_size < sizeof(pfa_live_record_t) || head->record_size > 4096 || head->record_size % 8 != 0) {
        return EBADMSG;
    }
    if (head->session != session) {
        return ESTALE;
    }
    keep_extents(table);
    return 0;
}

int pfa_livetable_open(const char *path, uint64_t session, pfa_livetable_t **table)
{
    *table = pfa_memory_get(1, sizeof **table);
    (*table)->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int error = (*table)->fd < 0 ? errno : read_head(*table, session);
    if (error != 0) {
        pfa_livetable_close(*table);
        *table = NULL;
    }
    return error;
}

void pfa_livetable_close(pfa_livetable_t *table)
{
    if (table == NULL) {
        return;
    }
    if (table->fd >= 0) {
        close(table->fd);
    }
    free(table->head);
    free(table->extents);
    free(table);
}

/* A line of /proc/PID/maps is of the file if it has its inode or its name. */
static bool maps_mention(FILE *maps, uint64_t inode, const char *path)
{
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    while (!found && getline(&line, &room, maps) > 0) {
        unsigned long in_line;
        found = (sscanf(line, "%*s %*s %*s %*s %lu", &in_line) == 1 && in_line == inode) || strstr(line, path) != NULL;
    }
    free(line);
    return found;
}

static bool read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, size - 1) : -1;
    if (fd >= 0) {
        close(fd);
    }
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

/* Whether the process of this number, which everyone may ask for its beginning, is surely not the one of the table. */
static bool is_another(const pfa_live_head_t *head)
{
    char name[64];
    char text[1024];
    if (head->boot != 0 && read_text(PFA_LIVE_BOOT_PATH, text, sizeof text) && pfa_live_boot(text) != head->boot) {
        return true;
    }
    snprintf(name, sizeof name, "/proc/%u/stat", head->pid);
    return head->start_ticks != 0 && read_text(name, text, sizeof text) && pfa_live_ticks(text) != head->start_ticks;
}

bool pfa_livetable_in_use(const pfa_livetable_t *table, const char *path)
{
    char name[64];
    struct stat status;
    if (is_another(table->head)) {
        return false;
    }
    snprintf(name, sizeof name, "/proc/%u/maps", table->head->pid);
    FILE *maps = fopen(name, "re");
    if (maps == NULL) {
        return errno != ENOENT && errno != ESRCH; /* it is there, but not ours to look at */
    }
    char *whole = realpath(path, NULL);
    bool used = fstat(table->fd, &status) == 0 && maps_mention(maps, status.st_ino, whole != NULL ? whole : path);
    free(whole);
    fclose(maps);
    return used;
}

/* Calls `visit` with up to STEP bytes at a time of the parts of an extent that are no holes, each starting at a multiple
 * of `unit` from the extent's start and whole units long. */
typedef void visit_bytes_t(void *to, const uint8_t *bytes, size_t size, uint64_t at);

static int walk_extent(const pfa_livetable_t *table, const pfa_live_extent_t *extent, size_t unit, visit_bytes_t *visit,
                       void *to)
{
    size_t step = STEP / unit * unit;
    uint8_t *buffer = pfa_memory_get(step, 1);
    int error = 0;
    uint64_t at = 0;
    while (error == 0 && extent->size - at >= unit) {
        off_t data = lseek(table->fd, (off_t)(extent->offset + at), SEEK_DATA);
        if (data < 0 && errno == ENXIO) {
            break; /* nothing but a hole from here to the end */
        }
        uint64_t skip = data > 0 && (uint64_t)data > extent->offset + at ? (uint64_t)data - extent->offset - at : 0;
        at += skip / unit * unit;
        if (at > extent->size || extent->size - at < unit) {
            break;
        }
        uint64_t left = (extent->size - at) / unit * unit;
        size_t size = left < step ? (size_t)left : step;
        error = pfa_file_read(table->fd, buffer, size, extent->offset + at);
        if (error == 0) {
            visit(to, buffer, size, at);
            at += size;
        }
    }
    free(buffer);
    return error == ENODATA ? 0 : error; /* cut short meanwhile */
}

typedef struct walk {
    const pfa_livetable_t *table;
    const pfa_live_extent_t *extent;
    size_t unit;
    void *visit;
    void *to;
} walk_t;

static int walk_kind(const pfa_livetable_t *table, uint32_t kind, size_t unit, visit_bytes_t *each, walk_t *walk)
{
    int error = 0;
    for (size_t i = 0; error == 0 && i < table->extent_count; i++) {
        if (table->extents[i].kind == kind) {
            *walk = (walk_t){table, &table->extents[i], unit, walk->visit, walk->to};
            error = walk_extent(table, walk->extent, unit, each, walk);
        }
    }
    return error;
}

static void each_record(void *to, const uint8_t *bytes, size_t size, uint64_t at)
{
    walk_t *walk = to;
    (void)at;
    for (size_t i = 0; i < size; i += walk->unit) {
        pfa_live_record_t record;
        memcpy(&record, bytes + i, sizeof record);
        if ((record.size_flags & PFA_RECORD_STATE) == PFA_RECORD_LIVE &&
            record.alloc_time >= walk->table->head->start_counter) {
            (*(pfa_live_record_visit_t **)walk->visit)(walk->to, &record);
        }
    }
}

int pfa_livetable_records(const pfa_livetable_t *table, pfa_live_record_visit_t *visit, void *to)
{
    walk_t walk = {.visit = &visit, .to = to};
    int error = walk_kind(table, PFA_EXTENT_RECORDS, table->head->record_size, each_record, &walk);
    return error != 0 ? error : walk_kind(table, PFA_EXTENT_LARGES, PFA_LIVE_LARGE_CELL, each_record, &walk);
}

static void each_node(void *to, const uint8_t *bytes, size_t size, uint64_t at)
{
    walk_t *walk = to;
    for (size_t i = 0; i < size; i += sizeof(pfa_live_node_t)) {
        pfa_live_node_t node;
        uint64_t number = walk->extent->index * (uint64_t)PFA_LIVE_NODES + (at + i) / sizeof node;
        memcpy(&node, bytes + i, sizeof node);
        if (node.ready == 1 && number < walk->table->head->node_count) {
            (*(pfa_live_node_visit_t **)walk->visit)(walk->to, (uint32_t)number, &node);
        }
    }
}

int pfa_livetable_nodes(const pfa_livetable_t *table, pfa_live_node_visit_t *visit, void *to)
{
    walk_t walk = {.visit = &visit, .to = to};
    return walk_kind(table, PFA_EXTENT_NODES, sizeof(pfa_live_node_t), each_node, &walk);
}

static void each_fold(void *to, const uint8_t *bytes, size_t size, uint64_t at)
{
    walk_t *walk = to;
    const pfa_live_fold_log_t *log = &walk->table->head->fold_log;
    for (size_t i = 0; i < size; i += sizeof(pfa_live_fold_t)) {
        pfa_live_fold_t fold;
        uint64_t number = walk->extent->index * (uint64_t)PFA_LIVE_NODES + (at + i) / sizeof fold;
        memcpy(&fold, bytes + i, sizeof fold);
        if (log->state == 1 && log->stack == number) { /* a kill came into the middle of adding to it */
            fold = (pfa_live_fold_t){.chunks = log->chunks, .bytes = log->bytes};
        }
        if (fold.chunks != 0 && number <= UINT32_MAX) {
            (*(pfa_live_fold_visit_t **)walk->visit)(walk->to, (uint32_t)number, &fold);
        }
    }
}

int pfa_livetable_folds(const pfa_livetable_t *table, pfa_live_fold_visit_t *visit, void *to)
{
    walk_t walk = {.visit = &visit, .to = to};
    return walk_kind(table, PFA_EXTENT_FOLDS, sizeof(pfa_live_fold_t), each_fold, &walk);
}

static void each_thread(void *to, const uint8_t *bytes, size_t size, uint64_t at)
{
    walk_t *walk = to;
    (void)at;
    for (size_t i = 0; i < size; i += sizeof(pfa_trace_thread_t)) {
        pfa_trace_thread_t thread;
        memcpy(&thread, bytes + i, sizeof thread);
        if (thread.number != 0) {
            (*(pfa_live_thread_visit_t **)walk->visit)(walk->to, &thread);
        }
    }
}

int pfa_livetable_threads(const pfa_livetable_t *table, pfa_live_thread_visit_t *visit, void *to)
{
    walk_t walk = {.visit = &visit, .to = to};
    return walk_kind(table, PFA_EXTENT_THREADS, sizeof(pfa_trace_thread_t), each_thread, &walk);
}

static void each_tag(void *to, const uint8_t *bytes, size_t size, uint64_t at)
{
    walk_t *walk = to;
    for (size_t i = 0; i < size; i += PFA_LIVE_TAG_SIZE) {
        char name[PFA_LIVE_TAG_SIZE + 1] = "";
        uint64_t number = walk->extent->index * (uint64_t)PFA_LIVE_TAGS + (at + i) / PFA_LIVE_TAG_SIZE;
        memcpy(name, bytes + i, PFA_LIVE_TAG_SIZE);
        if (name[0] != '\0' && number <= UINT16_MAX) {
            (*(pfa_live_tag_visit_t **)walk->visit)(walk->to, (uint32_t)number, name);
        }
    }
}

int pfa_livetable_tags(const pfa_livetable_t *table, pfa_live_tag_visit_t *visit, void *to)
{
    walk_t walk = {.visit = &visit, .to = to};
    return walk_kind(table, PFA_EXTENT_TAGS, PFA_LIVE_TAG_SIZE, each_tag, &walk);
}

bool pfa_livetable_is_ring(const pfa_livetable_t *table, size_t extent)
{
    return table->extents[extent].kind == PFA_EXTENT_RING;
}

uint32_t pfa_livetable_ring_number(const pfa_livetable_t *table, size_t extent)
{
    return table->extents[extent].index;
}

static int read_ring_head(const pfa_livetable_t *table, const pfa_live_extent_t *extent, pfa_live_ring_t *ring)
{
    if (extent->size < PFA_LIVE_RING_ENTRIES) {
        return EBADMSG;
    }
    int error = pfa_file_read(table->fd, ring, sizeof *ring, extent->offset);
    uint64_t most = (extent->size - PFA_LIVE_RING_ENTRIES) / sizeof(pfa_event_t);
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

/* Entries that could not be written are in folds, up to the tail: the first that is in neither. */
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
    span->missing = from > first ? from - first : 0;
    return tail > first ? tail : first;
}

/* Entries from `first` on, in the one or two runs that they lie in. */
static int read_entries(const pfa_livetable_t *table, const pfa_live_extent_t *extent, const pfa_live_ring_t *ring,
                        uint64_t first, pfa_event_t *events, size_t count)
{
    for (size_t done = 0; done < count;) {
        uint64_t slot = (ring->base + first + done) & (ring->capacity - 1);
        size_t run = count - done < ring->capacity - slot ? count - done : (size_t)(ring->capacity - slot);
        int error = pfa_file_read(table->fd, events + done, run * sizeof *events,
                                  extent->offset + PFA_LIVE_RING_ENTRIES + slot * sizeof *events);
        if (error != 0) {
            return error;
        }
        done += run;
    }
    return 0;
}

/* Bytes of an extent that are no holes. */
static uint64_t data_in(const pfa_livetable_t *table, const pfa_live_extent_t *extent)
{
    off_t end = (off_t)(extent->offset + extent->size);
    uint64_t sum = 0;
    for (off_t at = (off_t)extent->offset; at < end;) {
        off_t data = lseek(table->fd, at, SEEK_DATA);
        if (data < 0 && errno != ENXIO) {
            return table->data; /* nobody can tell */
        }
        off_t hole = data >= 0 && data < end ? lseek(table->fd, data, SEEK_HOLE) : -1;
        if (hole <= at) {
            break;
        }
        at = hole < end ? hole : end;
        sum += (uint64_t)(at - data);
    }
    return sum;
}

int pfa_livetable_ring(const pfa_livetable_t *table, size_t number, uint64_t first, pfa_live_span_t *span)
{
    const pfa_live_extent_t *extent = &table->extents[number];
    pfa_live_ring_t ring;
    pfa_live_ring_t later;
    *span = (pfa_live_span_t){.ring = extent->index, .first = first};
    int error = read_ring_head(table, extent, &ring);
    if (error == EBADMSG && extent->size >= PFA_LIVE_RING_ENTRIES && is_unused(&ring)) {
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
    uint64_t from = first > oldest ? first : oldest;
    span->head = head;
    span->count = from < head ? (size_t)(head - from) : 0;
    if (span->count > data_in(table, extent) / sizeof *span->events) {
        span->count = 0;
        return EBADMSG; /* more than was ever stored there */
    }
    span->events = pfa_memory_get(span->count, sizeof *span->events);
    error = read_entries(table, extent, &ring, from, span->events, span->count);
    if (error == 0 && head != 0) {
        error = read_entries(table, extent, &ring, head - 1, &span->last, 1);
        span->has_last = error == 0;
    }
    if (error != 0 || (error = read_ring_head(table, extent, &later)) != 0) {
        free(span->events);
        span->events = NULL;
        span->count = 0;
        return error;
    }
    /* What a running process has written over meanwhile. */
    uint64_t kept = later.head > ring.capacity ? later.head - ring.capacity : 0;
    uint64_t lost = kept > from ? kept - from : 0;
    lost = lost < span->count ? lost : span->count;
    span->count -= (size_t)lost;
    memmove(span->events, span->events + lost, span->count * sizeof *span->events);
    span->first = from + lost;
    for (size_t i = 0; i < span->count; i++) {
        bool before = span->events[i].alloc_time < table->head->start_counter;
        span->events[i].size_flags |= before ? PFA_EVENT_BEFORE : 0;
    }
    span->missing += span->first > first && first < head ? span->first - first : 0;
    return 0;
}

pfa_event_t pfa_live_event(const pfa_live_record_t *record)
{
    return (pfa_event_t){.alloc_time = record->alloc_time,
                         .free_time = UINT64_MAX,
                         .size_flags = record->size_flags & ~(uint64_t)PFA_RECORD_STATE,
                         .stack = record->stack,
                         .type_link = record->type_link,
                         .thread = record->thread,
                         .tag = record->tag,
                         .last_thread = record->last_thread};
}
