/* profalloc's analyses as a library: link -lprofalloc-analyze (static; with -lzstd -ldw -lelf -lstdc++ -lm -lpthread). The commands
 * `profalloc report`, `leaks`, ... are made of the same functions and give the same answers. libprofalloc-analyze(3) has an example.
 *
 *   session    traces, each opened and verified once, with the names of their addresses
 *   question   which chunks, and what they are grouped by
 *   answer     what an analysis found; it is written as text or as JSON
 *
 * Functions that can fail return 0 or an error number: ENOMEM; ECANCELED: the callback for progress said so; ENODATA: there is no trace, or a
 * file is none; EIO: what the answer needs can no longer be read; EINVAL: an option or an expression is wrong; ENOTSUP: what is asked for was
 * not recorded; ERANGE: the recording ends before the moment that is asked for. What is wrong is told in words, too: to `say`, or in `why`.
 * Nothing is printed. On error the result is NULL. Functions that close or free take NULL.
 *
 * Lifetimes: what is given to a call is copied, but for callbacks and their `to`: those of a session are called until it is closed, those of a
 * question until its answer is freed. A question may be freed as soon as profalloc_ask or profalloc_compare has returned. Answers are freed
 * before their session is closed.
 *
 * Memory: if the library, zstd or stdio gets none, the call returns ENOMEM and nothing leaks. Close the session then: it may not find names any
 * more. This does not hold for libdw: without memory it may crash or end the process (elfutils 0.188 does).
 *
 * Threads: any number of threads may ask one session at the same time, and use one question. An answer is of one thread at a time. Names are
 * looked for when answers are made and when they are written.
 *
 * Live processes: a trace whose process goes on is opened anew for each question, unless another question about it is under way. Its figures
 * are of the time while it is read, and need not add up exactly. Ask again for newer ones; the session stays open.
 *
 * Process: no option, terminal or variable of the environment is looked at, and locales do not matter: a thread has the C locale while it is
 * in the library, also while it calls back.
 *
 * Files: expressions may name files ("@FILE", `point in "FILE"`), and so may settings; they are read with the rights of the process. Do not
 * pass on expressions and settings of strangers. A comparison as SARIF has file names relative to the working directory, unless the setting
 * "source-root" says otherwise.
 *
 * JSON: every object begins with its `schema` and its `version`. docs/report-json.md, leaks.md, excess.md, mprof.md and gate.md describe their
 * members, profalloc(1) those of timelines and flame graphs.
 *
 * libdw, which reads debug information, asks the servers that DEBUGINFOD_URLS names by itself, and may wait for minutes. A program that does not
 * want that takes the variable out of its environment before it opens a session, and gives its value as `debuginfod`. These servers are asked
 * by a child process, and what is waited for all of them together is bounded. */
#ifndef PROFALLOC_ANALYZE_H
#define PROFALLOC_ANALYZE_H

#include <stddef.h>
#include <stdint.h>
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
     * the end that has no effect. Several threads may call it at once; it must not ask or close the session. If that gives up a query to a
     * server of debug information, the session finds no names any more. */
    int (*progress)(void *to, const char *what, double part);
    /* Called, as it comes up, with a sentence about a file that is left out, or about what is wrong with an option. */
    void (*say)(void *to, const char *sentence);
    const char *debuginfod; /* servers of debug information, as in DEBUGINFOD_URLS, which is copied; NULL: none */
    double debuginfod_wait; /* seconds to wait, in all, for servers that send nothing; 0: 10 */
    unsigned threads;       /* for each question, 64 at most; 0: one for each processor. Answers do not depend on it */
} profalloc_session_options_t;

/* Opens traces; options may be NULL. Files that are no traces are left out; if none is left, it is a session all the same, whose questions are
 * answered with ENODATA. */
int profalloc_session_open(profalloc_session_t **session, const profalloc_session_options_t *options,
                           const char *const *paths, size_t count);
void profalloc_session_close(profalloc_session_t *session);
size_t profalloc_session_traces(const profalloc_session_t *session);
/* Why a file is not in it, by number; NULL: there are no more. */
const char *profalloc_session_unread(const profalloc_session_t *session, size_t number);

