/* Copies of traces that have the names of their addresses with them. */
#ifndef PFA_ANALYZE_NAMES_PACK_H
#define PFA_ANALYZE_NAMES_PACK_H

#include "analyze/base/notes.h"
#include "analyze/trace/trace.h"

/* Whether a copy, which has whole blocks only and an end that counts those, would look better than the trace. The account
 * says what is missing. */
bool pfa_pack_is_damaged(const pfa_trace_t *trace, pfa_account_t *account);
/* Servers of debug information, as for pfa_symbols_serve. */
typedef struct pfa_pack_servers {
    const char *urls; /* NULL: none */
    double seconds;
} pfa_pack_servers_t;

/* Copies a trace that has its end, or will have none, to a file of this name. 0, with remarks on names that are missing; or an error
 * number: then there is no new file. */
int pfa_pack(const pfa_trace_t *trace, const char *to, const pfa_pack_servers_t *servers, pfa_notes_t *remarks);

#endif
