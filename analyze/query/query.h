/* A question that is being asked of a session: its traces, the stacks and names they have in common, which of their chunks are asked for
 * and what these are grouped by. Every analysis begins with one, walks through its chunks as often as it needs to, and keeps sums, not
 * chunks. Times are nanoseconds since the first of the recordings began.
 *
 * A query is of one thread, and of the arena that it was opened in. */
#ifndef PFA_ANALYZE_QUERY_QUERY_H
#define PFA_ANALYZE_QUERY_QUERY_H

#include "analyze/base/json.h"
#include "analyze/base/notes.h"
#include "analyze/names/stacks.h"
#include "analyze/query/question.h"
#include "analyze/query/session.h"
#include "analyze/trace/tally.h"

#include <stdio.h>

/* analyze/query/remembered.h */
typedef struct pfa_remembered {
    struct pfa_remembered_block *list; /* by number of the block */
    size_t room;
} pfa_remembered_t;

/* One trace of a query. What it points to and does not change is the session's. */
typedef struct pfa_source {
    const char *path; /* for people to read */
    const char *program;
    const char *command;
    uint32_t number; /* in the query; another one once a source before it is gone */
    uint32_t id;     /* stays: its number in the session */
    pfa_trace_start_t start;
    bool known_start;
    double start_ns; /* when its recording began; 0 if the times of the traces cannot be compared */
    double end_ns;   /* the last that is known of it: its live chunks are counted as if they ended here */
    uint64_t end;    /* the same by its counter */
    double ns_per_tick;
    double step_ns;      /* moments of births and deaths are cut to steps of this, at most; a tick if they are whole */
    double life_step_ns; /* and their lives to steps of this; a tick unless it is a trace of version 1 */
    bool has_accesses;   /* what was done with its chunks is known */
    bool sampled;        /* at some time: not every chunk was recorded */
    bool running;
    const char *ending;            /* "exit", "killed", "stopped", "exec", "running", "unknown" */
    pfa_trace_counters_t counters; /* zeros if there are none */
    uint64_t folded;               /* deaths that are known in sums only */
    bool bad_names;                /* its block of names makes no sense */
    uint32_t *stack_of;            /* by node: its number in the query's stacks; 0: not asked for yet */
    uint32_t node_count;
    const pfa_trace_thread_t *threads; /* by number, */
    size_t thread_count;               /* up to the highest; tid 0: not known */
    char *const *tags;                 /* likewise; NULL: not known */
    size_t tag_count;
    pfa_taken_t
        *picture; /* of a process that goes on, as all walks see it; NULL: there is none, or there are no more walks */
    pfa_remembered_t remembered;
    pfa_tally_t tally;   /* of all its chunks, whatever is asked for; after the first walk */
    pfa_notes_t missing; /* likewise */
    pfa_notes_t remarks;
} pfa_source_t;

typedef struct pfa_key pfa_key_t;
typedef struct pfa_groups pfa_groups_t;

typedef struct pfa_query {
    pfa_session_t *session;
    const pfa_question_t *question; /* NULL: there is none, or there are no more walks */
    bool by_groups;                 /* the question names groups */
    pfa_symbols_t *symbols;         /* the session's */
    pfa_stacks_t stacks;
    pfa_source_t *sources;
    size_t source_count;
    double end_ns;        /* the last of all */
    double run_ns;        /* how long something was recorded: what lies between recordings does not count */
    bool comparable;      /* the times of all sources are on one clock */
    bool sampled;         /* any of them: sums are estimates */
    bool has_accesses;    /* any of them */
    pfa_where_t *where;   /* NULL: all chunks */
    const pfa_key_t *key; /* what groups are made by; NULL: by stack */
    pfa_groups_t *groups;
    pfa_notes_t unread; /* files that were given and are not in this */
    pfa_notes_t remarks;
    pfa_trouble_t trouble; /* a file could not be read */
    bool walked;           /* once, to the end */
    bool uncounted;        /* walks are not for the answer, but for what has to be known first */
    bool sets_known;       /* those of `where` */
    bool scores_known;
    pfa_scored_t scored; /* if `where` asks for scores */
    double held;         /* rows for which `where` holds, after the first walk */
    double unasked;      /* folded deaths that were left out: what is asked of them is not known */
} pfa_query_t;

