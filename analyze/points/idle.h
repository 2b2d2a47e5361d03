/* Chunks that lay idle for most of their lives: for how long, and which threads had touched them last. */
#ifndef PFA_ANALYZE_POINTS_IDLE_H
#define PFA_ANALYZE_POINTS_IDLE_H

#include "analyze/query/query.h"

enum { PFA_TOUCHERS = 8 };

/* A thread, and how many of the chunks it was the last to touch. */
typedef struct pfa_toucher {
    const pfa_source_t *source;
    uint32_t thread;
    double chunks;
} pfa_toucher_t;

/* Sums over the chunks, weighted. */
typedef struct pfa_idle {
    double ns;    /* that they were idle, */
    double lives; /* of */
    double chunks;
    pfa_toucher_t *last; /* the first PFA_TOUCHERS threads that were met; NULL: none yet */
    double others;       /* chunks that others were the last to touch */
} pfa_idle_t;

void pfa_idle_add(pfa_idle_t *idle, const pfa_kind_t *kind, double ns, double life);
void pfa_idle_free(pfa_idle_t *idle);
/* The thread that was the last to touch most of them; NULL: it is not known, or there are too many to tell. */
const pfa_toucher_t *pfa_idle_last(const pfa_idle_t *idle);

#endif