/* What is known of a trace without asking for its chunks. Texts are the session's. */
typedef struct profalloc_trace {
    const char *path;    /* as it was given */
    const char *program; /* for people to read: its path, NULL if it is not known, */
    const char *command; /* and with its arguments */
    const char *ending;  /* "exit", "killed", "stopped", "exec", "unknown", or "running" while the process goes on */
    uint32_t pid;        /* 0: it is not known how the recording began; then these are 0, too: */
    uint32_t parent_pid;
    uint64_t start_unix_ns; /* nanoseconds since 1970, by the clock of the machine that recorded */
    /* Since the first recording of the session began, as the ranges of questions count; 0 if clocks have nothing in common. */
    double start_ns;
    double duration_ns; /* until the last that is known of it */
    double sample;      /* mean bytes between samples when it began; 1: every chunk was recorded */
    int sampled;        /* not every chunk was, at some time */
    int has_accesses;   /* what was done with its chunks is known */
} profalloc_trace_t;

/* Of the trace of this number; if its process goes on, as a question finds it. `size` is that of the struct: a program that knows fewer members
 * gets fewer. EINVAL: there is none. */
int profalloc_session_trace(const profalloc_session_t *session, size_t number, profalloc_trace_t *trace, size_t size);

/* All zeros ask for all chunks, with each analysis' own grouping. */
typedef struct profalloc_question_options {
    const char *const *wheres; /* expressions (docs/queries.md), all of which must hold; "@FILE" reads named ones */
    size_t where_count;
    /* One of PROFALLOC_KEYS. NULL: by stack in a report, advice, leaks and comparisons; by calling function in excess; by call path and by
     * function in mprof's tables; one group in a timeline and a flame graph. */
    const char *by;
    /* Chunks that were alive at some time of this range, in nanoseconds since the first recording began. It chooses chunks: a timeline shows
     * all of the time all the same. */
    double from_ns;
    double to_ns; /* 0: to the end */
    /* Chunks of groups of these names; none given: of all. Different groups may have the same name: several call stacks that end in the same
     * line have. All of these are chosen. */
    const char *const *groups;
    size_t group_count;
} profalloc_question_options_t;

/* EINVAL: `why`, a text of `size` bytes at most with its end, says what is wrong; it may be NULL. Else it is left alone. */
int profalloc_question_make(profalloc_question_t **question, const profalloc_question_options_t *asking, char *why,
                            size_t size);
void profalloc_question_free(profalloc_question_t *question);

typedef enum profalloc_analysis {
    PROFALLOC_REPORT,    /* totals, points, scores, peak, advice */
    PROFALLOC_ADVISE,    /* what to change; by stack alone */
    PROFALLOC_LEAKS,     /* what nobody freed */
    PROFALLOC_EXCESS,    /* what is allocated too often */
    PROFALLOC_MPROF,     /* mprof's tables */
    PROFALLOC_TIMELINE,  /* what was alive over time */
    PROFALLOC_FLAME,     /* amounts by call path */
    PROFALLOC_COMPARISON /* what changed between two sides: by profalloc_compare */
} profalloc_analysis_t;

/* All zeros are what the commands do without options. One struct may be used for all analyses: a member that an analysis has no use for has
 * no effect on it. A value that it does not know is EINVAL, which is said; so is a setting.
 *
 *              sort   top   buckets   metric, at_ns   settings
 *   REPORT      *      *                                 *
 *   ADVISE      *      *                                 *
 *   LEAKS       *      *                                 *
 *   EXCESS      *      *                                 *
 *   MPROF       *      *                                 *
 *   TIMELINE    *      *       *                         *
 *   FLAME       *                          *             *
 *   COMPARISON  *      *                                 * */
typedef struct profalloc_ask_options {
    /* One of PROFALLOC_SORTS, or of a report the name of a score of its own; NULL: the first. Of a flame graph, frames as text and picture. */
    const char *sort;
    /* How many entries each list has. 0: 10 in text, all in JSON; in mprof's tables all; in a timeline 10 groups; 5 points for each limit. */
    size_t top;
    /* 100000 at most; 0: 200. */
    size_t buckets;
    /* One of PROFALLOC_METRICS; NULL: the first. */
    const char *metric;
    /* The moment of the metric "at", in nanoseconds since the start, not negative. Other metrics ignore it. */
    double at_ns;
    /* "NAME=VALUE", or "NAME" alone of what is no number or text: each NAME one of PROFALLOC_SETTINGS, which are called as options of the
     * commands. They may come several times: the last counts, or all do if they are lists. */
    const char *const *settings;
    size_t setting_count;
    /* Likewise for this question alone, in place of the session's `progress`: while the answer is made, and when it is written. Waiting for
     * servers of debug information, which all questions wait for, is told to the session's. NULL: the session's. */
    int (*progress)(void *to, const char *what, double part);
    void *to; /* for `progress` and `say` */
    /* Likewise, in place of the session's `say`: by the thread that asks or writes. NULL: the session's. */
    void (*say)(void *to, const char *sentence);
} profalloc_ask_options_t;

