/* What is left of a run for comparing it with others: totals, and the sums of each allocation point, which are called by their
 * identity (analyze/names/identity.h), not by addresses. It is made of traces, or read from a file that such a summary was saved
 * to (docs/gate.md tells its form). Memory grows with allocation points. */
#ifndef PFA_ANALYZE_DIFF_SUMMARY_H
#define PFA_ANALYZE_DIFF_SUMMARY_H

#include "analyze/base/notes.h"
#include "analyze/diff/index.h"
#include "analyze/points/memoro.h"
#include "analyze/query/answer.h"

#include <stdio.h>

typedef enum pfa_diff_metric {
#define PFA_DIFF_METRIC(name, is_bytes, flows, label) PFA_DIFF_METRIC_##name,
#include "analyze/diff/metrics.def"
#undef PFA_DIFF_METRIC
    PFA_DIFF_METRICS
} pfa_diff_metric_t;

typedef struct pfa_diff_metric_facts {
    const char *name;
    const char *label;
    bool is_bytes;
    bool flows;
} pfa_diff_metric_facts_t;

extern const pfa_diff_metric_facts_t pfa_diff_metrics[PFA_DIFF_METRICS];
/* PFA_DIFF_METRICS: there is none of this name. */
pfa_diff_metric_t pfa_diff_metric_find(const char *name);

typedef struct pfa_sums {
    double values[PFA_DIFF_METRICS];
    double variances[PFA_DIFF_METRICS]; /* of the values as estimates; 0 unless sampled */
    double unseen[PFA_DIFF_METRICS];    /* what these would be on the other side of a comparison, as that was sampled */
    /* Memoro's scores times the chunks that have them, and these chunks: means can be added up so. Of totals, the geometric mean
     * over all points, and 1. */
    double scored[PFA_SCORES];
    double scored_chunks[PFA_SCORES];
    double leaked; /* bytes of a leak that `profalloc leaks --fail` counts; 0 where it was not asked */
} pfa_sums_t;

/* NaN: not known. */
double pfa_sums_score(const pfa_sums_t *sums, pfa_score_t score);
void pfa_sums_add(pfa_sums_t *to, const pfa_sums_t *sums);

/* Chunks of a point whose sizes are in one class (as in analyze/points/report.h): how unsure their sums would be, had they been
 * sampled otherwise, depends on these alone. */
typedef struct pfa_size_sum {
    uint32_t metric; /* which chunks, by the metric of their bytes */
    uint32_t class;
    double chunks;
    double bytes;
} pfa_size_sum_t;

typedef struct pfa_summary_point {
    uint64_t identity;
    uint64_t kin;        /* its looser name; 0: none */
    const char *name;    /* in few words */
    pfa_lines_t lines;   /* of the largest of its stacks; none if points are not told apart by stack */
    pfa_symbol_t *named; /* what the lines point to */
    uint32_t stacks;     /* with this identity */
    uint64_t *places;    /* of these stacks, as far as they are known (pfa_identity_of_places) */
    size_t place_count;
    size_t place_room;
    pfa_sums_t sums;
    pfa_size_sum_t *sizes;
    size_t size_count;
    size_t size_room;
} pfa_summary_point_t;

typedef struct pfa_summary {
    const char *by;
    const char *where; /* as it was written; "": all chunks, */
    uint64_t asked;    /* and what it asks, by pfa_where_identity; 0: all chunks */
    pfa_notes_t files;
    pfa_notes_t notes;   /* what is missing and what is good to know */
    pfa_notes_t missing; /* of these, what is missing; of a run that was saved one sentence, that something was */
    bool complete;
    double seconds;
    double sample; /* mean bytes between samples; 1: every chunk */
    pfa_sums_t totals;
    pfa_summary_point_t *points; /* the one with most bytes first, unless a file says otherwise */
    size_t count;
    size_t room;
    pfa_index_t index; /* by identity */
} pfa_summary_t;

/* Of one run's traces, by a question; with what leaks says of them if that is asked for, which takes another walk. Texts are kept in
 * `texts`. 0 or an error number, as of pfa_answer_make; also if one of the traces cannot be read. */
int pfa_summary_collect(pfa_summary_t *summary, pfa_session_t *session, const pfa_question_t *question, bool with_leaks,
                        pfa_symbols_t *texts);
void pfa_summary_free(pfa_summary_t *summary);
/* A point with nothing in it, or the one of this identity. */
pfa_summary_point_t *pfa_summary_put(pfa_summary_t *summary, uint64_t identity, bool *is_new);
/* Adds chunks of a class of sizes to those of a point. False: there were some before. */
bool pfa_summary_add_sizes(pfa_summary_point_t *point, const pfa_size_sum_t *sizes);
/* The variances that a point's values would have if samples were taken at this mean distance. */
void pfa_summary_variances(const pfa_summary_point_t *point, double sample, double variances[PFA_DIFF_METRICS]);
/* Adds the places of a stack to a point; 0 is none. */
void pfa_summary_add_places(pfa_summary_point_t *point, uint64_t places);
/* Gives a point its lines, copied. */
void pfa_summary_set_lines(pfa_summary_point_t *point, const pfa_lines_t *lines, pfa_symbols_t *texts);

/* Runs as a file. (analyze/diff/summary_write.c, analyze/diff/summary_read.c) */
#define PFA_SUMMARY_MAGIC "profalloc-summary"
enum { PFA_SUMMARY_VERSION = 2 };
/* Whether a file begins as one. */
bool pfa_summary_is_file(int fd);
/* 0 or an error number. The second takes memory, so it is called within work. */
int pfa_summary_save(FILE *to, const pfa_summary_t *runs, size_t count);
int pfa_summary_write(const char *path, const pfa_summary_t *runs, size_t count);
/* Adds the runs of a file to a list, by a descriptor of it; -1: it is opened. False: *why says what is wrong and in which line; the caller
 * frees it. */
bool pfa_summary_read(const char *path, int fd, pfa_summary_t **runs, size_t *count, size_t *room, pfa_symbols_t *texts,
                      char **why);

#endif
