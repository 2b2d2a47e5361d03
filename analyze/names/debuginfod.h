/* Debug information from debuginfod servers, through libdebuginfod: loaded when it is needed, so that the tool works without it.
 *
 * libdwfl would ask the servers that DEBUGINFOD_URLS names itself, and wait for each module as long as libdebuginfod does: minutes,
 * if a server is silent. Here waiting is bounded for all modules together, it shows, and the report says if it was in vain. Who uses this
 * takes DEBUGINFOD_URLS out of the environment. One thread at a time. */
#ifndef PFA_ANALYZE_NAMES_DEBUGINFOD_H
#define PFA_ANALYZE_NAMES_DEBUGINFOD_H

#include "analyze/base/notes.h"
#include "analyze/base/progress.h"

#include <stddef.h>
#include <stdint.h>

typedef struct pfa_debuginfod pfa_debuginfod_t;

/* `urls` as in DEBUGINFOD_URLS, which are copied; so many seconds are waited in vain, for all files together; 0: the usual. */
pfa_debuginfod_t *pfa_debuginfod_new(const char *urls, double seconds, const pfa_watch_t *watch);
/* A descriptor of the debug information with that build-id, and its path, which the caller frees as malloc's; or -1. Never leaves the
 * work: libdwfl calls it. */
int pfa_debuginfod_find(pfa_debuginfod_t *servers, const uint8_t *build_id, size_t size, char **path);
/* Why servers could not be asked, as a sentence; "" if they could. `servers` may be NULL. */
enum { PFA_DEBUGINFOD_TROUBLE = 512 };
void pfa_debuginfod_trouble(const pfa_debuginfod_t *servers, char text[PFA_DEBUGINFOD_TROUBLE]);
/* Whether who watches gave up while a server was asked. */
bool pfa_debuginfod_is_given_up(const pfa_debuginfod_t *servers);

#endif
