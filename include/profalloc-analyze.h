/* profalloc's analyses as a library: link -lprofalloc-analyze (static; with -lzstd -ldw -lelf -lstdc++ -lm -lpthread). The commands
 * `profalloc report`, `leaks`, ... are made of the same functions and give the same answers.
 *
 *   session    traces that are asked, each opened and verified once, with the names of their addresses
 *   question   which chunks, and what they are grouped by
 *   answer     what an analysis found; it is written as text or as JSON
 *
 * Functions that can fail return 0 or an error number: ENOMEM; ECANCELED: the callback for progress said so; ENODATA: there is no trace, or a
 * file is none; EIO: a trace can no longer be read; EINVAL: an option or an expression is wrong; ENOTSUP: what is asked for was not recorded;
 * ERANGE: the recording ends before the moment that is asked for. What is wrong is told in words, too: to `say` of the session, or in `why`.
 * Nothing is printed.
 *
 * Memory: if the library, zstd or stdio gets none, ENOMEM comes back and nothing is lost. After ENOMEM a session is to be closed: it may not
 * find names any more. Not so if libdw gets none: it may crash or end the process (elfutils 0.188 does).
 *
 * Threads: any number of threads may ask one session at the same time, and use one question. An answer is of one thread at a time. Answers
 * are freed before their session is closed. Names are looked for when answers are made and when they are written.
 *
 * Files: expressions may name files ("@FILE", `point in "FILE"`), which are read with the rights of the process. Do not pass on expressions of
 * strangers.
 *
 * libdw, which reads debug information, asks the servers that DEBUGINFOD_URLS names by itself, and may wait for minutes. A program that does not
 * want that takes the variable out of its environment before it opens a session, and gives its value as `debuginfod`. These servers are asked
 * by a child process, and what is waited for all of them together is bounded. */
#ifndef PROFALLOC_ANALYZE_H
#define PROFALLOC_ANALYZE_H

#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct profalloc_session profalloc_session_t;
typedef struct profalloc_question profalloc_question_t;
typedef struct profalloc_answer profalloc_answer_t;

typedef struct profalloc_session_options {
    void *to; /* for both of these */
    /* Called now and then by a thread that works: `part` is from 0 to 1, and 1 is the end of `what`. To give the work up, return 0; at
     * the end that has no effect. Several threads may call it at once; it must not ask or close the session. Where debug information was being
     * asked for from a server when it was given up, the session finds no names any more. */
    int (*progress)(void *to, const char *what, double part);
    /* Called, as it comes up, with a sentence about a file that is left out, or about what is wrong with an option. */
    void (*say)(void *to, const char *sentence);
    const char *debuginfod; /* servers of debug information, as in DEBUGINFOD_URLS, which is copied; NULL: none */
    double debuginfod_wait; /* seconds that may be waited for them in vain; 0: 10 */
} profalloc_session_options_t;

/* Opens traces; options may be NULL. Files that are no traces are left out; if none is left, it is a session all the same, whose questions are
 * answered with ENODATA. */
int profalloc_session_open(profalloc_session_t **session, const profalloc_session_options_t *options,
                           const char *const *paths, size_t count);
void profalloc_session_close(profalloc_session_t *session);
size_t profalloc_session_traces(const profalloc_session_t *session);
/* Why a file is not in it, by number; NULL: there are no more. */
const char *profalloc_session_unread(const profalloc_session_t *session, size_t number);

/* All zeros ask for all chunks, by call stack. */
typedef struct profalloc_asking {
    const char *const *wheres; /* expressions (docs/queries.md), which are all to hold; "@FILE" reads named ones */
    size_t where_count;
    const char *by;            /* "stack", "function", "file", "module", "size", "thread" or "tag"; NULL: "stack" */
    double from_ns;            /* chunks that were alive at some time of this range, since the first recording began; */
    double to_ns;              /* 0: to the end */
    const char *const *groups; /* chunks of groups of these names; none given: of all */
    size_t group_count;
} profalloc_asking_t;

/* EINVAL: `why`, a text of so many bytes at most, says what is wrong; it may be NULL. */
int profalloc_question_make(profalloc_question_t **question, const profalloc_asking_t *asking, char *why, size_t size);
void profalloc_question_free(profalloc_question_t *question);

typedef enum profalloc_analysis {
    PROFALLOC_REPORT,   /* totals, points, scores, peak, advice */
    PROFALLOC_ADVISE,   /* what to change */
    PROFALLOC_LEAKS,    /* what nobody freed */
    PROFALLOC_EXCESS,   /* what is allocated too often */
    PROFALLOC_MPROF,    /* mprof's tables */
    PROFALLOC_TIMELINE, /* what was alive over time */
    PROFALLOC_FLAME     /* amounts by call path */
} profalloc_analysis_t;

/* All zeros are what the commands do without options. */
typedef struct profalloc_ask_options {
    const char *sort; /* as --sort of the command */
    size_t
        top; /* so many of each list; 0: 10 as text, all as JSON; of mprof all, of a timeline 10 groups. Flame graphs have all */
    size_t buckets;     /* of a timeline, 100000 at most; 0: 200 */
    const char *metric; /* of a flame graph: "bytes", "count", "live", "peak", "wasted" or "at" */
    double at_ns;       /* the moment of "at" */
} profalloc_ask_options_t;

/* The question may be NULL: all chunks, by stack. Options may be NULL. */
int profalloc_ask(profalloc_session_t *session, const profalloc_question_t *question, profalloc_analysis_t analysis,
                  const profalloc_ask_options_t *options, profalloc_answer_t **answer);
void profalloc_answer_free(profalloc_answer_t *answer);
/* As the commands print them. Whether the file took all of it is known by ferror(3). A flame graph has folded stacks for text. */
int profalloc_answer_text(profalloc_answer_t *answer, FILE *to);
int profalloc_answer_json(profalloc_answer_t *answer, FILE *to);
/* A picture of an answer about time, call paths or excess; of others ENOTSUP. */
int profalloc_answer_svg(profalloc_answer_t *answer, FILE *to);

#ifdef __cplusplus
}
#endif

#endif
