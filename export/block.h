/* Blocks on their way into the trace: packed, checksummed, written at the end of the file.
 *
 * Under PFA_LOCK_WRITER, all of it. Nothing allocates but by mapping, once. */
#ifndef PFA_EXPORT_BLOCK_H
#define PFA_EXPORT_BLOCK_H

#include "export/format/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes a new file. 0 or an errno value. */
int pfa_block_open(const char *path);
/* Memory for a payload, of at least PFA_BLOCK_SCRATCH bytes; one at a time. */
#define PFA_BLOCK_SCRATCH ((size_t)4 << 20)
void *pfa_block_scratch(void);
/* Appends a block. 0 or an errno value; after a failure the file ends with the last whole block, and further ones are
 * refused with the same error. */
int pfa_block_write(pfa_block_kind_t kind, const void *payload, size_t size);
/* Appends the last block, with the index, and closes the file. */
int pfa_block_end(pfa_end_t how);
/* Closes the file, if it is open, and leaves it as it is. */
void pfa_block_forget(void);
/* The same in a fork child, whatever the parent's writer was in the middle of. */
void pfa_block_after_fork(void);
bool pfa_block_is_open(void);
/* Of its file, as pfa_sys_fd_identity tells it. */
uint64_t pfa_block_identity(void);
/* Compression: more effort while there is time for it. */
void pfa_block_effort(int level);

#endif
