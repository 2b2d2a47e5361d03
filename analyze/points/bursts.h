/* Memoro's groups: the chunks of an allocation point that were allocated close together in time. Chunks whose births lie no
 * further apart than the threshold from one to the next are one group. They may come in any order: what is kept is the stretches
 * of time that groups cover, and two stretches become one when a birth joins them, so that the groups are the same as those of
 * sorted chunks.
 *
 * A group is open while another birth may join it. Who knows that none can come any more has it closed: then only sums of it are kept. If
 * there are too many open groups all the same, the threshold can be made larger at any time; unless some were closed before, the groups are
 * those that it would have made from the beginning. */
#ifndef PFA_ANALYZE_POINTS_BURSTS_H
#define PFA_ANALYZE_POINTS_BURSTS_H

#include "analyze/query/query.h"

#include <stddef.h>
#include <stdint.h>

typedef struct pfa_burst {
    double first; /* birth */
    double last;  /* birth */
    double end;   /* the latest death */
    double
        began; /* the first birth and the latest death as well as they can be told: moments are cut to steps, lives are not */
    double over;
    double lives; /* sum of lifetimes, weighted as chunks and bytes are */
    double chunks;
    double chunks_variance; /* of the estimate, if sampled */
    double bytes;
    double rows; /* chunks that were seen, not weighted */
} pfa_burst_t;

/* Some groups' chunks and bytes. */
typedef struct pfa_burst_share {
    double chunks;
    double chunks_variance;
    double bytes;
} pfa_burst_share_t;

/* Of closed groups. */
typedef struct pfa_burst_sums {
    uint64_t groups;
    uint64_t scored;               /* so many have a score, */
    double scores;                 /* and this is the sum of them */
    double short_lives;            /* of large groups that took no longer than a step: lifetimes of their chunks, */
    double short_times;            /* and chunks times the time of their group */
    pfa_burst_share_t short_lived; /* of large groups with a low score, */
    pfa_burst_share_t unscored;    /* and of large ones without */
    double busy;                   /* time that they cover, but for chunks that outlive the last birth by long */
    double first;                  /* birth of all */
    double last;
} pfa_burst_sums_t;

typedef struct pfa_bursts {
    pfa_burst_t *list; /* the open ones, by time */
    uint32_t count;
    uint32_t recent; /* the one that was last added to */
    uint32_t left;   /* open ones after the last pfa_bursts_close */
    size_t room;
    pfa_burst_sums_t closed;
} pfa_bursts_t;

/* What the sums are made by. */
typedef struct pfa_burst_terms {
    double step_ns; /* moments are cut to such steps */
    double chunks;  /* large is a group of so many, */
    double score;   /* and its score is low up to this */
    double cap_ns;  /* longer than this is long */
} pfa_burst_terms_t;

/* One chunk, that stands for `weight`, of a trace whose moments are cut to such steps. */
void pfa_bursts_add(pfa_bursts_t *bursts, double threshold, double step_ns, const pfa_chunk_t *chunk, double weight,
                    double bytes);
/* Joins the groups that a larger threshold does not tell apart. */
void pfa_bursts_widen(pfa_bursts_t *bursts, double threshold);
/* Closes those that begin and end in time that is over, as `is_over` says of each stretch between these moments; NULL: all. */
typedef bool pfa_burst_is_over_t(const void *to, double from, double until);
void pfa_bursts_close(pfa_bursts_t *bursts, const pfa_burst_terms_t *terms, pfa_burst_is_over_t *is_over,
                      const void *to);
void pfa_bursts_free(pfa_bursts_t *bursts);

/* Once all are closed: */
/* the mean of all groups' scores: the paper's S_l. NaN without any; */
double pfa_bursts_score(const pfa_bursts_t *bursts);
/* what is in short-lived groups. Large groups that have no score are judged by all that took no longer than a step, taken together: whether a
 * step ends while a chunk or a group is there is chance, the same for both, so that the sums of their times are right though each by itself is
 * not. */
pfa_burst_share_t pfa_bursts_short_lived(const pfa_bursts_t *bursts, const pfa_burst_terms_t *terms);

#endif
