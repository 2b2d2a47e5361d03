/* What an analysis collected to answer a question: a struct that begins with a pfa_answer_t, in an arena of its own. It is of one thread at a
 * time, and freed before its session is closed. */
#ifndef PFA_ANALYZE_QUERY_ANSWER_H
#define PFA_ANALYZE_QUERY_ANSWER_H

#include "analyze/base/memory.h"
#include "analyze/query/query.h"

#include <errno.h>

typedef struct pfa_answer {
    pfa_memory_t *memory;
    pfa_query_t query;
} pfa_answer_t;

/* What a walk that cannot be made is told as: a file can no longer be read, or is no trace any more, which was said; no source is left, or
 * what is asked of another trace cannot be had. */
enum { PFA_ANSWER_READING = EIO, PFA_ANSWER_NO_TRACE = ENODATA };

/* Makes an answer of `size` bytes, zeros but for its query, and has it filled by `collect`, which returns 0 or an error number. Then that, or
 * ENOMEM or ECANCELED: there is no answer. A session without a trace is ENODATA. */
int pfa_answer_make(void **answer, size_t size, pfa_session_t *session, const pfa_question_t *question,
                    int (*collect)(void *answer, const void *options), const void *options);
/* NULL is none. */
void pfa_answer_free(void *answer);
/* Has something written of it, in its arena. 0, ENOMEM or ECANCELED; whether the file took it is known by ferror. */
int pfa_answer_write(void *answer, void (*write)(void *answer, void *to), void *to);

/* For `collect`: whether a walk that failed may be tried again, since a source that is to blame is gone; there were so many before. Else the
 * error number to return. */
int pfa_answer_again(const pfa_query_t *query, size_t sources);

#endif
