/* mprof's four tables (Zorn and Hilfinger, "A Memory Allocation Profiler for C and Lisp Programs", 1988) of what a query asks
 * for: memory leaks, allocation bins, direct allocation, and the allocation call graph.
 *
 *   kept   never freed
 *   bin    a size up to 1024 bytes; one more for all larger ones
 *   path   the last five functions of a call chain
 *   group  with --by: what takes the place of paths and functions in the tables of leaks and direct allocation
 *
 * Chunks are summed by stack, size and group while the trace is read (collect.c); tables are made of those sums. */
#ifndef PFA_ANALYZE_MPROF_MPROF_H
#define PFA_ANALYZE_MPROF_MPROF_H

#include "analyze/base/slots.h"
#include "analyze/mprof/callgraph.h"
#include "analyze/mprof/functions.h"
#include "analyze/names/types.h"
#include "analyze/query/answer.h"

#include <stdio.h>

enum { PFA_BIN_LARGEST = 1024, PFA_BINS = PFA_BIN_LARGEST + 2, PFA_PATH_LONGEST = 5 };

typedef enum pfa_verbosity { PFA_TERSE, PFA_NORMAL, PFA_VERBOSE } pfa_verbosity_t;

/* What a row's number is. */
typedef enum pfa_naming {
    PFA_NAMED_STACK,
    PFA_NAMED_SIZE,
    PFA_NAMED_PATH,
    PFA_NAMED_FUNCTION,
    PFA_NAMED_GROUP
} pfa_naming_t;

typedef struct pfa_mprof_row {
    pfa_sum_t all;
    pfa_sum_t kept;
    uint32_t what; /* a stack, a bin, a path, a function or a group */
} pfa_mprof_row_t;

typedef struct pfa_mprof_table {
    pfa_naming_t naming;
    pfa_mprof_row_t *rows;
    size_t count;
    size_t room;
} pfa_mprof_table_t;

typedef struct pfa_mprof_path {
    uint32_t functions[PFA_PATH_LONGEST]; /* the innermost first */
    uint32_t offsets[PFA_PATH_LONGEST];   /* of call sites; zeros if they are not told apart */
    uint32_t count;
    bool more; /* there were more callers */
} pfa_mprof_path_t;

/* What the command line asks for. */
typedef struct pfa_mprof_options {
    pfa_verbosity_t verbosity;
    bool leak_table;
    bool offsets; /* call sites are told apart in it */
    size_t top;   /* rows of a table as text, at most */
    pfa_sort_t sort;
} pfa_mprof_options_t;

typedef struct pfa_mprof {
    pfa_answer_t answer;
    pfa_mprof_options_t options;
    pfa_query_t *query;

    /* What is collected, by number. */
    pfa_mprof_table_t by_stack; /* in the order they were met */
    uint32_t *point_of;         /* by stack: 1 and its place there */
    size_t point_of_room;
    pfa_mprof_table_t by_size;   /* PFA_BINS of them */
    pfa_mprof_table_t by_path;   /* unless there is a key */
    pfa_mprof_table_t by_caller; /* the function that allocates, or the group */
    pfa_mprof_row_t total;
    pfa_mprof_row_t bin_total;
    double folded; /* deaths that are known in sums only: they are in no bin */
    double folded_bytes;

    pfa_mprof_path_t *paths;
    size_t path_count;
    size_t path_room;
    pfa_slots_t path_slots;
    pfa_functions_t functions;
    pfa_callgraph_t graph;

    bool wanted[PFA_BINS]; /* bins that have types */
    pfa_types_t types;
    const char **modules; /* paths of those that are on chains */
    size_t module_count;
    size_t module_room;

    /* What is told, in order; made last. */
    pfa_mprof_table_t leaks; /* that kept something */
    pfa_mprof_table_t bins;
    pfa_mprof_table_t direct;
} pfa_mprof_t;

/* All tables. 0 or an error number, as of pfa_answer_make. */
int pfa_mprof_collect(pfa_session_t *session, const pfa_question_t *question, const pfa_mprof_options_t *options,
                      pfa_mprof_t **mprof);
/* 0 or an error number, as of pfa_answer_write. */
int pfa_mprof_text(pfa_mprof_t *mprof, FILE *to);
int pfa_mprof_json(pfa_mprof_t *mprof, FILE *to);

/* A row of a table in which they stand by their numbers, made if there was none. (analyze/mprof/tables.c) */
pfa_mprof_row_t *pfa_mprof_row(pfa_mprof_table_t *table, uint32_t what);
void pfa_mprof_row_join(pfa_mprof_row_t *row, const pfa_mprof_row_t *more);
/* Makes those that are told. */
void pfa_mprof_tables_finish(pfa_mprof_t *mprof);

/* The number of a chain's path. (analyze/mprof/paths.c) */
uint32_t pfa_mprof_path_of(pfa_mprof_t *mprof, const pfa_callchain_t *chain);
/* By the names of their functions, the innermost first. */
int pfa_mprof_paths_compare(const pfa_mprof_t *mprof, uint32_t one, uint32_t other);

static inline uint32_t pfa_mprof_bin_of(uint64_t size)
{
    return size <= PFA_BIN_LARGEST ? (uint32_t)size : PFA_BIN_LARGEST + 1;
}

/* Types are looked for in the modules of the functions of chains: not in those that do no more than start the program.
 * (analyze/mprof/bins.c) */
void pfa_mprof_bins_see(pfa_mprof_t *mprof, const pfa_callchain_t *chain);
void pfa_mprof_bins_finish(pfa_mprof_t *mprof);

/* Whether a part of a whole is large enough to be listed at this verbosity. */
bool pfa_mprof_is_listed(const pfa_mprof_t *mprof, double part, double whole);
bool pfa_mprof_bin_is_listed(const pfa_mprof_t *mprof, const pfa_mprof_row_t *bin);

/* A part of it. (analyze/mprof/graph_text.c) */
void pfa_callgraph_text(FILE *to, const pfa_mprof_t *mprof);

/* Percentages as the tables have them: see analyze/mprof/percent.c. */
enum { PFA_PERCENT_TEXT = 16, PFA_BREAKDOWN_TEXT = 16 };
const char *pfa_mprof_percent_short(char text[PFA_PERCENT_TEXT], double part, double whole);
const char *pfa_mprof_percent_long(char text[PFA_PERCENT_TEXT], double part, double whole);
const char *pfa_mprof_percent_breakdown(char text[PFA_BREAKDOWN_TEXT], const pfa_sum_t *sum, double whole);
/* A column behind bytes that are estimates: half the width of their 95 % confidence interval, in percent of them; "" in a
 * trace that is not sampled, where there is no such column. And the head of it; a column without a figure. */
const char *pfa_mprof_within(const pfa_mprof_t *mprof, char text[PFA_PERCENT_TEXT], const pfa_sum_t *sum);
const char *pfa_mprof_within_head(const pfa_mprof_t *mprof);
const char *pfa_mprof_within_none(const pfa_mprof_t *mprof);
/* 100 * part / whole, and 0 of nothing. */
double pfa_mprof_percent_of(double part, double whole);
/* A function's name, with its module where that is needed to tell it from another. */
void pfa_function_text(FILE *to, const pfa_functions_t *functions, uint32_t function);

#endif
