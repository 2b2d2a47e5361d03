/* Memoro's groups: the chunks of an allocation point that were allocated close together in time. Chunks whose births lie no
 * further apart than the threshold from one to the next are one group. They may come in any order: what is kept is the stretches
 * of time that groups cover, and two stretches become one when a birth joins them, so that the groups are the same as those of
 * sorted chunks. There are at most as many as thresholds fit into the run, however many chunks there are; if that is too many, the
 * threshold can be made larger at any time, and the groups are those that it would have made from the beginning. */
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

typedef struct pfa_bursts {
    pfa_burst_t *list; /* by time */
    uint32_t count;
    uint32_t recent; /* the one that was last added to */
    size_t room;
} pfa_bursts_t;

/* One chunk, that stands for `weight`, of a trace whose moments are cut to such steps. */
void pfa_bursts_add(pfa_bursts_t *bursts, double threshold, double step_ns, const pfa_chunk_t *chunk, double weight,
                    double bytes);
/* Joins the groups that a larger threshold does not tell apart. */
void pfa_bursts_widen(pfa_bursts_t *bursts, double threshold);
void pfa_bursts_free(pfa_bursts_t *bursts);

/* Mean lifetime of its chunks over that of the group, from the first birth to the last death: the paper's S_g. NaN: it has
 * several chunks and took no time that could be measured. */
double pfa_burst_score(const pfa_burst_t *burst, double step_ns);
/* The same of all groups of at least so many chunks that took no longer than a step of times, taken together, by which those that
 * have no score can be judged. Whether a step ends while a chunk or a group is there is chance, the same for both, so that the sums
 * of their times are right though each by itself is not. NaN: no step ended in any. */
double pfa_bursts_short_score(const pfa_bursts_t *bursts, double least_chunks, double step_ns);
/* The mean of all groups' scores: the paper's S_l. NaN without any. */
double pfa_bursts_score(const pfa_bursts_t *bursts, double step_ns);

#endif
