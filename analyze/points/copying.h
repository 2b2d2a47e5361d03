/* Buffers that were outgrown at the peak: while a growing one is copied, the old one and the new one are alive together. What is
 * looked for is what analyze/points/growth.h calls a successor, among the chunks of points that have runs; only of those that were born or died
 * about when the peak was, which are few. */
#ifndef PFA_ANALYZE_POINTS_COPYING_H
#define PFA_ANALYZE_POINTS_COPYING_H

#include "analyze/query/query.h"

/* A chunk that was alive at the peak. */
typedef struct pfa_copied {
    uint32_t group;
    uint32_t thread;      /* source and thread: that allocated it, */
    uint32_t free_thread; /* and that freed it */
    double born;
    double died; /* INFINITY: it is alive, or has a successor already */
    double size;
    double gap; /* what its source adds to times */
} pfa_copied_t;

typedef struct pfa_copying {
    pfa_copied_t *list;
    size_t count;
    size_t room;
} pfa_copying_t;

struct pfa_report;
/* Whether chunks of this kind may be one of two. */
bool pfa_copying_may(const struct pfa_report *report, const pfa_kind_t *kind);
/* A chunk of such a kind, of any time; it is kept if it was born or died about when the peak was. */
void pfa_copying_add(struct pfa_report *report, const pfa_kind_t *kind, const pfa_chunk_t *chunk);
/* Once all were added: the old ones' bytes, to their points. */
void pfa_copying_end(struct pfa_report *report);

#endif
