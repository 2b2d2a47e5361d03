/* Memory that outlives the process: pieces (extents) of a file, the live table (export/format/live.h), mapped shared.
 * Without a file the same pieces are ordinary memory, and everything works but for outliving.
 *
 * The file lies on a memory file system if there is one with room (meta/shelf.h), and a link beside the trace leads to it.
 * When that gets short, what is added lies in a second file, beside the trace. Where there is none, the only file does:
 * then a thread that stores to it may wait for the disk.
 *
 *   1. Nothing here waits, but for the first call of all. Nothing allocates but by mapping.
 *   2. An extent stays where it is for as long as the process lives. In a fork child all of them are made anew at the same
 *      addresses, in a file of the child's own: pfa_extents_reopen.
 *   3. Storing to an extent cannot fail for want of disk space where pfa_extents_make_room was asked before. */
#ifndef PFA_META_EXTENTS_H
#define PFA_META_EXTENTS_H

#include "base/atomic.h"
#include "export/format/live.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The head of the table; there from the first pfa_extents_open on. */
extern pfa_live_head_t *pfa_extents_head;

/* Makes the head, in a new file of that name or, for NULL, in memory. Once per process. 0 or an errno value; after a
 * failure with a name it may be called again without. */
int pfa_extents_open(const char *path);
/* Is there a file? */
bool pfa_extents_shared(void);
/* And is it still to be found when the process was killed? Not once it was removed. */
bool pfa_extents_outlive(void);
/* Its name; "" without one. */
const char *pfa_extents_path(void);
/* Notes in the head whose live table it is, for whoever finds the file without its trace. */
void pfa_extents_name_trace(const char *trace, uint64_t identity);

/* Another extent: `size` bytes, whole PFA_LIVE_PAGEs, zeroed, over the reserved memory at `at`, or anywhere if that is
 * NULL; *number is what pfa_extents_make_room wants to hear. 0 or an errno value. */
int pfa_extents_add(pfa_extent_kind_t kind, uint32_t index, size_t size, void *at, void **memory, uint32_t *number);
/* Some bytes of an extent of records are about to be used, whole pages: without a file they can only be read before. */
int pfa_extents_use(uint32_t number, uint64_t offset, size_t size);
/* Should these bytes lie in the second file? Then there is one. */
bool pfa_extents_is_short(uint64_t size);
/* Is this extent in it? */
bool pfa_extents_in_more(uint32_t number);
/* A second extent for what lies at the same place as another, in the second file; and the change of some of that memory, which
 * nobody uses yet, from the one to the other. 0 or an errno value. */
int pfa_extents_add_twin(uint32_t number, uint32_t *twin);
int pfa_extents_map_twin(uint32_t twin, uint64_t offset, size_t size);
/* Room on the disk for `size` bytes at `offset` of an extent. 0 or an errno value. */
int pfa_extents_make_room(uint32_t number, uint64_t offset, uint64_t size);
/* Was there no room once? Then no more extents are added, but for folds, which are memory then. */
bool pfa_extents_full(void);
/* Was it said that the disk has no room? Then nothing need be said of what follows from that. */
bool pfa_extents_said_no_room(void);
/* PFA_EXTENT_NONE while it is being made. */
pfa_extent_kind_t pfa_extents_kind(uint32_t number);
/* Where an extent is mapped. */
void *pfa_extents_at(uint32_t number);
/* The next bytes of an extent that were ever stored to, at or behind *start, up to *end; false: there are none. Without a
 * file, all of it. */
bool pfa_extents_next_data(uint32_t number, uint64_t *start, uint64_t *end);
/* Gives whole pages of an extent back, as zeros; they have no room afterwards. */
void pfa_extents_drop(void *at, size_t size);

/* In a fork child: leaves the parent's file and makes the same extents anew, empty, but for those of rings and folds,
 * which are gone, and of nodes, tags and types, which keep what they have. `path` as for pfa_extents_open; when the file cannot be
 * made, they are memory. Returns 0, an errno value if the file could not be made, or ENOMEM when not even memory could be
 * had. */
int pfa_extents_reopen(const char *path);
/* In a fork child, with the same content: from here on what is stored in them is the child's alone. Where that cannot be, they
 * stay as they are. */
void pfa_extents_make_private(void);
/* In a fork child that could not: the head is no longer there, and none is made; the memory is the parent's. */
void pfa_extents_forget(void);
/* The file is to be found under another name too, the old one is not kept if that can be helped. */
void pfa_extents_rename(const char *path);
/* Removes the file; the memory stays. */
void pfa_extents_unlink(void);

#endif
