/* What a report tells, collected from one or several traces: totals, allocation points, the peak, sizes, threads. */
#ifndef PFA_ANALYZE_REPORT_H
#define PFA_ANALYZE_REPORT_H

#include "analyze/peak.h"
#include "analyze/stacks.h"
#include "analyze/tally.h"
#include "analyze/together.h"

/* All chunks with the same allocation stack. */
typedef struct pfa_point {
    uint32_t stack; /* in stacks */
    double frees;
    double bytes_freed;
    double live_chunks;
    double live_bytes;
    double peak_chunks; /* of those that were alive at the peak */
    double peak_bytes;
} pfa_point_t;

typedef enum pfa_order { PFA_BY_BYTES, PFA_BY_COUNT, PFA_BY_PEAK, PFA_BY_LIVE, PFA_ORDERS } pfa_order_t;

enum { PFA_SIZES = 50 };
/* Chunks of 0 bytes, of 1, of 2 to 3, of 4 to 7, ...; folded ones are in none. */
typedef struct pfa_size_class {
    double chunks;
    double bytes;
} pfa_size_class_t;

typedef struct pfa_thread_total {
    uint32_t file; /* in files */
    uint32_t number;
    uint32_t tid;
    char name[16];
    double allocations;
    double bytes;
    double frees;
} pfa_thread_total_t;

typedef struct pfa_file_total {
    char *path;
    char *program;
    char *command;
    uint32_t pid;
    uint32_t parent_pid;
    bool forked;
    uint64_t unix_ns;
    uint64_t sample;
    uint64_t last_time;
    double seconds; /* from the start to the last that is known */
    const char *end;
    pfa_tally_t tally;
    pfa_peak_result_t peak;
    double peak_seconds;
    uint64_t counted_peak; /* by the library; 0: it did not say */
    uint64_t folded;
    pfa_notes_t missing;
    pfa_notes_t remarks;
} pfa_file_total_t;

typedef struct pfa_report {
    pfa_symbols_t *symbols;
    pfa_stacks_t stacks;
    pfa_tally_t tally;
    pfa_point_t *points;
    size_t point_count;
    size_t point_room;
    uint32_t *point_of; /* by stack; 0 none, else the point's number and one */
    size_t point_of_room;
    pfa_size_class_t sizes[PFA_SIZES];
    pfa_thread_total_t *threads;
    size_t thread_count;
    size_t thread_room;
    pfa_file_total_t *files;
    size_t file_count;
    size_t file_room;
    pfa_together_t *together;   /* of several traces, if their times can be compared; else NULL */
    pfa_peak_result_t all_peak; /* then: of all of them */
    pfa_notes_t unread;         /* files that were given and are not in this */
    pfa_notes_t remarks;
} pfa_report_t;

void pfa_report_begin(pfa_report_t *report);
void pfa_report_free(pfa_report_t *report);
/* Begins a report of all these files, each recording once. What cannot be read is said and left out, there may be no file at
 * all; the exit status tells. (analyze/report_files.c) */
int pfa_report_files(pfa_report_t *report, char **paths, size_t count);
/* Adds a trace. 0 or an error number: it could no longer be read. */
int pfa_report_add(pfa_report_t *report, pfa_trace_t *trace);
/* Where there is a peak of all together, walks through the trace of this number again: to find it, if it takes two walks, and
 * to tell which chunks were alive then. */
int pfa_report_add_again(pfa_report_t *report, pfa_trace_t *trace, size_t number);
int pfa_report_add_at_peak(pfa_report_t *report, pfa_trace_t *trace, size_t number);
/* The numbers of all points, the greatest first; the caller frees them. */
uint32_t *pfa_report_order(const pfa_report_t *report, pfa_order_t order);
double pfa_point_value(const pfa_point_t *point, pfa_order_t order);
/* The only file's, that of all together, or, if that is not known, the sum of all files' peaks. */
pfa_peak_result_t pfa_report_peak(const pfa_report_t *report);
/* When it was, in seconds since the first trace began. */
double pfa_report_peak_seconds(const pfa_report_t *report);
/* Whether there is such a time: of a sum there is none. */
bool pfa_report_peak_is_one(const pfa_report_t *report);
/* Whether the file's process goes on, so that each walk saw another moment of it. */
bool pfa_file_is_running(const pfa_file_total_t *file);
bool pfa_report_is_running(const pfa_report_t *report);
bool pfa_report_complete(const pfa_report_t *report);

void pfa_report_text(pfa_report_t *report, size_t top, const pfa_order_t *orders, size_t order_count);
void pfa_report_json(pfa_report_t *report, size_t top, pfa_order_t order);
/* A few lines on standard error, for `profalloc run`. */
void pfa_report_summary(pfa_report_t *report);

#endif
