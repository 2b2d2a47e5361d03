/* Owns the reading of live tables, but for records, rings and maps (analyze/trace/livetable_*.c). See analyze/trace/livetable.h. */
#include "analyze/trace/livetable.h"
#include "analyze/trace/blocks.h"
#include "analyze/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
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
    pfa_memory_free(places);
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
        uint64_t size = (extent->offset & PFA_LIVE_MORE) != 0 ? table->more_size : table->size;
        uint64_t offset = pfa_livetable_offset(extent);
        if (offset > size || extent->size > size - offset) {
            table->ignored++;
            continue;
        }
        table->extents[table->extent_count++] = *extent;
    }
    drop_overlapping(table);
}

static bool may_be_read(const struct stat *status, uid_t owner)
{
    return status->st_uid == owner || status->st_uid == geteuid();
}

static int read_head(pfa_livetable_t *table, uint64_t session, uid_t owner)
{
    struct stat status;
    if (fstat(table->fd, &status) != 0) {
        return errno;
    }
    if (!may_be_read(&status, owner)) {
        return EPERM;
    }
    if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size < offsetof(pfa_live_head_t, times)) {
        return EBADMSG;
    }
    table->size = (uint64_t)status.st_size;
    table->data = (uint64_t)status.st_blocks * 512 + STEP;
    table->data = table->data < table->size ? table->data : table->size;
    table->head = pfa_memory_get(1, sizeof *table->head);
    size_t size = table->size < sizeof *table->head ? (size_t)table->size : sizeof *table->head;
    int error = pfa_file_read(table->fd, table->head, size, 0);
    if (error != 0) {
        return error;
    }
    const pfa_live_head_t *head = table->head;
    if (head->magic != PFA_LIVE_MAGIC || head->version == 0 || head->version > PFA_TRACE_VERSION ||
        head->record_size < sizeof(pfa_live_record_t) || head->record_size > 4096 || head->record_size % 8 != 0) {
        return EBADMSG;
    }
    if (head->session != session) {
        return ESTALE;
    }
    keep_extents(table);
    return 0;
}

/* The second file, whose session its owner's head tells. */
static void open_more(pfa_livetable_t *table, const char *path, uid_t owner)
{
    struct stat status;
    char *name = pfa_memory_format("%s" PFA_LIVE_MORE_SUFFIX, path);
    table->more_fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    pfa_memory_free(name);
    if (table->more_fd >= 0 && fstat(table->more_fd, &status) == 0 && S_ISREG(status.st_mode) &&
        may_be_read(&status, owner)) {
        table->more_size = (uint64_t)status.st_size;
    }
}

/* The whole name of what is there; NULL: there is nothing. */
static char *whole_path(const char *path)
{
    char room[PATH_MAX];
    return realpath(path, room) != NULL ? pfa_memory_copy(room, strlen(room)) : NULL;
}

static void close_files(void *object)
{
    const pfa_livetable_t *table = object;
    if (table->fd >= 0) {
        close(table->fd);
    }
    if (table->more_fd >= 0) {
        close(table->more_fd);
    }
}

