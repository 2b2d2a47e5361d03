/* What was alive over time: bytes and chunks at the ends of equal stretches of time (buckets), in all and by group.
 *
 * A chunk is alive at t if it was allocated at t or before and freed after t. What is told at the end of a bucket is exact;
 * within it there were at most those that were alive before and all that were born in it. Chunks that are alive at the end of
 * a recording count until then: if another recording goes on, they are gone. */
#ifndef PFA_ANALYZE_TIMELINE_TIMELINE_H
#define PFA_ANALYZE_TIMELINE_TIMELINE_H

#include "analyze/points/summit.h"
#include "analyze/query/answer.h"

#include <stdio.h>

/* A group, by bucket. */
typedef struct pfa_strand {
    const char *name; /* the query's */
    bool rest;        /* all groups that have none of their own */
    double *bytes;    /* alive at the end */
    double *chunks;
    double *born; /* bytes, within it */
    double *died;
    double *variance; /* of bytes, if they are estimates */
} pfa_strand_t;

typedef enum pfa_strand_sort {
#define PFA_STRAND_ORDER(id, name, meaning) PFA_STRANDS_BY_##id,
#include "analyze/timeline/orders.def"
#undef PFA_STRAND_ORDER
    PFA_STRAND_ORDERS
} pfa_strand_sort_t;

typedef struct pfa_timeline {
    pfa_answer_t answer;
    pfa_query_t *query;
    size_t buckets;
    double whole_ns; /* all of them together */
    pfa_strand_t all;
    pfa_strand_t *strands; /* in order, the rest last; none if there is no key */
    size_t strand_count;
    size_t group_count; /* that there are */
    bool folded_groups; /* there are fewer strands than were asked for: they would not fit into memory */
    pfa_summit_result_t peak;
    double folded_chunks; /* of which no time is known */
    double folded_bytes;
} pfa_timeline_t;

typedef struct pfa_timeline_wishes {
    size_t buckets;
    size_t top; /* so many strands, and one for the rest */
    pfa_strand_sort_t sort;
} pfa_timeline_wishes_t;

/* Two walks at most. 0 or an error number, as of pfa_answer_make. */
int pfa_timeline_collect(pfa_session_t *session, const pfa_question_t *question, const pfa_timeline_wishes_t *wishes,
                         pfa_timeline_t **timeline);

/* When a bucket ends, in seconds. */
double pfa_timeline_end(const pfa_timeline_t *timeline, size_t bucket);
/* What was alive in a bucket at most. */
double pfa_timeline_most(const pfa_strand_t *strand, size_t bucket);
/* Half of the 95 % confidence interval of the bytes at its end; 0 unless they are estimates. */
double pfa_timeline_error(const pfa_strand_t *strand, size_t bucket);

/* What is missing and remarks go to `notes`, unless it is NULL. 0 or an error number, as of pfa_answer_write.
 * (analyze/timeline/timeline_data.c) */
int pfa_timeline_csv(pfa_timeline_t *timeline, FILE *to, FILE *notes);
int pfa_timeline_json(pfa_timeline_t *timeline, FILE *to);

#endif
