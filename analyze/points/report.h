/* What a report tells, collected from one or several traces: totals, allocation points, the peak, sizes, threads, and what was
 * done with the chunks. */
#ifndef PFA_ANALYZE_POINTS_REPORT_H
#define PFA_ANALYZE_POINTS_REPORT_H

#include "analyze/base/json.h"
#include "analyze/points/access.h"
#include "analyze/points/at_peak.h"
#include "analyze/points/copying.h"
#include "analyze/points/custom_score.h"
#include "analyze/points/memoro.h"
#include "analyze/points/spent.h"
#include "analyze/points/summit.h"
#include "analyze/query/answer.h"

#include <stdio.h>

/* All chunks of one group of the query: mostly, those with the same allocation stack. */
typedef struct pfa_point {
    double frees;
    double bytes_freed;
    double live_chunks;
    double live_bytes;
    double peak_chunks; /* of those that were alive at the peak */
    double peak_bytes;
    /* Of these estimates, if sampled: */
    double chunks_variance;
    double bytes_variance;
    double live_variance; /* of live bytes, */
    double peak_variance; /* and of those at the peak */
    double live_chunks_variance;
    double peak_chunks_variance;
    pfa_estimate_t kept;              /* bytes at the peak that nobody freed until the end */
    double outgrown;                  /* bytes at the peak of buffers that were just being copied to larger ones */
    pfa_estimate_t spare[PFA_SPARES]; /* bytes at the peak that need not have been there */
    /* Of these, what would save nothing, since there is a peak almost as high at another moment; 0 where that is not looked at.
     * (analyze/advise/savings.c) */
    double needed_elsewhere[PFA_SPARES];
    uint64_t largest; /* size that was asked for */
} pfa_point_t;

/* Beyond these are the custom scores, in their order. */
typedef enum pfa_order {
#define PFA_ORDER(name, option, title, kind, value) PFA_BY_##name,
#include "analyze/points/orders.def"
#undef PFA_ORDER
    PFA_ORDERS
} pfa_order_t;
extern const char *const pfa_order_names[PFA_ORDERS];
typedef enum pfa_order_kind { PFA_ORDER_AMOUNT, PFA_ORDER_SCORE, PFA_ORDER_STEP } pfa_order_kind_t;

enum { PFA_SIZES = 50 };
/* Chunks of 0 bytes, of 1, of 2 to 3, of 4 to 7, ...; folded ones are in none. */
typedef struct pfa_size_class {
    double chunks;
    double bytes;
} pfa_size_class_t;

/* The chunks of one point by size: all of them, those at the peak, and those that are live. */
typedef enum pfa_sized { PFA_SIZED_ALL, PFA_SIZED_PEAK, PFA_SIZED_LIVE, PFA_SIZED } pfa_sized_t;

typedef struct pfa_point_sizes {
    pfa_size_class_t of[PFA_SIZED][PFA_SIZES];
} pfa_point_sizes_t;

typedef struct pfa_thread_total {
    uint32_t file; /* in files */
    uint32_t number;
    uint32_t tid;
    char name[16];
    double allocations;
    double bytes;
    double frees;
} pfa_thread_total_t;

/* Of a source of the query, and its number. */
typedef struct pfa_file_total {
    pfa_tally_t tally; /* of the chunks that were asked for */
    pfa_peak_result_t peak;
    double peak_seconds;
} pfa_file_total_t;

typedef struct pfa_report {
    pfa_answer_t answer;
    pfa_query_t *query;
    pfa_tally_t tally;   /* of all files */
    pfa_point_t *points; /* by group of the query */
    size_t point_count;
    size_t point_room;
    bool has_accesses;            /* of any file */
    bool unseen_code;             /* of any file: code that is not instrumented may have used chunks, besides libc */
    pfa_access_total_t *accesses; /* by point, as far as there is room: of the others nothing is known */
    size_t access_room;
    pfa_map_t *maps; /* by point, likewise */
    size_t map_room;
    bool maps_are_merged; /* some of them have words that were only between others */
    pfa_memoro_t memoro;  /* scores and inferences */
    pfa_size_class_t sizes[PFA_SIZES];
    bool wants_point_sizes;
    pfa_point_sizes_t *point_sizes; /* then: by point, as far as there is room */
    size_t point_sizes_room;
    pfa_copying_t copying;
    pfa_formula_t **formulas; /* of custom scores */
    size_t formula_count;
    struct pfa_kept *kept; /* for analyze/advise: by point, as far as there is room */
    size_t kept_room;
    pfa_thread_total_t *threads;
    size_t thread_count;
    size_t thread_room;
    pfa_file_total_t *files; /* by source */
    size_t file_count;
    pfa_summit_t *summit;
    pfa_summit_result_t peak; /* of all of them */
} pfa_report_t;

