/* What is asked of a session: which chunks, and what they are grouped by. Made once, then asked any number of times, by any number of
 * threads at once: nothing of it changes. */
#ifndef PFA_ANALYZE_QUERY_QUESTION_H
#define PFA_ANALYZE_QUERY_QUESTION_H

#include "analyze/query/where.h"

struct pfa_key;

/* As the caller has it. All zeros ask for all chunks, by call stack. */
typedef struct pfa_asking {
    const char *const *wheres; /* expressions (docs/queries.md), which are all to hold; "@FILE" reads named ones */
    size_t where_count;
    const char *by;            /* a key of analyze/query/keys.def; NULL: "stack" */
    double from_ns;            /* chunks that were alive at some time of this range, since the first recording began; */
    double to_ns;              /* 0: to the end */
    const char *const *groups; /* chunks of groups of these names; none given: of all */
    size_t group_count;
} pfa_asking_t;

typedef struct pfa_question {
    pfa_where_names_t *names;  /* with what is asked; NULL: all chunks */
    const struct pfa_key *key; /* NULL: by stack */
    char **groups;
    size_t group_count;
    char *text; /* the expressions as they were given */
} pfa_question_t;

/* In the arena of the caller's work. NULL: *why says what is wrong, and the caller frees it. */
pfa_question_t *pfa_question_make(const pfa_asking_t *asking, char **why);
void pfa_question_free(pfa_question_t *question);
/* Its expressions, for one query; NULL: all chunks. It may be asked but *why says that there are too many sets. */
bool pfa_question_where(const pfa_question_t *question, pfa_where_t **where, char **why);

#endif
