/* Owns the choice of a folder for the live table. See meta/shelf.h. */
#include "meta/shelf.h"
#include "base/message.h"
#include "base/options.h"
#include "export/format/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 1024 * 1024, PATH_SIZE = 4096 }; /* with less room than that it is not worth a file */

bool pfa_shelf_has_room(const pfa_sys_space_t *space, uint64_t size)
{
    return space->free >= size && space->free - size >= space->total / 4;
}

static bool is_in_memory(const char *path)
{
    pfa_sys_space_t space;
    return pfa_sys_space(path, &space) == 0 && space.in_memory;
}

static bool folder_is_in_memory(const char *path)
{
    char folder[PATH_SIZE];
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    if (length >= sizeof folder) {
        return false;
    }
    memcpy(folder, path, length);
    folder[length] = '\0';
    return is_in_memory(length != 0 ? folder : ".");
}

/* In this folder, whatever it is on. */
static int make_in(const char *folder, char *path, size_t size, uint64_t *share)
{
    pfa_sys_space_t space;
    pfa_text_t text = {path, size, 0};
    int err = pfa_sys_space(folder, &space);
    *share = pfa_options.live_size != 0 ? pfa_options.live_size : pfa_sys_ram() / 4;
    if (err != 0 || *share < LEAST || !pfa_shelf_has_room(&space, LEAST)) {
        return err != 0 ? err : -ENOSPC;
    }
    pfa_text_add(&text, "%s/%s%d-%lx%s", folder, PFA_SHELF_PREFIX, pfa_sys_pid(), (unsigned long)pfa_sys_random(),
                 PFA_LIVE_SUFFIX);
    return text.used + 1 >= size ? -ENAMETOOLONG : pfa_sys_create_private(path);
}

static int make_where_named(char *path, size_t size, uint64_t *share)
{
    static _Atomic bool said;
    int fd = make_in(pfa_options.live, path, size, share);
    if (fd < 0) {
        pfa_say_once(&said,
                     "no live table can be made in the folder that the option 'live' names: it is beside the trace");
    }
    return fd;
}

int pfa_shelf_make(const char *beside, char *path, size_t size, uint64_t *share)
{
    const char *const folders[] = {"/dev/shm", getenv("XDG_RUNTIME_DIR"), "/run/shm", "/tmp"};
    if (pfa_sys_is_shut_in() || strcmp(pfa_options.live, "beside") == 0) {
        return -ENOENT;
    }
    if (pfa_options.live[0] != '\0' && strcmp(pfa_options.live, "auto") != 0) {
        return make_where_named(path, size, share);
    }
    if (folder_is_in_memory(beside)) {
        return -ENOENT;
    }
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        if (folders[i] != NULL && folders[i][0] == '/' && is_in_memory(folders[i])) {
            int fd = make_in(folders[i], path, size, share);
            if (fd >= 0) {
                return fd;
            }
        }
    }
    return -ENOENT;
}