typedef struct pfa_points_options {
    pfa_thresholds_t thresholds;
    bool sizes;                /* of each point, too */
    const char *const *scores; /* custom ones (analyze/points/custom_score.h) */
    size_t score_count;
} pfa_points_options_t;

/* What another analysis takes of the last walk, the one after the peak and the totals of points are known. */
typedef struct pfa_points_beside {
    const pfa_look_t *(*begin)(void *to,
                               pfa_report_t *report); /* NULL: nothing; may be called again, if a walk failed */
    void *to;
} pfa_points_beside_t;

/* The points of the chunks that a question asks for. 0 or an error number, as of pfa_answer_make. */
int pfa_points_collect(pfa_session_t *session, const pfa_question_t *question, const pfa_points_options_t *options,
                       pfa_report_t **report);
/* The same in the arena of the caller, of a query that it has opened, into a report that is all zeros. 0, or an error number; on any, what
 * was collected is to be forgotten. `beside` may be NULL. */
int pfa_points_fill(pfa_report_t *report, pfa_query_t *query, const pfa_points_options_t *options,
                    const pfa_points_beside_t *beside);
/* All that was collected. */
void pfa_points_forget(pfa_report_t *report);
/* The point of a group of the query, new ones with zeros. */
pfa_point_t *pfa_report_point(pfa_report_t *report, uint32_t group);
/* So many chunks of a kind, by size, if sizes are asked for: of a group that there is room for. */
void pfa_report_add_size(pfa_report_t *report, const pfa_kind_t *kind, pfa_sized_t which, double chunks);
/* The sum of all points. */
pfa_point_t pfa_report_sum(const pfa_report_t *report);
/* The numbers of all points, the greatest first; the caller frees them. */
uint32_t *pfa_report_order(const pfa_report_t *report, pfa_order_t order);
/* What an order is called for people, and how it is told. */
const char *pfa_report_order_title(const pfa_report_t *report, pfa_order_t order);
pfa_order_kind_t pfa_report_order_kind(pfa_order_t order);
/* The order of this name, of points or of custom scores; PFA_ORDERS and the number of custom scores: there is none. */
pfa_order_t pfa_report_order_find(const pfa_report_t *report, const char *name);
/* The value of a point; NAN: not known. */
double pfa_report_value(const pfa_report_t *report, uint32_t number, pfa_order_t order);
/* So many of the first of a list are told: amounts above 0, and scores that are known. */
bool pfa_report_is_told(const pfa_report_t *report, uint32_t number, pfa_order_t order);
/* What it is called: with --where it is that of the chunks that were asked for. */
const char *pfa_report_peak_words(const pfa_report_t *report);
/* The time that a file's process, or those of all files, spent in allocation routines; false: that is not known, or not
 * what is asked for, since it is not known by chunk. */
bool pfa_report_file_spent(const pfa_report_t *report, size_t number, pfa_spent_t *spent);
bool pfa_report_spent(const pfa_report_t *report, pfa_spent_t *spent);
/* Whether a file's process goes on, so that each walk saw another moment of it. */
bool pfa_report_is_running(const pfa_report_t *report);

/* Of the point of this number: its accesses, and how often each of its words was touched (NULL if not known), of which so
 * many lie in the largest chunk. */
const pfa_access_total_t *pfa_report_access(const pfa_report_t *report, uint32_t number);
const pfa_map_t *pfa_report_map(const pfa_report_t *report, uint32_t number);
uint32_t pfa_report_map_words(const pfa_report_t *report, uint32_t number);
pfa_access_total_t pfa_report_all_accesses(const pfa_report_t *report);
/* Of so many chunks, those whose accesses are not in the total. */
double pfa_access_unknown(const pfa_access_total_t *total, double chunks);

/* What is said of maps_are_merged. */
#define PFA_MERGED_WHAT "parts of the program were built with a Clang pass that joins accesses to ranges"
#define PFA_MERGED_WORDS "maps may tell words as touched that lie between those that were"
#define PFA_MERGED_HELP "build with PROFALLOC_PASS=map"

/* Members of an object: a point; half the widths of the 95 % confidence intervals of what a point is told with, of estimates; and sums of
 * accesses of so many chunks. (analyze/points/point_json.c) */
void pfa_point_json(pfa_json_t *json, pfa_report_t *report, uint32_t number);
void pfa_point_within_json(pfa_json_t *json, const pfa_point_t *point);
void pfa_access_total_json(pfa_json_t *json, const pfa_access_total_t *total, double chunks);
/* The same in all runs: of its stack. */
uint64_t pfa_report_point_hash(const pfa_report_t *report, uint32_t number);
/* A point in few words. */
void pfa_report_place(FILE *to, pfa_report_t *report, uint32_t number);
#endif
