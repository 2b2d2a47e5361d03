/* Owns the live table's file and the extents in it. See meta/extents.h for who may call what. */
#include "meta/extents.h"
#include "base/lock.h"
#include "base/message.h"
#include "base/sys.h"
#include "export/format/trace.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum { PATH_SIZE = 4096 };
#define NOT_IN_FILE UINT32_MAX
#define HEAD_SIZE ((sizeof(pfa_live_head_t) + PFA_LIVE_PAGE - 1) & ~(size_t)(PFA_LIVE_PAGE - 1))

pfa_live_head_t *pfa_extents_head;

static struct {
    int fd; /* of the file, if shared */
    bool shared;
    _Atomic bool full; /* there was no room once: nothing more is asked of the disk */
    uint64_t identity; /* of what the descriptor should be: a program may close it and open its own */
    char path[PATH_SIZE];
    void *at[PFA_LIVE_EXTENTS]; /* where each extent is mapped */
} table;

bool pfa_extents_shared(void)
{
    return table.shared;
}

static int open_file(const char *path)
{
    size_t length = strlen(path);
    if (length >= sizeof table.path) {
        return ENAMETOOLONG;
    }
    int fd = pfa_sys_create(path);
    if (fd < 0) {
        return -fd;
    }
    int err = -pfa_sys_truncate(fd, HEAD_SIZE);
    err = err != 0 ? err : -pfa_sys_make_room(fd, 0, HEAD_SIZE);
    if (err != 0) {
        (void)pfa_sys_unlink(path);
        (void)pfa_sys_close(fd);
        return err;
    }
    memcpy(table.path, path, length + 1);
    table.fd = fd;
    table.identity = pfa_sys_fd_identity(fd);
    pfa_store_relaxed(&table.full, false);
    return 0;
}

static void forget_file(void)
{
    if (pfa_sys_fd_identity(table.fd) == table.identity) {
        (void)pfa_sys_close(table.fd);
    }
    table.shared = false;
    pfa_store_relaxed(&table.full, false);
}

/* A daemon that closes every descriptor closes ours, and may open its own under the number. */
static int own_descriptor(void)
{
    if (pfa_sys_fd_identity(table.fd) == table.identity) {
        return 0;
    }
    int fd = pfa_sys_open_write(table.path);
    if (fd < 0) {
        return -fd;
    }
    if (pfa_sys_fd_identity(fd) != table.identity) {
        (void)pfa_sys_close(fd);
        return ENOENT;
    }
    table.fd = fd;
    return 0;
}

static int map_at(void *at, size_t size, uint64_t offset)
{
    if (!table.shared) {
        void *got;
        return -pfa_sys_map(at, size, PROT_READ | PROT_WRITE, MAP_FIXED, &got);
    }
    int err = own_descriptor();
    err = err != 0 ? err : -pfa_sys_map_file(at, size, table.fd, offset);
    if (err == 0) {
        /* Without reading ahead. That makes folios of many pages, and a store to one page then takes room for all. */
        (void)pfa_sys_advise(at, size, MADV_RANDOM);
    }
    return err;
}

/* So that nobody takes another process of the same number for this one. */
static void say_who(pfa_live_head_t *head)
{
    char text[1024];
    head->start_ticks = pfa_sys_read_text("/proc/self/stat", text, sizeof text) ? pfa_live_ticks(text) : 0;
    head->boot = pfa_sys_read_text(PFA_LIVE_BOOT_PATH, text, sizeof text) ? pfa_live_boot(text) : 0;
}

int pfa_extents_open(const char *path)
{
    if (table.shared) {
        forget_file();
    }
    int err = path != NULL ? open_file(path) : 0;
    if (err != 0) {
        return err;
    }
    void *memory = pfa_extents_head;
    err = memory != NULL ? 0 : -pfa_sys_map(NULL, HEAD_SIZE, PROT_NONE, MAP_NORESERVE, &memory);
    if (err == 0) {
        table.shared = path != NULL;
        err = map_at(memory, HEAD_SIZE, 0);
    }
    if (err != 0) {
        if (path != NULL) {
            (void)pfa_sys_unlink(path);
            forget_file();
        }
        return err;
    }
    pfa_extents_head = memory;
    pfa_extents_head->magic = PFA_LIVE_MAGIC;
    pfa_extents_head->version = PFA_TRACE_VERSION;
    pfa_extents_head->pid = (uint32_t)pfa_sys_pid();
    if (path != NULL) {
        say_who(pfa_extents_head);
    }
    pfa_store_relaxed(&pfa_extents_head->file_size, HEAD_SIZE);
    return 0;
}

static _Atomic bool said_no_room;

static void say_no_room(int err)
{
    if (!pfa_swap_acq_rel(&said_no_room, true)) {
        pfa_say("no room for the live table (%s): from here on some chunks are counted and not recorded",
                pfa_sys_why(err));
    }
}