/* What chunks have in common, looked up once for many of them. */
typedef struct pfa_kind {
    const pfa_source_t *source;
    uint64_t size;
    double weight;       /* how many chunks each of them stands for; 1 unless sampled */
    uint32_t stack;      /* in the query's stacks */
    uint32_t free_stack; /* likewise; PFA_NODE_UNKNOWN of live ones and where it was not recorded */
    uint32_t group;      /* by the query's key: 0 and up */
    uint32_t flags;      /* PFA_RECORD_... of export/format/live.h */
    uint16_t thread;
    uint16_t free_thread;
    uint16_t last_thread;
    uint16_t tag;
    uint32_t note; /* what lane_kind of the look returned for it */
    bool live;
} pfa_kind_t;

/* A chunk in its trace's own terms. */
typedef pfa_batch_brief_t pfa_chunk_row_t;

typedef struct pfa_chunk {
    double born; /* moments, */
    double died; /* a live one: the end of its recording */
    double life; /* and how long it lived: known better than from their difference */
    const pfa_chunk_row_t *row;
    const pfa_row_t *whole; /* NULL unless it is asked for */
    /* NULL: not known, or not asked for. Then the rest means nothing. */
    const pfa_event_accesses_t *accesses;
    double first; /* moments of accesses, counted from its birth; of a chunk that was never touched its birth, */
    double last;
    double wait;    /* from its birth to the first, of one that was never touched to its death, */
    double idle;    /* and from the last to its death */
    double touched; /* bytes from the first touched to the last */
    bool is_touched;
} pfa_chunk_t;

/* What is called of a walk, with `to`; each may be NULL. The walk reads some hundred thousand chunks at a time, and tells them then:
 *
 *   meet, ready             one after the other, before
 *   mark                    by any threads
 *   kind, chunk             of all, in order, by one thread;
 *   beside_kind, beside     likewise, by another;
 *   lane_kind, lane_chunk   those of a group in order, of different groups by different threads
 *   settle                  after all these
 *
 * `kind` and `chunk`, those beside them, and the lanes run at the same time: what one of them changes, no other may look at, and what comes out must
 * not depend on when which of them is called. All others run alone, but for `mark`. */
typedef struct pfa_look {
    const struct pfa_look *next; /* is told by the same walk; NULL: nobody else is */
    void *to;
    bool accesses; /* chunks are told with what was done with them */
    bool plain;    /* but not to `chunk` and `beside` */
    bool brief;    /* `chunk` gets chunk->row only; no other member is set */
    bool whole;    /* `chunk` and `beside` get chunk->whole, which has the place where the chunk lay */
    /* A kind whose stack, or the stack that freed it, was not met in this source and walk before; of live chunks and others each. It is told once
     * for all kinds of these stacks, whatever their groups are. */
    void (*meet)(void *to, const pfa_kind_t *kind);
    /* All groups of the chunks that are told next are numbered (pfa_query_groups). */
    void (*ready)(void *to);
    /* Kinds whose chunks are told next, if some look of the walk has lanes. A kind may turn out to have no chunk that is asked for. */
    void (*mark)(void *to, const pfa_kind_t *kind);
    /* So many chunks of a kind, before any of them is told by itself. */
    void (*kind)(void *to, const pfa_kind_t *kind, double rows);
    void (*chunk)(void *to, const pfa_kind_t *kind, const pfa_chunk_t *chunk);
    void (*beside_kind)(void *to, const pfa_kind_t *kind, double rows);
    void (*beside)(void *to, const pfa_kind_t *kind, const pfa_chunk_t *chunk);
    bool (*is_beside)(void *to,
                      const pfa_kind_t *kind); /* whether `beside` is told of this kind's chunks; needed with it */
    /* What it returns is in the kind that lane_chunk gets then. */
    uint32_t (*lane_kind)(void *to, const pfa_kind_t *kind, double rows);
    void (*lane_chunk)(void *to, const pfa_kind_t *kind, const pfa_chunk_t *chunk);
    void (*settle)(void *to);
    /* A source begins or ends. */
    void (*source)(void *to, const pfa_source_t *source, const pfa_trace_t *trace, bool begins);
    /* Deaths that are known in sums only. */
    void (*fold)(void *to, const pfa_source_t *source, uint32_t stack, uint32_t group, double chunks, double bytes);
} pfa_look_t;

