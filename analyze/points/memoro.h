/* Memoro's analysis of allocation points, after "Detailed Heap Profiling" (ISMM 2018), sections 3.1 and 4.1: scores of how long
 * chunks live, how much of them is used and for how much of their lives, and what can be inferred of them.
 *
 * How the paper is read, where it leaves room:
 *   - Lifetime. All chunks of a point are grouped by the times of their births (bursts.h); with `short_ns` only those that live
 *     no longer. The group threshold is a part of the run's time.
 *   - Moments of a trace are cut to steps (the option time_step), lives are not. The threshold is no less than a step. A group of
 *     several chunks that began and ended within one step has no score: how long it took is not known. Whether it is a short-lived
 *     one is told by all groups of the point that took no longer than a step, taken together (bursts.h).
 *   - A chunk that is alive at the end dies then.
 *   - Usage. "Bytes accessed" is the access interval, as in the paper. Chunks of no bytes have no say.
 *   - Useful lifetime. The sum is of each chunk's own quotient. A chunk that lived for no time at all counts 1 if it was
 *     touched, else 0.
 *   - What was done with chunks of code that is not instrumented is not seen (analyze/names/sight.h): they have no say in usage,
 *     useful lifetime and what is inferred of accesses.
 *   - Global scores are geometric means over points. A single point of score 0 would make them 0, so a score counts as
 *     PFA_SCORE_LEAST if it is less; how many there are is told.
 *   - In a sampled recording each chunk counts for as many as it stands for; groups and runs are those of sampled chunks only:
 *     groups have wider gaps, so the lifetime score is an estimate that leans towards 1, and runs cannot be seen. */
#ifndef PFA_ANALYZE_POINTS_MEMORO_H
#define PFA_ANALYZE_POINTS_MEMORO_H

#include "analyze/points/bursts.h"
#include "analyze/points/growth.h"
#include "analyze/points/idle.h"
#include "analyze/points/lives.h"
#include "analyze/points/own_peak.h"
#include "analyze/names/sight.h"
#include "analyze/query/query.h"

#include <stdatomic.h>
#include <stdio.h>

#define PFA_SCORE_LEAST 0.01

/* Chunks that are smaller share what processors take from each other. */
enum { PFA_CACHE_LINE = 64 };

typedef enum pfa_inference {
#define PFA_INFERENCE(name, accesses, title, meaning) PFA_INFER_##name,
#include "analyze/points/inferences.def"
#undef PFA_INFERENCE
    PFA_INFERENCES
} pfa_inference_t;

typedef struct pfa_inference_text {
    const char *name;
    const char *title;
    const char *meaning;
    bool accesses;
} pfa_inference_text_t;
extern const pfa_inference_text_t pfa_inference_texts[PFA_INFERENCES];

/* All can be set on the command line (analyze/points/thresholds.def). */
typedef struct pfa_thresholds {
#define PFA_THRESHOLD(name, option, standard, least, most, meaning) double name;
#include "analyze/points/thresholds.def"
#undef PFA_THRESHOLD
} pfa_thresholds_t;

typedef enum pfa_score { PFA_SCORE_LIFETIME, PFA_SCORE_USAGE, PFA_SCORE_USEFUL, PFA_SCORES } pfa_score_t;
extern const char *const pfa_score_names[PFA_SCORES];

typedef struct pfa_share {
    double chunks;
    double bytes;
} pfa_share_t;

/* What is known of a point. Sums are weighted; times in nanoseconds. */
typedef struct pfa_memoro_point {
    double chunks;
    double bytes;
    double rows;            /* chunks that were seen, not weighted */
    double chunks_variance; /* of the estimates, if sampled */
    double bytes_variance;
    double lives;      /* sum of lifetimes */
    double byte_lives; /* of bytes times lifetimes */
    double first_birth;
    double last_death;
    uint64_t smallest;
    uint64_t largest;
    pfa_bursts_t bursts;
    pfa_lives_t burst_lives; /* of the chunks that are in them after the second walk */
    double blind;            /* chunks of code that is not instrumented: what was done with them is not seen */
    bool maybe_blind;        /* the trace does not tell which code is */
    /* Of chunks whose accesses are known: */
    double told_chunks;
    double told_bytes;
    double used_bytes; /* touched bytes of those that were both read and written */
    double touched_bytes;
    double useful;    /* sum of active life over life */
    pfa_idle_t early; /* of those that early_allocation holds for: until the first access, */
    pfa_idle_t late;  /* and late_free: since the last */
    double reads;
    double writes;
    uint64_t reach; /* the highest byte touched of any, and one */
    pfa_share_t inferred[PFA_INFERENCES];
    double inferred_variance[PFA_INFERENCES]; /* of their chunks */
    pfa_own_peak_t own_peak;
    bool top_bytes;            /* among the points with the highest own peak */
    bool top_chunks;           /* among those with most chunks */
    double scores[PFA_SCORES]; /* NaN: cannot be told */
    pfa_growth_t growth;
} pfa_memoro_point_t;

typedef struct pfa_score_total {
    double geometric; /* mean over points, with PFA_SCORE_LEAST for less */
    double mean;
    double variance;
    size_t points; /* that have this score */
    size_t least;  /* of these, counted as PFA_SCORE_LEAST */
} pfa_score_total_t;

