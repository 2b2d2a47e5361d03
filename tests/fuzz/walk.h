/* Everything that a trace holds, looked at without any analysis: its blocks and all their rows, names, nodes, the live table, and what is
 * missing. */
#ifndef PFA_TESTS_FUZZ_WALK_H
#define PFA_TESTS_FUZZ_WALK_H

#include "analyze/query/question.h"
#include "analyze/query/session.h"

#include <stddef.h>
#include <stdio.h>

/* Of what was told. */
typedef struct pfa_fuzz_walked {
    size_t rows; /* of blocks and of the live table, whatever picture they are of */
    size_t live;
    size_t told;    /* with accesses */
    size_t placed;  /* with an address, */
    size_t slotted; /* in a slot of a known region, */
    size_t typed;   /* with a type */
    size_t nodes;
    double frees; /* by the tally */
    double live_chunks;
} pfa_fuzz_walked_t;

/* Opens a trace for this alone. All zeros: it is none. */
pfa_fuzz_walked_t pfa_fuzz_walk(const char *path);
/* A line for each chunk that a question asks for. 0 or an error number, as of pfa_answer_make. */
int pfa_fuzz_walk_asked(pfa_session_t *session, const pfa_question_t *question, FILE *to);

#endif
