/* Owns one file of the live table. See meta/tablefile.h. */
#include "meta/tablefile.h"
#include "base/lock.h"
#include "base/sys.h"
#include "meta/shelf.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* Of a new file: where the file system takes no orders for room, its beginning is written. */
static int make_first_room(int fd, uint64_t size)
{
    static const char nothing[512];
    int err = -pfa_sys_make_room(fd, 0, size);
    if (err != EOPNOTSUPP) {
        return err;
    }
    long written = 0;
    for (uint64_t at = 0; at < size && written >= 0; at += sizeof nothing) {
        written = pfa_sys_pwrite(fd, nothing, sizeof nothing, at);
    }
    return written < 0 ? (int)-written : 0;
}

static int begin(pfa_tablefile_t *file, int fd, uint64_t size, bool on_shelf)
{
    int err = -pfa_sys_truncate(fd, size);
    err = err != 0 ? err : make_first_room(fd, size);
    if (err != 0) {
        (void)pfa_sys_unlink(file->path);
        (void)pfa_sys_close(fd);
        return err;
    }
    /* So that nobody who cannot see our process takes us for gone: meta/orphans.h, pfa_livetable_in_use. Held for as long as any
     * of it is mapped, also when the descriptor was closed. */
    file->locked = !pfa_sys_is_shut_in() && pfa_sys_lock_file(fd, false);
    pfa_store_relaxed(&file->fd, fd);
    file->on_shelf = on_shelf;
    file->identity = pfa_sys_fd_identity(fd);
    pfa_store_relaxed(&file->full, false);
    pfa_store_release(&file->open, true);
    return 0;
}

int pfa_tablefile_make_at(pfa_tablefile_t *file, const char *path, uint64_t size)
{
    size_t length = strlen(path);
    if (length >= sizeof file->path) {
        return ENAMETOOLONG;
    }
    int fd = pfa_sys_create_private(path);
    if (fd < 0) {
        return -fd;
    }
    memcpy(file->path, path, length + 1);
    return begin(file, fd, size, false);
}

int pfa_tablefile_make(pfa_tablefile_t *file, const char *path, uint64_t size)
{
    int fd = pfa_shelf_make(path, file->path, sizeof file->path, &file->share);
    return fd >= 0 && begin(file, fd, size, true) == 0 ? 0 : pfa_tablefile_make_at(file, path, size);
}

static bool has_descriptor(pfa_tablefile_t *file)
{
    return pfa_sys_fd_identity(pfa_load_relaxed(&file->fd)) == file->identity;
}

void pfa_tablefile_forget(pfa_tablefile_t *file)
{
    if (pfa_load_relaxed(&file->open) && has_descriptor(file)) {
        (void)pfa_sys_close(pfa_load_relaxed(&file->fd));
    }
    pfa_store_relaxed(&file->open, false);
    pfa_store_relaxed(&file->full, false);
}

void pfa_tablefile_remove(pfa_tablefile_t *file)
{
    if (pfa_load_relaxed(&file->open)) {
        (void)pfa_sys_unlink(file->path);
    }
}

int pfa_tablefile_rename(pfa_tablefile_t *file, const char *path)
{
    size_t length = strlen(path);
    int err = length < sizeof file->path ? -pfa_sys_rename(file->path, path) : ENAMETOOLONG;
    if (err == 0) {
        memcpy(file->path, path, length + 1);
    }
    return err;
}

static int open_again(pfa_tablefile_t *file)
{
    int fd = pfa_sys_open_write(file->path);
    if (fd < 0) {
        return -fd;
    }
    if (pfa_sys_fd_identity(fd) != file->identity) {
        (void)pfa_sys_close(fd);
        return ENOENT;
    }
    pfa_store_relaxed(&file->fd, fd);
    return 0;
}

/* A daemon that closes every descriptor closes ours, and may open its own under the number. Of several threads that notice it, one
 * opens it again. */
static int own_descriptor(pfa_tablefile_t *file)
{
    if (has_descriptor(file)) {
        return 0;
    }
    pfa_lock(PFA_LOCK_EXTENTS);
    int err = has_descriptor(file) ? 0 : open_again(file);
    pfa_unlock(PFA_LOCK_EXTENTS);
    return err;
}

bool pfa_tablefile_is_reachable(pfa_tablefile_t *file)
{
    return pfa_load_acquire(&file->open) && own_descriptor(file) == 0;
}

int pfa_tablefile_grow(pfa_tablefile_t *file, uint64_t size)
{
    int err = own_descriptor(file);
    /* Not by setting its size: another thread may have made it longer. */
    long written = err != 0 ? -err : pfa_sys_pwrite(pfa_load_relaxed(&file->fd), "", 1, size - 1);
    return written < 0 ? (int)-written : 0;
}

int pfa_tablefile_map(pfa_tablefile_t *file, void *at, size_t size, uint64_t offset)
{
    int err = own_descriptor(file);
    err = err != 0 ? err : -pfa_sys_map_file(at, size, pfa_load_relaxed(&file->fd), offset);
    if (err == 0) {
        /* Without reading ahead. That makes folios of many pages, and a store to one page then takes room for all. */
        (void)pfa_sys_advise(at, size, MADV_RANDOM);
    }
    return err;
}

int pfa_tablefile_map_copy(pfa_tablefile_t *file, void *at, size_t size, uint64_t offset)
{
    int err = own_descriptor(file);
    return err != 0 ? err : -pfa_sys_map_copy(at, size, pfa_load_relaxed(&file->fd), offset);
}

int pfa_tablefile_make_room(pfa_tablefile_t *file, uint64_t offset, uint64_t size, void *at)
{
    int err = own_descriptor(file);
    err = err != 0 ? err : -pfa_sys_make_room(pfa_load_relaxed(&file->fd), offset, size);
    if (err == EOPNOTSUPP) {
        err = -pfa_sys_populate(at, size);
    }
    if (err != 0) {
        pfa_store_relaxed(&file->full, true);
    }
    return err;
}

bool pfa_tablefile_next_data(pfa_tablefile_t *file, uint64_t *start, uint64_t *end, uint64_t limit)
{
    return pfa_sys_next_data(pfa_load_relaxed(&file->fd), start, end, limit);
}

static bool is_shelf_short(pfa_tablefile_t *file, uint64_t size)
{
    pfa_sys_space_t space;
    int fd = own_descriptor(file) == 0 ? pfa_load_relaxed(&file->fd) : -1;
    return fd < 0 || pfa_sys_file_bytes(fd) + size > file->share ||
           (pfa_sys_fd_space(fd, &space) == 0 && !pfa_shelf_has_room(&space, size));
}

bool pfa_tablefile_is_short(pfa_tablefile_t *file, uint64_t size)
{
    return pfa_load_relaxed(&file->full) || (file->on_shelf && is_shelf_short(file, size));
}