/* What groups of a lane have in common; no two lanes share a line of the cache. */
typedef struct pfa_memoro_lane {
    size_t groups; /* of bursts */
    size_t apart[PFA_CACHE_LINE / sizeof(size_t)];
} pfa_memoro_lane_t;

typedef struct pfa_memoro {
    pfa_thresholds_t thresholds;
    double run_ns;   /* of the query, */
    double end_ns;   /* and when it ends */
    double group_ns; /* births no further apart are one group: what was asked for, or more if there are too many */
    double group_ns_asked;      /* the threshold that was asked for */
    uint32_t batch;             /* of the walk */
    bool grows;                 /* a process goes on: the second walk may have other batches than the first */
    double step_ns;             /* the coarsest step that moments are cut to, */
    double life_step_ns;        /* and that lives are: of traces of version 1 */
    pfa_memoro_point_t *points; /* by group of the query */
    size_t point_count;
    size_t point_room;
    pfa_growths_t *growths;
    _Atomic bool *linked; /* by group: realloc made or ended chunks of it */
    size_t linked_room;
    pfa_memoro_lane_t *lanes; /* PFA_LANES of them */
    pfa_sights_t sights;
    size_t
        blind_points; /* whose chunks are all of code that is not instrumented: they have no score of what was done with them */
    pfa_score_total_t totals[PFA_SCORES];
    bool has_accesses; /* of any chunk */
    bool sampled;
} pfa_memoro_t;

void pfa_memoro_begin(pfa_memoro_t *memoro, pfa_query_t *query, const pfa_thresholds_t *thresholds);
/* Of the walk (pfa_look_t), which is to tell accesses: before chunks of so many groups are told, with each kind that has some, */
void pfa_memoro_ready(pfa_memoro_t *memoro, size_t groups);
void pfa_memoro_mark(pfa_memoro_t *memoro, const pfa_kind_t *kind);
/* each chunk, by lanes; those of linked groups in order, besides; after each batch of them */
void pfa_memoro_add(pfa_memoro_t *memoro, const pfa_kind_t *kind, const pfa_chunk_t *chunk);
bool pfa_memoro_is_linked(const pfa_memoro_t *memoro, const pfa_kind_t *kind);
void pfa_memoro_add_linked(pfa_memoro_t *memoro, const pfa_kind_t *kind, const pfa_chunk_t *chunk);
void pfa_memoro_next(pfa_memoro_t *memoro);
/* and once all were added. */
void pfa_memoro_end(pfa_memoro_t *memoro);
/* Then a second walk: each chunk, by lanes; after each batch; and once all were added, which gives scores, the points' own peaks, and marks. */
void pfa_memoro_add_again(pfa_memoro_t *memoro, const pfa_kind_t *kind, const pfa_chunk_t *chunk);
void pfa_memoro_next_again(pfa_memoro_t *memoro);
void pfa_memoro_settle(pfa_memoro_t *memoro);
void pfa_memoro_free(pfa_memoro_t *memoro);

/* Whether realloc made another chunk of it, which has read it then. */
bool pfa_memoro_is_moved(const pfa_kind_t *kind);

/* While bursts of a point went on: how many of its chunks were alive at once on average, how many were allocated per second, and how
 * long they lived. The one in ten that lives longest counts as if it lived as long as the others, so that a few that stay do not
 * decide. Of sampled points the gaps between samples are not those between bursts: then it is all the time from the first birth to
 * the last. */
typedef struct pfa_churn {
    double alive;
    double per_second; /* 0: in no time that could be measured */
    double life_ns;
} pfa_churn_t;
pfa_churn_t pfa_memoro_churn(const pfa_memoro_t *memoro, const pfa_memoro_point_t *point);
/* What one in ten lives longer than, and counts as if it did not. Known after the first walk. */
double pfa_memoro_life_cap(const pfa_memoro_t *memoro, const pfa_memoro_point_t *point);
/* By which groups of a point are summed. */
pfa_burst_terms_t pfa_memoro_burst_terms(const pfa_memoro_t *memoro, const pfa_memoro_point_t *point);

/* The share of a point's chunks and of its bytes for which an inference holds, of those of which it can be told. NaN: of
 * none. */
pfa_share_t pfa_memoro_share(const pfa_memoro_point_t *point, pfa_inference_t inference);
/* Whether it is to be said of the point: of enough of its chunks or bytes, and never for a single chunk. */
bool pfa_memoro_is_flagged(const pfa_memoro_t *memoro, const pfa_memoro_point_t *point, pfa_inference_t inference);

/* The geometric mean of the scores that are known, each counted as PFA_SCORE_LEAST if it is less; NAN: none is. */
double pfa_memoro_mean(const pfa_memoro_point_t *point);
/* The paper's severity indicator: from 1, blue, for points whose scores are good, to 12, red; NAN: no score is known. Its colour is "#rrggbb". */
enum { PFA_SEVERITIES = 12 };
double pfa_memoro_severity(const pfa_memoro_point_t *point);
const char *pfa_severity_colour(unsigned severity);

pfa_thresholds_t pfa_thresholds_standard(void);

#endif
