/* `profalloc dump`: what its files share. */
#ifndef PFA_CLI_DUMP_H
#define PFA_CLI_DUMP_H

#include "analyze/query/query.h"
#include "analyze/base/json.h"

typedef struct pfa_dump {
    pfa_trace_t *trace;
    pfa_json_t json;
    pfa_rows_t *rows;
    pfa_died_t died;
    char *path; /* room for one */
    size_t path_room;
    bool as_json;
    bool events;
    bool nodes;
    bool live_table; /* rows are from there */
    bool asked;      /* rows are from a query, which does not tell where it has them from */
} pfa_dump_t;

/* One chunk; `to` is a pfa_dump_t, `kind` is not looked at. (cli/dump_rows.c) */
void pfa_dump_row(void *to, uint32_t kind, const pfa_row_t *row, double weight, bool live);
/* The chunks that a query asks for, and what is missing. The status to end with. */
int pfa_dump_asked(pfa_dump_t *dump, pfa_query_t *query);

#endif
