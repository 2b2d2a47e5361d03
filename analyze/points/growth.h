/* Runs of growing chunks: a buffer that is too small, its larger successor, and so on. A chunk is the successor of one that
 * died if it is larger, the same thread freed the one and allocated the other, and
 *   - realloc made the one into the other, or
 *   - they are of the same point, it is larger by a fifth at least, and the one was freed right after the other was allocated: the
 *     first death of this point after that birth (allocate, copy, free: std::vector), or
 *   - likewise, and the other was allocated right after the one was freed.
 * "Right" is GAP_NS, and what times are cut to, and, for copying, a nanosecond for each byte. Within a step of cut times that says
 * little; but sums of cut times are right: if successors were alive together with the ones before for most of their lives,
 * taken together, they are no successors, and the point has no runs. Nor has it if sizes go down nearly as often as up.
 * A run is told of the point where it got as long as asked for.
 * Chunks come in about the order of their deaths, so a chunk's predecessor was seen before it, and was among the last that died
 * there: what is kept is these. Runs whose predecessors are forgotten by then are told as shorter than they were. */
#ifndef PFA_ANALYZE_POINTS_GROWTH_H
#define PFA_ANALYZE_POINTS_GROWTH_H

#include "analyze/query/query.h"

/* A successor is larger by this. */
#define PFA_GROWTH_LEAST 1.2

enum { PFA_RUN_SIZES = 16, PFA_RUN_POINTS = 8, PFA_RUN_RECENT = 16, PFA_RUN_CLASSES = 256 };

/* A run that goes on. */
typedef struct pfa_run {
    uint32_t length;
    bool by_realloc;  /* all steps were */
    double bytes;     /* of all its chunks */
    uint32_t owner;   /* the point that it is told of */
    uint32_t group;   /* of the last one, */
    uint32_t members; /* and how many it is the last of that are of the same group one behind the other */
    double member_bytes;
    uint32_t points[PFA_RUN_POINTS]; /* that its chunks are of: the first ones met */
    uint32_t point_count;
    uint64_t sizes[PFA_RUN_SIZES]; /* the first ones, and in the last place the last */
} pfa_run_t;

/* The last that died, in a ring; what is looked at first lies together. */
typedef struct pfa_ended {
    double died[PFA_RUN_RECENT]; /* 0: none, or one that has a successor */
    uint64_t sizes[PFA_RUN_RECENT];
    uint32_t threads[PFA_RUN_RECENT]; /* source and thread */
    pfa_run_t *runs[PFA_RUN_RECENT];  /* NULL: it is not the end of one */
    uint32_t next;
    uint32_t run_count;
} pfa_ended_t;

/* Of an allocation point. */
typedef struct pfa_growth {
    uint64_t smallest;  /* size so far; 0: none */
    uint64_t last_size; /* that died */
    double ups;         /* steps of sizes, in the order of deaths */
    double downs;
    double realloc_steps;     /* of runs */
    double copied_by_realloc; /* of `copied` */
    pfa_ended_t ended;
    double runs;   /* of at least as many chunks as asked for */
    double chunks; /* of these runs, of whatever point, */
    double bytes;
    double own_chunks; /* and of this one: realloc goes from point to point */
    double own_bytes;
    double copied;  /* bytes of all but the last of each */
    double overlap; /* of steps that were not made by realloc: how long both were alive, */
    double lives;   /* and how long the later one was */
    pfa_run_t longest;
    double *finals; /* runs by their last size: PFA_RUN_CLASSES of them, four to a power of two; NULL: none yet */
    double final_most;
} pfa_growth_t;

typedef struct pfa_growths pfa_growths_t;

typedef pfa_growth_t *pfa_growth_find_t(void *to, uint32_t group);

/* For runs of at least so many chunks; `find` gives the growth of a point. */
pfa_growths_t *pfa_growths_new(uint32_t least, pfa_growth_find_t *find, void *to);
void pfa_growths_free(pfa_growths_t *growths);
void pfa_growths_add(pfa_growths_t *growths, pfa_growth_t *growth, const pfa_kind_t *kind, const pfa_chunk_t *chunk);
/* Once all chunks were added: runs that were still open are ended, those of each point, then those between points; then each
 * point is judged. */
void pfa_growth_flush(pfa_growths_t *growths, pfa_growth_t *growth);
void pfa_growths_end(pfa_growths_t *growths);
void pfa_growth_judge(pfa_growth_t *growth);
void pfa_growth_free(pfa_growth_t *growth);
/* What "right after" may be in a trace, besides the copying. */
double pfa_growth_gap(const pfa_source_t *source);
/* The size that this share of runs did not outgrow. */
double pfa_growth_final(const pfa_growth_t *growth, double share);

#endif
