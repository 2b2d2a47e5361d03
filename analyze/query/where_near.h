/* The candidate that is nearest to a word that somebody mistyped. */
#ifndef PFA_ANALYZE_QUERY_WHERE_NEAR_H
#define PFA_ANALYZE_QUERY_WHERE_NEAR_H

#include <stddef.h>

enum { PFA_NEAR_LONGEST = 40 };

typedef struct pfa_near {
    const char *word;
    size_t size;
    const char *best; /* NULL: none is near */
    size_t distance;  /* the most that is still near */
} pfa_near_t;

void pfa_near_begin(pfa_near_t *near, const char *word, size_t size);
/* Of candidates that are equally near, the first stays. */
void pfa_near_try(pfa_near_t *near, const char *candidate);

#endif
