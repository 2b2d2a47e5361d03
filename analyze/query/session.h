/* The traces that are asked: each recording once, opened and verified once, with the names of their addresses.
 *
 * Any number of threads may ask a session at the same time. A trace is open while somebody asks it; of those that nobody asks, the last
 * few stay open. Of the others the list of their blocks is kept, so that they are not verified again. A trace of a process that goes on
 * is opened anew for each question, since each time there is more in it: all walks of a question see the same picture of it, and so do
 * questions that are asked at the same time. */
#ifndef PFA_ANALYZE_QUERY_SESSION_H
#define PFA_ANALYZE_QUERY_SESSION_H

#include "analyze/base/memory.h"
#include "analyze/base/notes.h"
#include "analyze/base/progress.h"
#include "analyze/names/symbols.h"
#include "analyze/trace/files.h"

/* Scores of allocation points, by stack of the query, as expressions ask for them; NAN: not known. */
typedef enum pfa_asked_score {
    PFA_ASKED_LIFETIME,
    PFA_ASKED_USAGE,
    PFA_ASKED_USEFUL,
    PFA_ASKED_MEAN,
    PFA_ASKED_SEVERITY,
    PFA_ASKED_SCORES
} pfa_asked_score_t;

typedef struct pfa_scored {
    double (*of)[PFA_ASKED_SCORES];
    size_t room;
} pfa_scored_t;

struct pfa_query;

typedef struct pfa_session_options {
    /* Finds the scores of all points of a query, as pfa_points_score does (analyze/points/score_fields.h): 0, or an error number. It is given here since
     * it is above this folder. NULL: expressions about scores hold for no chunk. */
    int (*score)(struct pfa_query *query, pfa_scored_t *scored);
    pfa_watch_t watch; /* who is told how far it is */
    /* Who is told, as it comes up, which files are left out and why; NULL: nobody. It is in the notes all the same. */
    void (*say)(void *to, const char *text);
    void *say_to;
    unsigned threads;       /* that a walk may have; 0: as many as there are processors. Answers do not depend on it */
    const char *debuginfod; /* servers of debug information, as in DEBUGINFOD_URLS; NULL: none is asked */
    double debuginfod_wait; /* seconds, in vain; 0: as usual */
    pfa_files_t *files;     /* that sessions have in common, and that outlive them; NULL: the session has its own */
} pfa_session_options_t;

/* What could not be read; the worst counts. */
typedef enum pfa_trouble { PFA_TROUBLE_NONE, PFA_TROUBLE_READING, PFA_TROUBLE_NO_TRACE } pfa_trouble_t;

typedef struct pfa_session pfa_session_t;

/* Opens files as a session. What cannot be read is left out, so that it may have no trace at all. 0 or an error number: there is no
 * session. */
int pfa_session_open(pfa_session_t **session, const pfa_session_options_t *options, const char *const *paths,
                     size_t count);
/* Once nobody asks it, and all answers are freed. */
void pfa_session_close(pfa_session_t *session);

size_t pfa_session_traces(const pfa_session_t *session);
const pfa_watch_t *pfa_session_watch(const pfa_session_t *session);
pfa_symbols_t *pfa_session_symbols(const pfa_session_t *session);
const pfa_session_options_t *pfa_session_options(const pfa_session_t *session);
/* Of files that were given and are not in this. */
const pfa_notes_t *pfa_session_unread(const pfa_session_t *session);
pfa_trouble_t pfa_session_trouble(const pfa_session_t *session);
/* Tells who is told. */
void pfa_session_say(const pfa_session_t *session, const char *text);

/* For analyze/query alone: what is known of a trace from opening it. As pfa_session_trace tells it, it stays as it is. */
typedef struct pfa_session_trace {
    char *path;  /* as it was given */
    char *shown; /* for people to read */
    char *program;
    char *command;
    bool known_start; /* it tells how it starts by its first block */
    pfa_trace_start_t start;
    uint64_t end; /* the last time that is known of it, by its counter */
    double ns_per_tick;
    double step_ns;
    double life_step_ns;
    bool has_accesses;
    bool sampled;
    bool running;
    bool bad_names; /* its block of names makes no sense */
    const char *ending;
    pfa_trace_counters_t counters;
    uint32_t node_count;
    pfa_trace_thread_t *threads; /* by number, up to the highest; tid 0: not known */
    size_t thread_count;
    char **tags; /* likewise; NULL: not known */
    size_t tag_count;
    pfa_notes_t same; /* files of the same recording that were left out */
} pfa_session_trace_t;

const pfa_session_trace_t *pfa_session_trace(const pfa_session_t *session, size_t number);

/* An open trace, for reading: many may have it. It is given back with the arena of who took it, too. */
typedef struct pfa_taken {
    const pfa_trace_t *trace;
    pfa_session_t *session;
    size_t number;
    struct pfa_opened *opened;
} pfa_taken_t;

/* For a question that begins: what is known of the trace now. Of a process that goes on it is what is found out now, in the caller's
 * arena, and *picture, if not NULL then, is to be given back once the question has no more walks: until then all who take the trace
 * get this picture. */
pfa_session_trace_t pfa_session_look(pfa_session_t *session, size_t number, pfa_taken_t **picture);
/* NULL: it can no longer be opened, or is another recording now, *why says why, and the caller frees it. */
pfa_taken_t *pfa_session_take(pfa_session_t *session, size_t number, char **why);
/* NULL is none. */
void pfa_session_give_back(pfa_taken_t *taken);

#endif
