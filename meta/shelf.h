/* Where the live table lies: in a folder of a memory file system if there is one, so that no thread of the program waits
 * for a disk when it stores to it. The file is named profalloc-PID-NUMBER.live, NUMBER by chance, and is the owner's alone.
 *
 * Called once per session, at its start. Nothing here allocates. */
#ifndef PFA_META_SHELF_H
#define PFA_META_SHELF_H

#include "base/sys.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PFA_SHELF_PREFIX "profalloc-" /* the names of our files in such folders begin with it */

/* Makes the file, and *path its name. Returns its descriptor, or a negative error number: it is to lie beside the trace, whose
 * live table would be called `beside`. That is so if there is no such folder, if none of them has room, or if the trace's own
 * folder is one; and if the option `live` says so.
 *
 * *share is what the file may take: a quarter of the machine's memory, unless the option `live_size` says how much. */
int pfa_shelf_make(const char *beside, char *path, size_t size, uint64_t *share);

/* Would a quarter of the file system still be free with `size` bytes more? Asked for each part of the file: others use it, too. */
bool pfa_shelf_has_room(const pfa_sys_space_t *space, uint64_t size);

#endif
