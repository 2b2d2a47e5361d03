/* Debug information from the servers that DEBUGINFOD_URLS names, through libdebuginfod: loaded when it is needed, so that
 * the tool works without it.
 *
 * libdwfl would ask them itself, and wait for each module as long as libdebuginfod does: minutes, if a server is silent.
 * Here waiting is bounded for all modules together, it shows on a terminal, and the report says if it was in vain. For this
 * DEBUGINFOD_URLS is hidden from libdwfl. One thread. */
#ifndef PFA_ANALYZE_NAMES_DEBUGINFOD_H
#define PFA_ANALYZE_NAMES_DEBUGINFOD_H

#include "analyze/base/notes.h"

#include <stddef.h>
#include <stdint.h>

/* Takes DEBUGINFOD_URLS out of the environment; to be called before libdwfl is asked for anything. */
void pfa_debuginfod_hide(void);
/* A descriptor of the debug information with that build-id, and its path, which the caller frees; or -1. */
int pfa_debuginfod_find(const uint8_t *build_id, size_t size, char **path);
/* Why servers could not be asked, if they could not. */
void pfa_debuginfod_tell(pfa_notes_t *remarks);

#endif
