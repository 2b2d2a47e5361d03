/* The files that a command, or a session, reads traces from: each is opened once, and what is found out about it is remembered, so that
 * traces of the same file are verified once, as long as it is not changed. Files that somebody has are open; of the others, the last few
 * stay open.
 *
 * Any thread may call any of this at any time. The files are freed after all that was taken is given back. */
#ifndef PFA_ANALYZE_TRACE_FILES_H
#define PFA_ANALYZE_TRACE_FILES_H

#include "analyze/trace/blocks.h"

typedef struct pfa_files pfa_files_t;
typedef struct pfa_file pfa_file_t;

/* NULL: there is no memory. */
pfa_files_t *pfa_files_new(void);
void pfa_files_free(pfa_files_t *files);

/* What has this name now. NULL: it cannot be opened, and errno says why. */
pfa_file_t *pfa_files_take(pfa_files_t *files, const char *path);
void pfa_files_give_back(pfa_file_t *file);
/* For reading at places (pread): others read it, too. */
int pfa_file_descriptor(const pfa_file_t *file);

/* Copies the list of blocks that is remembered, if the file is what it was then: blocks->size and the like say what it is. */
bool pfa_file_recall(pfa_file_t *file, pfa_blocks_t *blocks);
void pfa_file_remember(pfa_file_t *file, const pfa_blocks_t *blocks);

#endif