bool pfa_extents_said_no_room(void)
{
    return pfa_load_relaxed(&said_no_room);
}

static int grow_file(uint64_t size)
{
    if (!table.shared) {
        return 0;
    }
    int err = own_descriptor();
    /* Not by setting its size: another thread may have made it longer. */
    long written = err != 0 ? -err : pfa_sys_pwrite(table.fd, "", 1, size - 1);
    if (written < 0) {
        say_no_room((int)-written);
    }
    return written < 0 ? (int)-written : 0;
}

/* Without a lock: a thread that is held up in here holds up nobody. An entry that could not be filled stays empty. */
static int add(pfa_extent_kind_t kind, uint32_t index, size_t size, void **at, uint32_t *number)
{
    pfa_live_head_t *head = pfa_extents_head;
    bool reserved = *at == NULL;
    if (pfa_load_relaxed(&head->extent_count) >= PFA_LIVE_EXTENTS) {
        return ENOSPC;
    }
    uint64_t offset = pfa_add_relaxed(&head->file_size, size);
    int err = reserved ? -pfa_sys_map(NULL, size, PROT_NONE, MAP_NORESERVE, at) : 0;
    if (err != 0) {
        return err;
    }
    err = grow_file(offset + size);
    err = err != 0 ? err : map_at(*at, size, offset);
    if (err != 0) {
        if (reserved) {
            (void)pfa_sys_unmap(*at, size);
        }
        return err;
    }
    uint32_t count = pfa_add_relaxed(&head->extent_count, 1);
    if (count >= PFA_LIVE_EXTENTS) {
        pfa_sub_relaxed(&head->extent_count, 1);
        return ENOSPC; /* what was mapped stays, used by nobody */
    }
    table.at[count] = *at;
    pfa_live_extent_t *extent = &head->extents[count];
    extent->index = index;
    extent->offset = offset;
    extent->size = size;
    /* Partner: pfa_extents_kind. */
    __atomic_store_n(&extent->kind, (uint32_t)kind, __ATOMIC_RELEASE);
    *number = count;
    return 0;
}

/* For whoever records without a session. */
static int open_in_memory(void)
{
    pfa_lock(PFA_LOCK_EXTENTS);
    int err = pfa_extents_head != NULL ? 0 : pfa_extents_open(NULL);
    pfa_unlock(PFA_LOCK_EXTENTS);
    return err;
}

int pfa_extents_add(pfa_extent_kind_t kind, uint32_t index, size_t size, void *at, void **memory, uint32_t *number)
{
    int err = pfa_extents_head != NULL ? 0 : open_in_memory();
    bool full = pfa_load_relaxed(&table.full);
    if (err == 0 && full && kind == PFA_EXTENT_FOLDS) {
        /* Totals are kept all the same; they go with the process if it is killed. */
        *number = NOT_IN_FILE;
        return -pfa_sys_map(NULL, size, PROT_READ | PROT_WRITE, 0, memory);
    }
    err = err != 0 ? err : full ? ENOSPC : add(kind, index, size, &at, number);
    if (err == 0 && memory != NULL) {
        *memory = at;
    }
    return err;
}

int pfa_extents_make_room(uint32_t number, uint64_t offset, uint64_t size)
{
    if (!table.shared || number == NOT_IN_FILE) {
        return 0;
    }
    int err = own_descriptor();
    err = err != 0 ? err : -pfa_sys_make_room(table.fd, pfa_extents_head->extents[number].offset + offset, size);
    if (err != 0) {
        say_no_room(err);
        pfa_store_relaxed(&table.full, true);
    }
    return err;
}

bool pfa_extents_full(void)
{
    return pfa_load_relaxed(&table.full);
}

void pfa_extents_drop(void *at, size_t size)
{
    (void)pfa_sys_advise(at, size, table.shared ? MADV_REMOVE : MADV_DONTNEED);
}

pfa_extent_kind_t pfa_extents_kind(uint32_t number)
{
    return (pfa_extent_kind_t)__atomic_load_n(&pfa_extents_head->extents[number].kind, __ATOMIC_ACQUIRE);
}

void *pfa_extents_at(uint32_t number)
{
    return table.at[number];
}

static bool is_kept(const pfa_live_extent_t *extent)
{
    return extent->kind != PFA_EXTENT_RING && extent->kind != PFA_EXTENT_RINGS && extent->kind != PFA_EXTENT_FOLDS &&
           extent->kind != PFA_EXTENT_NONE;
}

bool pfa_extents_next_data(uint32_t number, uint64_t *start, uint64_t *end)
{
    const pfa_live_extent_t *extent = &pfa_extents_head->extents[number];
    *end = extent->size;
    if (!table.shared || own_descriptor() != 0) {
        return *start < extent->size;
    }
    uint64_t from = extent->offset + *start;
    bool found = pfa_sys_next_data(table.fd, &from, end, extent->offset + extent->size);
    *start = from - extent->offset;
    *end -= extent->offset;
    return found;
}

