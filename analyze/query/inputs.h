/* Which files a command works on: each recording once, and those that can be read. */
#ifndef PFA_ANALYZE_QUERY_INPUTS_H
#define PFA_ANALYZE_QUERY_INPUTS_H

#include "analyze/base/notes.h"
#include "analyze/trace/trace.h"

typedef struct pfa_input {
    const char *path;
    bool known; /* how it starts */
    pfa_trace_start_t start;
    pfa_notes_t same; /* of files that were left out for this one */
} pfa_input_t;

typedef struct pfa_inputs {
    const char *command; /* that is told on standard error what is left out */
    pfa_input_t *list;
    size_t count;
    pfa_notes_t unread;
    int status; /* to end with */
} pfa_inputs_t;

void pfa_inputs_open(pfa_inputs_t *inputs, const char *command, char **paths, size_t count);
/* All but the notes of unread files, which are somebody else's by then. */
void pfa_inputs_close(pfa_inputs_t *inputs);
/* Says why a file is not in this. */
void pfa_inputs_leave_out(pfa_inputs_t *inputs, const char *why, int status);

#endif
