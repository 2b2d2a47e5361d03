/* The command line that all analyses share: which chunks (--where), grouped by what (--by), in which order (--sort), how many
 * (--top), for whom (--json). */
#ifndef PFA_CLI_REQUEST_H
#define PFA_CLI_REQUEST_H

#include "analyze/query/answer.h"
#include "analyze/query/keys.h"

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
    unsigned threads;     /* likewise */
    const char *sort;     /* NULL: not said */
    const pfa_key_t *key; /* NULL: not said */
    char **files;
    size_t file_count;
    const char **wheres; /* expressions, which are all to hold; and @FILE, as they were given */
    size_t where_count;
    size_t where_room;
    pfa_files_t *files_open; /* that its session reads, too; NULL: nobody else reads them */
    pfa_session_t *session;  /* once it is open */
    pfa_question_t *question;
} pfa_request_t;

/* An option of the command itself: `option` is the `val` of its line in the table; with optarg as its value. False: it is
 * wrong, which was said. */
typedef bool pfa_request_take_t(void *to, int option, const char *value);

/* Reads the command line: shared options, those of `own` (a table that ends with a line of zeros, or NULL; vals below 256
 * are free to use), and files. -1: go on; else the status to end with. */
int pfa_request_read(pfa_request_t *request, int argc, char **argv, const struct option *own, pfa_request_take_t *take,
                     void *to);
/* Opens its files as a session, and makes its question. -1: go on; else the status to end with. */
int pfa_request_open(pfa_request_t *request);
/* Makes the question alone, for commands that open sessions themselves. -1: go on; else the status to end with. */
int pfa_request_ask(pfa_request_t *request);
/* Options of the sessions of a command: who is told what, and servers of debug information. */
pfa_session_options_t pfa_request_session(const char *command, unsigned threads);
/* The status to end with if an answer could not be made for this error, which is said unless it was. */
int pfa_request_fail(const pfa_request_t *request, int error);
/* The status after an answer was written, with this error: that files could not be read counts, too. */
int pfa_request_end(const pfa_request_t *request, const pfa_answer_t *answer, int error);
/* The last of a command: closes all, flushes standard output. The status to end with: this, or failed if not all could be written. */
int pfa_request_finish(pfa_request_t *request, int status);

/* What all usages say of these options. */
#define PFA_REQUEST_WHERE_USAGE                                                                                             \
    "  --where EXPR       only chunks for which this holds, e.g. 'function = parse* and size > 4K'; @FILE has named ones\n" \
    "                     (docs/queries.md)\n"                                                                              \
    "  --threads N        threads that read traces; default one for each processor. Answers do not depend on it\n"
#define PFA_REQUEST_BY_USAGE "  --by KEY           group by KEY; the keys are listed below\n"

#endif
