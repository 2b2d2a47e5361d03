/* What `profalloc leaks` knows: of each group of chunks (mostly an allocation point) those that nobody freed, the lives of their
 * siblings that were, and what is concluded.
 *
 *   survivor   a chunk that was alive at the end of its recording
 *   sibling    a chunk of the same group that was freed; one that realloc moved on is neither
 *   overdue    a survivor that is older than siblings get
 *
 * Whether anything still points to a survivor is not known and not claimed. Shares of the run are of the recording that a chunk
 * is of, from its start (0) to its end (1). */
#ifndef PFA_ANALYZE_LEAKS_LEAKS_H
#define PFA_ANALYZE_LEAKS_LEAKS_H

#include "analyze/leaks/counts.h"
#include "analyze/leaks/lives.h"
#include "analyze/leaks/suppress.h"
#include "analyze/names/sight.h"
#include "analyze/query/answer.h"

#include <stdio.h>

typedef enum pfa_leak_verdict {
#define PFA_LEAK_VERDICT(name, key, title) PFA_LEAK_VERDICT_##name,
#include "analyze/leaks/verdicts.def"
    PFA_LEAK_VERDICTS
} pfa_leak_verdict_t;

typedef enum pfa_leak_reason {
#define PFA_LEAK_REASON(name, verdict, key, sentence) PFA_LEAK_REASON_##name,
#include "analyze/leaks/verdicts.def"
    PFA_LEAK_REASONS
} pfa_leak_reason_t;

/* What a verdict depends on, from the command line. */
typedef struct pfa_leak_limits {
    double warm_up; /* what is born in this share of the run is of the start */
    double late;    /* so many times what most siblings live is overdue */
    double least;   /* chunks that it takes for a leak, */
    double least_bytes;
    double least_seconds; /* and so long from the birth of the first to that of the last */
    double stale;         /* not touched for this share of the run is stale */
    double recent;        /* touched in this last share of the run is in use */
    double fail_sure;     /* a leak that is at least so sure, */
    double fail_bytes;    /* and of so many bytes, is one that a check fails for */
} pfa_leak_limits_t;

/* What they are unless they are given. */
pfa_leak_limits_t pfa_leak_limits_standard(void);

enum { PFA_BIRTHS = 32 };

/* Births are counted in so many parts of the run: the part that a share of it lies in. */
static inline unsigned pfa_birth_of(double share)
{
    unsigned birth = (unsigned)(share * PFA_BIRTHS);
    return birth < PFA_BIRTHS ? birth : PFA_BIRTHS - 1;
}

/* Of a group that has survivors. */
typedef struct pfa_survivors {
    double chunks;
    double bytes;
    double rows;            /* as they were recorded: of sampled ones fewer than chunks */
    double chunks_variance; /* of what sampling makes of the sums */
    double bytes_variance;
    double rate; /* bytes per nanosecond by which survivors grow */
    double rate_variance;
    double first; /* birth, as a share of the run */
    double last;
    double at_start; /* chunks born in the warm-up */
    double oldest;   /* age in nanoseconds */
    uint64_t least_size;
    uint64_t most_size;
    double known; /* chunks of which accesses are known, */
    double stale; /* of these: not touched for long, */
    double never; /* never touched, which are among the stale ones or born lately, */
    double old;   /* born before the last share that `recent` is, */
    double used;  /* and of these, touched in it; */
    double blind; /* chunks of code that is not instrumented: what is known of them is too little to say anything */
    double births[PFA_BIRTHS];
    double birth_bytes[PFA_BIRTHS];
    double ages[PFA_LIVES_BINS]; /* chunks */
    double age_bytes[PFA_LIVES_BINS];
} pfa_survivors_t;

/* Of a group: what is known of all its chunks. */
typedef struct pfa_family {
    pfa_survivors_t *survivors;  /* NULL: none */
    uint32_t counted[PFA_ROLES]; /* for pfa_counts_add */
    double freed;                /* siblings, */
    double freed_bytes;
    double freed_rows;
    double same_thread; /* of these: freed by the thread that had allocated them, */
    double folded;      /* and so many more that are known in sums only: not how long they lived */
    double moved;       /* by realloc */
    double per_ns;      /* births per nanosecond, all recordings together */
    double shortest;    /* life of a sibling, in nanoseconds */
    double longest;
    double first; /* birth of any of its chunks, as a share of the run */
    double last;
    double births[PFA_BIRTHS]; /* of all its chunks */
    double lives[PFA_LIVES_BINS];
} pfa_family_t;

/* What is concluded of a group with survivors. */
typedef struct pfa_leak_finding {
    uint32_t group;
    pfa_leak_reason_t reason;
    pfa_leak_verdict_t verdict;
    double sure;    /* from 0 to 1 */
    bool siblings;  /* there are enough of them to say how long chunks live: then */
    double overdue; /* chunks that are older than */
    double due;     /* so many nanoseconds, */
    double overdue_bytes;
    double expected;  /* and so many of them would be that old if all were freed as siblings are */
    unsigned parts;   /* that the group's time is cut into, without those in which it allocated nothing, */
    unsigned busy;    /* and those in which survivors were born */
    double late_half; /* the share of survivors born in the second half of that time, as if it allocated evenly */
    double leaked;    /* bytes that are likely a leak; 0 if that is not the verdict */
    bool fails;       /* which is sure and large enough for a check to fail */
} pfa_leak_finding_t;