int pfa_livetable_open(const char *path, const char *named, uint64_t session, uid_t owner, pfa_livetable_t **table)
{
    const char *found = path;
    *table = pfa_memory_object(sizeof **table, close_files);
    (*table)->more_fd = -1;
    (*table)->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if ((*table)->fd < 0 && errno == ENOENT && named != NULL) {
        found = named;
        (*table)->fd = open(named, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    }
    int error = (*table)->fd < 0 ? errno : 0;
    if (error == 0) {
        (*table)->path = whole_path(found);
        open_more(*table, path, owner);
        error = read_head(*table, session, owner);
    }
    if (error != 0) {
        pfa_livetable_close(*table);
        *table = NULL;
    }
    return error;
}

static int remove_one(const char *path)
{
    return unlink(path) == 0 || errno == ENOENT ? 0 : errno;
}

int pfa_livetable_remove(const pfa_livetable_t *table, const char *path)
{
    struct stat ours;
    struct stat there;
    int error = 0;
    if (table->path != NULL && fstat(table->fd, &ours) == 0 && lstat(table->path, &there) == 0 &&
        ours.st_dev == there.st_dev && ours.st_ino == there.st_ino) {
        error = remove_one(table->path);
    }
    int second = remove_one(path);
    error = error != 0 ? error : second;
    char *more = pfa_memory_format("%s" PFA_LIVE_MORE_SUFFIX, path);
    second = remove_one(more);
    pfa_memory_free(more);
    return error != 0 ? error : second;
}

void pfa_livetable_close(pfa_livetable_t *table)
{
    if (table == NULL) {
        return;
    }
    pfa_memory_free(table->path);
    pfa_memory_free(table->head);
    pfa_memory_free(table->extents);
    pfa_memory_free(table);
}

/* A line of /proc/PID/maps is of the file if it has its inode or its name. */
static bool maps_mention(pfa_memory_file_t *maps, uint64_t inode, const char *path)
{
    size_t length;
    bool found = false;
    while (!found && pfa_memory_file_line(maps, &length)) {
        unsigned long in_line;
        found = (sscanf(maps->line, "%*s %*s %*s %*s %lu", &in_line) == 1 && in_line == inode) ||
                strstr(maps->line, path) != NULL;
    }
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
    if (head->boot != 0 && read_text(PFA_LIVE_BOOT_PATH, text, sizeof text) && pfa_live_hash(text) != head->boot) {
        return true;
    }
    snprintf(name, sizeof name, "/proc/%u/stat", head->pid);
    return head->start_ticks != 0 && read_text(name, text, sizeof text) && pfa_live_ticks(text) != head->start_ticks;
}

/* Does /proc say nothing of its process, since it is of another container? */
static bool is_out_of_sight(const pfa_live_head_t *head)
{
    char text[64];
    ssize_t length = readlink(PFA_LIVE_PID_NAMESPACE_PATH, text, sizeof text - 1);
    text[length > 0 ? length : 0] = '\0';
    return head->pid_namespace != 0 && length > 0 &&
           ((pfa_live_hash(text) ^ head->pid_namespace) & ~PFA_LIVE_LOCKED) != 0;
}

/* Is the lock free that such a process has on its table? Not if that cannot be told, either. */
static bool is_unlocked(const pfa_livetable_t *table)
{
    if ((table->head->pid_namespace & PFA_LIVE_LOCKED) == 0 || flock(table->fd, LOCK_EX | LOCK_NB) != 0) {
        return false;
    }
    flock(table->fd, LOCK_UN);
    return true;
}

bool pfa_livetable_in_use(const pfa_livetable_t *table, const char *path)
{
    char name[64];
    struct stat status;
    if (is_out_of_sight(table->head)) {
        return !is_unlocked(table);
    }
    snprintf(name, sizeof name, "/proc/%u/maps", table->head->pid);
    pfa_memory_file_t *maps = pfa_memory_file_open(name);
    if (maps == NULL) {
        /* It may be there, but not ours to look at. */
        return errno != ENOENT && errno != ESRCH && !is_another(table->head);
    }
    char *whole = whole_path(path);
    bool used = fstat(table->fd, &status) == 0 && maps_mention(maps, status.st_ino, whole != NULL ? whole : path);
    pfa_memory_free(whole);
    pfa_memory_file_close(maps);
    return used;
}

int pfa_livetable_walk_extent(const pfa_livetable_t *table, const pfa_live_extent_t *extent, size_t unit,
                              pfa_live_bytes_visit_t *visit, void *to)
{
    size_t step = STEP / unit * unit;
    uint64_t offset = pfa_livetable_offset(extent);
    int fd = pfa_livetable_fd(table, extent);
    uint8_t *buffer = pfa_memory_get(step, 1);
    int error = 0;
    uint64_t at = 0;
    while (error == 0 && extent->size - at >= unit) {
        off_t data = lseek(fd, (off_t)(offset + at), SEEK_DATA);
        if (data < 0 && errno == ENXIO) {
            break; /* nothing but a hole from here to the end */
        }
        uint64_t skip = data > 0 && (uint64_t)data > offset + at ? (uint64_t)data - offset - at : 0;
        at += skip / unit * unit;
        if (at > extent->size || extent->size - at < unit) {
            break;
        }
        uint64_t left = (extent->size - at) / unit * unit;
        size_t size = left < step ? (size_t)left : step;
        error = pfa_file_read(fd, buffer, size, offset + at);
        if (error == 0) {
            visit(to, buffer, size, at);
            at += size;
        }
    }
    pfa_memory_free(buffer);
    return error == ENODATA ? 0 : error; /* cut short meanwhile */
}

typedef struct walk {
    const pfa_livetable_t *table;
    const pfa_live_extent_t *extent;
    size_t unit;
    void *visit;
    void *to;
} walk_t;

static int walk_kind(const pfa_livetable_t *table, uint32_t kind, size_t unit, pfa_live_bytes_visit_t *each,
                     walk_t *walk)
{
    int error = 0;
    for (size_t i = 0; error == 0 && i < table->extent_count; i++) {
        if (table->extents[i].kind == kind) {
            *walk = (walk_t){table, &table->extents[i], unit, walk->visit, walk->to};
            error = pfa_livetable_walk_extent(table, walk->extent, unit, each, walk);
        }
    }
    return error;
}

bool pfa_livetable_has_accesses(const pfa_livetable_t *table)
{
    return table->head->record_size == sizeof(pfa_live_record_t) + sizeof(pfa_live_accesses_t);
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

static void each_type(void *to, const uint8_t *bytes, size_t size, uint64_t at)
{
    walk_t *walk = to;
    for (size_t i = 0; i < size; i += sizeof(pfa_live_type_t)) {
        pfa_live_type_t type;
        uint64_t number = walk->extent->index * (uint64_t)PFA_LIVE_TYPES + (at + i) / sizeof type;
        memcpy(&type, bytes + i, sizeof type);
        if (type.name_size != 0 && type.name_size <= sizeof type.name && number < PFA_LIVE_TYPES_MAX) {
            (*(pfa_live_type_visit_t **)walk->visit)(walk->to, (uint32_t)number, &type);
        }
    }
}

int pfa_livetable_types(const pfa_livetable_t *table, pfa_live_type_visit_t *visit, void *to)
{
    walk_t walk = {.visit = &visit, .to = to};
    return walk_kind(table, PFA_EXTENT_TYPES, sizeof(pfa_live_type_t), each_type, &walk);
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