/* These only grow, so what the child sees of the parent's is what it knew at the fork, and more. */
static bool keeps_content(const pfa_live_extent_t *extent)
{
    return extent->kind == PFA_EXTENT_NODES || extent->kind == PFA_EXTENT_TAGS;
}

/* How much of it is in use, of the nodes that there are. */
static size_t content_size(const pfa_live_extent_t *extent, uint32_t nodes)
{
    uint64_t first = (uint64_t)extent->index * PFA_LIVE_NODES;
    if (extent->kind != PFA_EXTENT_NODES || nodes >= first + PFA_LIVE_NODES) {
        return extent->size;
    }
    return nodes > first ? (nodes - first) * sizeof(pfa_live_node_t) : 0;
}

static int remake_with_content(const pfa_live_extent_t *old, void *at, size_t size)
{
    void *copy;
    uint32_t number;
    int err = -pfa_sys_map(NULL, size + 1, PROT_READ | PROT_WRITE, 0, &copy);
    if (err != 0) {
        return err;
    }
    memcpy(copy, at, size);
    err = add((pfa_extent_kind_t)old->kind, old->index, old->size, &at, &number);
    err = err != 0 ? err : pfa_extents_make_room(number, 0, old->size);
    if (err == 0) {
        memcpy(at, copy, size);
    }
    (void)pfa_sys_unmap(copy, size + 1);
    return err;
}

/* Rings and folds become nobody's memory, private to the child; the others get their place in the new file. */
static int remake_extents(const pfa_live_extent_t *old, uint32_t count, uint32_t nodes)
{
    int err = 0;
    for (uint32_t i = 0; i < count && err == 0; i++) {
        void *at = table.at[i];
        uint32_t number;
        if (at != NULL && keeps_content(&old[i])) {
            err = remake_with_content(&old[i], at, content_size(&old[i], nodes));
        } else if (at != NULL && is_kept(&old[i])) {
            err = add((pfa_extent_kind_t)old[i].kind, old[i].index, old[i].size, &at, &number);
        } else {
            /* Its number stays taken: others know theirs. */
            pfa_store_relaxed(&pfa_extents_head->extent_count, i + 1);
            table.at[i] = NULL;
            if (at != NULL) {
                (void)pfa_sys_unmap(at, old[i].size);
            }
        }
    }
    return err;
}

/* The parent may have added some since the fork, where the child has no memory. */
static uint32_t known_nodes(uint32_t nodes, const pfa_live_extent_t *extents, uint32_t count)
{
    uint32_t room = 0;
    for (uint32_t i = 0; i < count; i++) {
        room += extents[i].kind == PFA_EXTENT_NODES && table.at[i] != NULL ? PFA_LIVE_NODES : 0;
    }
    return nodes < room ? nodes : room;
}

int pfa_extents_reopen(const char *path)
{
    uint32_t count = pfa_load_relaxed(&pfa_extents_head->extent_count);
    size_t size = count * sizeof(pfa_live_extent_t);
    void *copy = NULL;
    if (pfa_sys_map(NULL, size + 1, PROT_READ | PROT_WRITE, 0, &copy) != 0) {
        return ENOMEM;
    }
    memcpy(copy, pfa_extents_head->extents, size);
    uint64_t weights[PFA_LIVE_WEIGHTS];
    memcpy(weights, pfa_extents_head->weights, sizeof weights);
    uint32_t nodes = known_nodes(pfa_load_acquire(&pfa_extents_head->node_count), copy, count);
    if (table.shared) {
        forget_file();
    }
    int err = pfa_extents_open(path);
    int failed = err != 0 ? pfa_extents_open(NULL) : 0;
    failed = failed != 0 ? failed : remake_extents(copy, count, nodes);
    if (failed != 0 && table.shared) { /* the disk: then in memory */
        (void)pfa_sys_unlink(table.path);
        forget_file();
        err = failed;
        failed = pfa_extents_open(NULL);
        pfa_store_relaxed(&pfa_extents_head->extent_count, 0);
        failed = failed != 0 ? failed : remake_extents(copy, count, nodes);
    }
    memcpy(pfa_extents_head->weights, weights, sizeof weights);
    pfa_store_relaxed(&pfa_extents_head->node_count, nodes);
    (void)pfa_sys_unmap(copy, size + 1);
    return failed != 0 ? ENOMEM : err;
}

void pfa_extents_unlink(void)
{
    if (table.shared) {
        (void)pfa_sys_unlink(table.path);
    }
}

void pfa_extents_rename(const char *path)
{
    size_t length = strlen(path);
    if (!table.shared || length >= sizeof table.path) {
        return;
    }
    if (pfa_sys_rename(table.path, path) == 0) {
        memcpy(table.path, path, length + 1);
    } else {
        (void)pfa_sys_symlink(table.path, path); /* it lies on another file system */
    }
}