typedef struct pfa_leaks {
    pfa_answer_t answer;
    pfa_query_t *query;
    pfa_leak_limits_t limits;
    pfa_suppressions_t suppressions;
    const bool *wanted; /* by group: whether there is to be a verdict; NULL: on all */
    size_t wanted_count;
    pfa_family_t *families; /* by group */
    size_t family_count;
    size_t family_room;
    pfa_counts_t counts;
    pfa_sights_t sights;
    const char **functions;      /* by group: which allocates; once asked for */
    struct pfa_cousins *cousins; /* by function that was asked for */
    size_t cousin_count;
    size_t cousin_room;
    pfa_leak_finding_t *findings; /* the worst first */
    size_t finding_count;
    double chunks; /* survivors in all, but for suppressed ones */
    double bytes;
    double chunks_variance;
    double bytes_variance;
    double suppressed_chunks;
    double suppressed_bytes;
    double blind;                    /* chunks among the survivors: see there */
    double longest_run;              /* of the recordings, in nanoseconds */
    bool siblings_asked;             /* --where left none of them out */
    struct pfa_leaks_adding *adding; /* while chunks are added */
} pfa_leaks_t;

typedef struct pfa_leaks_options {
    pfa_leak_limits_t limits;
    const char *const *suppressions; /* files, whose lines are as LeakSanitizer has them */
    size_t suppression_count;
    const char *order; /* of findings, one of pfa_leaks_orders; NULL: "leak" */
} pfa_leaks_options_t;

/* What is known of the chunks that a question asks for, with all findings. 0 or an error number, as of pfa_answer_make; EINVAL: a file of
 * suppressions is wrong, and the session was told why. */
int pfa_leaks_collect(pfa_session_t *session, const pfa_question_t *question, const pfa_leaks_options_t *options,
                      pfa_leaks_t **leaks);
/* The same in the arena of the caller, of a query that it has opened, into a struct whose `wanted` may be set, without findings. */
int pfa_leaks_fill(pfa_leaks_t *leaks, pfa_query_t *query, const pfa_leaks_options_t *options);
/* The same along with a walk of another analysis: adds *look to that walk; once the walk has succeeded, call pfa_leaks_end. */
int pfa_leaks_begin(pfa_leaks_t *leaks, pfa_query_t *query, const pfa_leaks_options_t *options,
                    const struct pfa_look **look);
void pfa_leaks_end(pfa_leaks_t *leaks);
/* Frees all that was collected; but `wanted` is the caller's. What is left is empty. */
void pfa_leaks_forget(pfa_leaks_t *leaks);

/* What is to be said of a group with survivors. (analyze/leaks/judge.c) */
pfa_leak_finding_t pfa_leaks_judge(const pfa_leaks_t *leaks, uint32_t group);
/* Judges all groups that have survivors and puts them in order, which is one of those there are. (analyze/leaks/order.c) */
void pfa_leaks_conclude(pfa_leaks_t *leaks, const char *order);
bool pfa_leaks_is_order(const char *name);
extern const char pfa_leaks_orders[];
/* What the survivors grow by in an hour, in bytes. NAN: no run was long enough to tell that. */
double pfa_leaks_per_hour(const pfa_leaks_t *leaks, const pfa_survivors_t *survivors);
const char *pfa_leak_verdict_key(pfa_leak_verdict_t verdict);
const char *pfa_leak_verdict_title(pfa_leak_verdict_t verdict);
const char *pfa_leak_reason_key(pfa_leak_reason_t reason);
const char *pfa_leak_reason_sentence(pfa_leak_reason_t reason);
const char *pfa_sure_word(double sure);

/* How the siblings of a group came to their end. (analyze/leaks/siblings.c) */
typedef struct pfa_ender {
    char *name;
    double freed; /* chunks, */
    double live;  /* and survivors that this thread allocated */
} pfa_ender_t;

typedef struct pfa_siblings {
    bool cousins; /* it has none: they are of other groups with the same allocating function, */
    bool lent;    /* and so sites and freers are those of the function, kept for others */
    double freed;
    double same_thread;
    double folded;
    double lives[PFA_LIVES_BINS];
    double shortest;
    double longest;
    pfa_ender_t *sites; /* the places that free most, the first of them first */
    size_t site_count;
    pfa_ender_t *freers; /* threads by name, likewise */
    size_t freer_count;
    pfa_ender_t *owners; /* threads that allocate; of the group itself */
    size_t owner_count;
} pfa_siblings_t;

void pfa_siblings_find(pfa_siblings_t *siblings, pfa_leaks_t *leaks, uint32_t group);
/* What was kept for others. */
void pfa_cousins_free(pfa_leaks_t *leaks);
void pfa_siblings_free(pfa_siblings_t *siblings);
double pfa_siblings_quantile(const pfa_siblings_t *siblings, double share);

/* Both begin with so many findings. 0 or an error number, as of pfa_answer_write. */
int pfa_leaks_text(pfa_leaks_t *leaks, size_t top, FILE *to);
int pfa_leaks_json(pfa_leaks_t *leaks, size_t top, FILE *to);

#endif