/* Groups of the same lane are told by the same thread: what is kept of them may be in common. */
enum { PFA_LANES = 256 };
static inline uint32_t pfa_lane_of(uint32_t group)
{
    return group % PFA_LANES;
}

/* Asks a question; NULL asks for all chunks, by stack. The session, which has at least one trace, has to stay, and the question until
 * pfa_query_rest or pfa_query_close. */
void pfa_query_open(pfa_query_t *query, pfa_session_t *session, const pfa_question_t *question);
void pfa_query_close(pfa_query_t *query);
/* There are no more walks, but the query stays: what it has open for them is closed. */
void pfa_query_rest(pfa_query_t *query);

/* One walk through all chunks that are asked for: first those that died, in about the order of their deaths within each
 * thread, then those that are alive, source by source. 0, or an error number: a file can no longer be read, which was said,
 * and is no longer a source; what was collected has chunks of it, so that all is to be collected anew. */
int pfa_query_walk(pfa_query_t *query, const pfa_look_t *look, const char *progress);

/* The number of groups that walks have met. */
size_t pfa_query_groups(const pfa_query_t *query);
/* The stack of a group, if groups are made by stack; else PFA_NODE_UNKNOWN. */
uint32_t pfa_query_group_stack(const pfa_query_t *query, uint32_t group);
/* The group of a stack's chunks, if groups are made by what depends on the stack alone and there is one; else UINT32_MAX. */
uint32_t pfa_query_stack_group(const pfa_query_t *query, uint32_t stack);
/* What a group is called; it stays until the query is closed. */
const char *pfa_query_group_name(pfa_query_t *query, uint32_t group);

/* "main (1234)", into `text`, which is returned; and the name of a tag, which stays. */
enum { PFA_THREAD_TEXT = 48 };
const char *pfa_source_thread(const pfa_source_t *source, uint32_t thread, char text[PFA_THREAD_TEXT]);
const char *pfa_source_tag(const pfa_source_t *source, uint32_t tag);

/* Whether chunks are left out since they are not asked for. */
bool pfa_query_is_filtered(const pfa_query_t *query);
/* Whether nothing is missing, after a walk. */
bool pfa_query_complete(const pfa_query_t *query);
/* What keeps this from being complete, and what is good to know: as text behind the answer, and as members of an object. */
void pfa_query_tell(pfa_query_t *query, FILE *to);
/* What a command says itself of remarks is complete after this. */
void pfa_query_gather(pfa_query_t *query);
void pfa_query_tell_json(pfa_query_t *query, pfa_json_t *json);
/* Adds to the remarks: chunks that an analysis leaves out since they are known in sums only, if any; and that times are of different clocks,
 * where times matter. */
void pfa_query_remark(pfa_query_t *query, double folded_chunks, double folded_bytes, bool times);
/* Adds what is missing, one sentence each, which names its file; none if pfa_query_complete. As members of an object: `complete`, a
 * truth value, and `missing`, the list. */
void pfa_query_missing(const pfa_query_t *query, pfa_notes_t *missing);
void pfa_query_complete_json(const pfa_query_t *query, pfa_json_t *json);

#endif
