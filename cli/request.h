/* The command line that all analyses share: which chunks (--where), told apart by what (--by), in which order (--sort), how many
 * (--top), for whom (--json). */
#ifndef PFA_CLI_REQUEST_H
#define PFA_CLI_REQUEST_H

#include "analyze/query/query.h"

#include <getopt.h>
#include <stdio.h>

typedef struct pfa_request {
    const char *command; /* "report" */
    const char *usage;
    void (*usage_more)(FILE *to); /* what is printed behind it; may be NULL */
    bool no_by;                   /* the command has no use for --by, or */
    bool no_sort;
    bool json;
    size_t top;           /* 0: not said */
    const char *sort;     /* NULL: not said */
    const pfa_key_t *key; /* NULL: not said */
    char **files;
    size_t file_count;
    pfa_where_names_t *names;
    char **wheres; /* expressions, which are all to hold; and @FILE, as they were given */
    size_t where_count;
    size_t where_room;
} pfa_request_t;

/* An option of the command itself: `option` is the `val` of its line in the table; with optarg as its value. False: it is
 * wrong, which was said. */
typedef bool pfa_request_take_t(void *to, int option, const char *value);

/* Reads the command line: shared options, those of `own` (a table that ends with a line of zeros, or NULL; vals below 256
 * are free to use), and files. -1: go on; else the status to end with. */
int pfa_request_read(pfa_request_t *request, int argc, char **argv, const struct option *own, pfa_request_take_t *take,
                     void *to);
void pfa_request_free(pfa_request_t *request);
/* Opens its files as a query. -1: go on; else the status to end with, and nothing is open. */
int pfa_request_open(pfa_request_t *request, pfa_query_t *query);

/* Numbers on command lines: false if it is none, or not in that range. */
bool pfa_request_number(const char *text, double least, double most, double *value);

/* What all usages say of these options. */
#define PFA_REQUEST_WHERE_USAGE                                                                                             \
    "  --where EXPR       only chunks for which this holds, e.g. 'function = parse* and size > 4K'; @FILE has named ones\n" \
    "                     (docs/queries.md)\n"
#define PFA_REQUEST_BY_USAGE "  --by KEY           group by KEY; the keys are listed below\n"

#endif
