/* A file that the live table lies in: made, mapped, given room, removed. The table has one, and where that is in memory and
 * memory gets short a second one on the disk (meta/extents.c).
 *
 * Mapping, growing and making room may be done by several threads at once; the rest by one alone. Nothing here allocates.
 * All that can fail returns 0 or an errno value. */
#ifndef PFA_META_TABLEFILE_H
#define PFA_META_TABLEFILE_H

#include "base/atomic.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PFA_TABLEFILE_PATH = 4096 };

typedef struct pfa_tablefile {
    _Atomic int fd;
    bool on_shelf;     /* in a folder of meta/shelf.h */
    bool locked;       /* for as long as any of it is mapped */
    uint64_t share;    /* what it may take there */
    uint64_t identity; /* of what the descriptor should be: a program may close it and open its own */
    _Atomic bool open;
    _Atomic bool full; /* there was no room once: nothing more is asked of it */
    char path[PFA_TABLEFILE_PATH];
} pfa_tablefile_t;

/* A new file, with room for its first `size` bytes: on a shelf if there is one, else at `path` itself. */
int pfa_tablefile_make(pfa_tablefile_t *file, const char *path, uint64_t size);
/* At `path`, in any case. */
int pfa_tablefile_make_at(pfa_tablefile_t *file, const char *path, uint64_t size);
/* It goes on to exist, without us. */
void pfa_tablefile_forget(pfa_tablefile_t *file);
void pfa_tablefile_remove(pfa_tablefile_t *file);
int pfa_tablefile_rename(pfa_tablefile_t *file, const char *path);

/* Makes it that long at least. */
int pfa_tablefile_grow(pfa_tablefile_t *file, uint64_t size);
int pfa_tablefile_map(pfa_tablefile_t *file, void *at, size_t size, uint64_t offset);
/* The same, but what is stored there is not stored in the file. */
int pfa_tablefile_map_copy(pfa_tablefile_t *file, void *at, size_t size, uint64_t offset);
/* Room for these bytes, whole pages, which are mapped at `at`: storing to them cannot fail. */
int pfa_tablefile_make_room(pfa_tablefile_t *file, uint64_t offset, uint64_t size, void *at);
/* Has it a descriptor, or can have one again? Not if it was removed, too. */
bool pfa_tablefile_is_reachable(pfa_tablefile_t *file);
/* As pfa_sys_next_data, of one that is. */
bool pfa_tablefile_next_data(pfa_tablefile_t *file, uint64_t *start, uint64_t *end, uint64_t limit);
/* Should the next `size` bytes lie elsewhere? */
bool pfa_tablefile_is_short(pfa_tablefile_t *file, uint64_t size);

#endif
