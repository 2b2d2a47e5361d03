/* Which functions only allocate or free for others: a list of patterns, built in (analyze/excess/wrappers.def) and added by
 * users. */
#ifndef PFA_ANALYZE_EXCESS_WRAPPERS_H
#define PFA_ANALYZE_EXCESS_WRAPPERS_H

#include "analyze/names/stacks.h"

typedef struct pfa_wrappers {
    char **patterns; /* of users */
    size_t count;
    size_t room;
} pfa_wrappers_t;

void pfa_wrappers_add(pfa_wrappers_t *wrappers, const char *pattern, size_t size);
/* One pattern in each line; empty lines and those that begin with # do not count. 0, or an error number. */
int pfa_wrappers_read(pfa_wrappers_t *wrappers, const char *path);
void pfa_wrappers_free(pfa_wrappers_t *wrappers);

bool pfa_wrappers_has(const pfa_wrappers_t *wrappers, const pfa_line_t *line);

/* A demangled name without its argument list and without what a template has in front: the type that it returns. The
 * caller frees it. */
char *pfa_wrappers_bare_name(const char *function);

#endif
