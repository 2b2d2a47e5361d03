/* mprof's four tables (Zorn and Hilfinger, "A Memory Allocation Profiler for C and Lisp Programs", 1988) of what a query asks
 * for: memory leaks, allocation bins, direct allocation, and the allocation call graph.
 *
 *   kept   never freed
 *   bin    a size up to 1024 bytes; one more for all larger ones
 *   path   the last five functions of a call chain
 *
 * Chunks are summed by stack while the trace is read (collect.c); tables are made of those sums. */
#ifndef PFA_ANALYZE_MPROF_MPROF_H
#define PFA_ANALYZE_MPROF_MPROF_H

#include "analyze/mprof/callgraph.h"
#include "analyze/mprof/functions.h"
#include "analyze/names/types.h"
#include "analyze/query/query.h"

enum { PFA_BIN_LARGEST = 1024, PFA_BINS = PFA_BIN_LARGEST + 2, PFA_PATH_LONGEST = 5 };

typedef enum pfa_verbosity { PFA_TERSE, PFA_NORMAL, PFA_VERBOSE } pfa_verbosity_t;

/* Of one stack. */
typedef struct pfa_mprof_point {
    pfa_sum_t all;
    pfa_sum_t kept;
    uint32_t stack;
} pfa_mprof_point_t;

typedef struct pfa_mprof_bin {
    double allocs;
    double bytes;
    double frees;
    double kept; /* bytes */
} pfa_mprof_bin_t;

/* All stacks that end in the same path. */
typedef struct pfa_mprof_leak {
    pfa_sum_t all;
    pfa_sum_t kept;
    uint32_t functions[PFA_PATH_LONGEST]; /* the innermost first */
    uint32_t offsets[PFA_PATH_LONGEST];   /* of call sites; zeros if they are not told apart */
    uint32_t count;
    bool more; /* there were more callers */
} pfa_mprof_leak_t;

/* Variances of estimates from samples. */
typedef struct pfa_mprof_spread {
    double chunks;
    double bytes;
    double kept;
} pfa_mprof_spread_t;

/* What the command line asks for. */
typedef struct pfa_mprof_options {
    pfa_verbosity_t verbosity;
    bool leak_table;
    bool offsets; /* call sites are told apart in it */
    size_t top;   /* rows of a table as text, at most */
} pfa_mprof_options_t;

typedef struct pfa_mprof {
    pfa_mprof_options_t options;

    pfa_mprof_point_t *points;
    size_t point_count;
    size_t point_room;
    uint32_t *point_of; /* by stack: 1 and the number of its point */
    size_t point_of_room;
    pfa_sum_t all;
    pfa_sum_t kept;
    pfa_mprof_spread_t spread;
    double folded; /* deaths that are known in sums only: they are in no bin */
    double folded_bytes;

    pfa_mprof_bin_t bins[PFA_BINS];
    pfa_mprof_bin_t bin_total;
    bool wanted[PFA_BINS]; /* bins that have types */
    pfa_types_t types;
    const char **modules; /* paths of those that are on chains */
    size_t module_count;
    size_t module_room;

    pfa_functions_t functions;
    pfa_callgraph_t graph;
    pfa_mprof_leak_t *leaks; /* once tables are made: those that kept something, by falling bytes kept */
    size_t leak_count;
    size_t leak_room;
    uint32_t *leak_slots;
    size_t leak_slot_count;
    pfa_sum_t *direct_kept; /* by function */
    size_t direct_kept_room;
    uint32_t *direct; /* functions that allocate, by falling bytes */
    size_t direct_count;
} pfa_mprof_t;

void pfa_mprof_begin(pfa_mprof_t *mprof, const pfa_mprof_options_t *options);
void pfa_mprof_free(pfa_mprof_t *mprof);

/* What walks through traces call, with a pfa_mprof_t. (analyze/mprof/collect.c) */
void pfa_mprof_kind(void *to, const pfa_kind_t *kind, double rows);
void pfa_mprof_fold(void *to, const pfa_source_t *source, uint32_t stack, uint32_t group, double chunks, double bytes);
/* Makes all tables of what was collected. */
void pfa_mprof_make(pfa_mprof_t *mprof, pfa_query_t *query);

/* One stack more for the table of leaks; and its end. (analyze/mprof/leaks.c) */
void pfa_mprof_leaks_add(pfa_mprof_t *mprof, const pfa_callchain_t *chain, const pfa_mprof_point_t *point);
void pfa_mprof_leaks_finish(pfa_mprof_t *mprof);
/* (analyze/mprof/direct.c) */
void pfa_mprof_direct_add(pfa_mprof_t *mprof, const pfa_callchain_t *chain, const pfa_mprof_point_t *point);
void pfa_mprof_direct_finish(pfa_mprof_t *mprof);
/* (analyze/mprof/bins.c) */
void pfa_mprof_bins_add(pfa_mprof_t *mprof, double chunks, uint64_t size, bool live);
/* Types are looked for in the modules of the functions of chains: not in those that do no more than start the program. */
void pfa_mprof_bins_see(pfa_mprof_t *mprof, const pfa_callchain_t *chain);
void pfa_mprof_bins_finish(pfa_mprof_t *mprof, pfa_query_t *query);

/* Whether a part of a whole is large enough to be listed at this verbosity. */
bool pfa_mprof_is_listed(const pfa_mprof_t *mprof, double part, double whole);
bool pfa_mprof_bin_is_listed(const pfa_mprof_t *mprof, const pfa_mprof_bin_t *bin);

void pfa_mprof_text(const pfa_mprof_t *mprof, pfa_query_t *query);
void pfa_mprof_json(const pfa_mprof_t *mprof, pfa_query_t *query);
/* The parts of it. */
void pfa_mprof_leaks_text(const pfa_mprof_t *mprof);
void pfa_mprof_bins_text(const pfa_mprof_t *mprof);
void pfa_mprof_direct_text(const pfa_mprof_t *mprof);
void pfa_callgraph_text(const pfa_mprof_t *mprof);

/* Percentages as the tables have them: see analyze/mprof/percent.c. */
enum { PFA_PERCENT_TEXT = 16, PFA_BREAKDOWN_TEXT = 16 };
const char *pfa_mprof_percent_short(char text[PFA_PERCENT_TEXT], double part, double whole);
const char *pfa_mprof_percent_long(char text[PFA_PERCENT_TEXT], double part, double whole);
const char *pfa_mprof_percent_breakdown(char text[PFA_BREAKDOWN_TEXT], const pfa_sum_t *sum, double whole);
/* 100 * part / whole, and 0 of nothing. */
double pfa_mprof_percent_of(double part, double whole);
/* A function's name, with its module where that is needed to tell it from another. */
void pfa_function_text(FILE *to, const pfa_functions_t *functions, uint32_t function);

#endif