/* The question may be NULL: all zeros. Options may be NULL. A trace that can no longer be read is left out, which is said, and the answer is
 * made of the others: see profalloc_answer_complete. */
int profalloc_ask(profalloc_session_t *session, const profalloc_question_t *question, profalloc_analysis_t analysis,
                  const profalloc_ask_options_t *options, profalloc_answer_t **answer);
void profalloc_answer_free(profalloc_answer_t *answer);
/* Whether nothing is missing: 1 or 0. JSON (`missing`) says what is, and so do texts, but for folded stacks. */
int profalloc_answer_complete(const profalloc_answer_t *answer);

/* Runs of a program that are compared with others. */
typedef struct profalloc_side {
    profalloc_session_t *const *sessions; /* each is a run, whatever number of traces it has */
    size_t session_count;
    /* Traces, each a run but for those that one `profalloc run` wrote, and what `profalloc gate --save` wrote. They are opened with the options
     * of the first session that is given, of the new side or of the base. */
    const char *const *files;
    size_t file_count;
} profalloc_side_t;

/* Compares as `profalloc diff` does, or, if there is a limit among the settings ("max-peak=5%"), as `profalloc gate` does: docs/gate.md. Each
 * side has a run at least, and one of them a session. The answer does not need the sessions any more. ENODATA, EIO: a file of either side
 * cannot be read; ENOTSUP: limits mean nothing since a trace is not complete, or no chunk is asked for, and "allow-incomplete" is not given. */
int profalloc_compare(const profalloc_side_t *base, const profalloc_side_t *now, const profalloc_question_t *question,
                      const profalloc_ask_options_t *options, profalloc_answer_t **answer);
/* Whether a limit of a comparison is exceeded: 1 or 0. Other analyses have no limits: 0. */
int profalloc_answer_exceeded(const profalloc_answer_t *answer);
/* A comparison with limits as SARIF 2.1.0; others ENOTSUP. */
int profalloc_answer_sarif(profalloc_answer_t *answer, FILE *to);

/* How charts look that are part of texts: those of a timeline and of excess. All zeros are what a file of UTF-8 takes. */
typedef struct profalloc_look {
    unsigned columns; /* 40 to 200; 0: 80 */
    int ascii;        /* letters and signs of ASCII, no blocks and lines */
    int colour;       /* by escape sequences of terminals */
} profalloc_look_t;

/* As the commands print them. Errors of writing are told by ferror(to). A flame graph has folded stacks for text. profalloc_answer_text_as takes
 * a look, which may be NULL; EINVAL: `columns` is out of range. */
int profalloc_answer_text(profalloc_answer_t *answer, FILE *to);
int profalloc_answer_text_as(profalloc_answer_t *answer, const profalloc_look_t *look, FILE *to);
int profalloc_answer_json(profalloc_answer_t *answer, FILE *to);
/* A picture of an answer about time, call paths or excess; of others ENOTSUP. */
int profalloc_answer_svg(profalloc_answer_t *answer, FILE *to);

/* What there is to choose from. */
typedef enum profalloc_list {
    PROFALLOC_KEYS,    /* to group by */
    PROFALLOC_FIELDS,  /* of expressions */
    PROFALLOC_SORTS,   /* of an analysis, the default first */
    PROFALLOC_METRICS, /* likewise; of flame graphs alone */
    PROFALLOC_SETTINGS /* of an analysis */
} profalloc_list_t;

typedef struct profalloc_word {
    const char *name;
    const char *meaning;
    /* Of fields and settings, what their values are: "text", "bytes", "duration", "time", "count", "share" or "flag"; of settings also "number",
     * "whole", "percent", "file", "score", "limit", or words to choose from, as in "linear|log". Else NULL. */
    const char *form;
} profalloc_word_t;

/* Of this number; NULL: there are no more. The analysis has no effect on keys and fields. */
const profalloc_word_t *profalloc_word(profalloc_list_t list, profalloc_analysis_t analysis, size_t number);

#ifdef __cplusplus
}
#endif

#endif
