/* The most bytes of a point that were alive at once.
 *
 * The run is cut into PFA_CURVE equal parts. One walk through the chunks tells what was alive between parts exactly, and within a
 * part that there was at most what was alive before and all that was born in it. That bounds the peak, and says in which parts it
 * can be. In a second walk, the births and deaths in these are kept and sorted, which makes the peak exact, for as many points as
 * there is room for: those with few such events first. Of the others the bounds stay.
 *
 * Of what happens at the same time, deaths come first. */
#ifndef PFA_ANALYZE_POINTS_OWN_PEAK_H
#define PFA_ANALYZE_POINTS_OWN_PEAK_H

#include "analyze/query/query.h"

enum { PFA_CURVE = 128 };

/* A part of the run: together, since a chunk changes all of it. */
typedef struct pfa_curve {
    double change;   /* bytes born, without those that died */
    double births;   /* bytes born */
    uint32_t events; /* how many births and deaths; saturated */
    uint32_t latest; /* the last batch of the walk that had a birth in it */
} pfa_curve_t;

/* A birth, or, with fewer than 0 bytes, a death. */
typedef struct pfa_own_event {
    double time;
    double bytes;
} pfa_own_event_t;

typedef struct pfa_own_peak {
    double least;                    /* it is at least this, */
    double most;                     /* and at most this; the same if it is exact */
    pfa_curve_t *curve;              /* PFA_CURVE of them */
    uint64_t wanted[PFA_CURVE / 64]; /* parts in which it can be higher than `least` */
    uint64_t event_count;            /* in these */
    pfa_own_event_t *events;         /* NULL: there is no room for them */
    uint64_t kept;
} pfa_own_peak_t;

/* The first walk, of a run that ends then; then the bounds, which the largest chunk is part of. */
void pfa_own_peak_add(pfa_own_peak_t *own, double end_ns, const pfa_chunk_t *chunk, bool live, double bytes,
                      uint32_t batch);
/* Then, for a second walk that goes through the same batches: whether all births between these moments were in this batch or before. */
bool pfa_own_peak_is_over(const pfa_own_peak_t *own, double end_ns, double from, double until, uint32_t batch);
void pfa_own_peak_bound(pfa_own_peak_t *own, double largest);
/* For those whose events are wanted: the second walk, and its end. */
void pfa_own_peak_want(pfa_own_peak_t *own);
void pfa_own_peak_add_again(pfa_own_peak_t *own, double end_ns, const pfa_chunk_t *chunk, bool live, double bytes);
void pfa_own_peak_settle(pfa_own_peak_t *own);
void pfa_own_peak_free(pfa_own_peak_t *own);

#endif
