/* What to change in a program, found in what is known of its allocation points, ranked by what it would bring.
 *
 * Bytes are those by which the program's peak would be lower. No more than those of the chunks that were alive at the peak and were
 * never read, not touched, no longer used or not used yet (analyze/points/at_peak.h), or never freed where `profalloc leaks` says that
 * they grow; and since the peak then is at another moment, no
 * more than lies between it and the highest of 1024 moments, spread evenly over the run, without what the change lets go of
 * (analyze/advise/savings.c). Between these moments there may be more, so that this is a bound from above. Calls are pairs of allocation and free that would not be
 * made; time is what these and the copying of growing buffers cost. The rank is the sum of both as shares: of the run's time and
 * of the peak, or of a mebibyte if the peak is less. All is estimated from the recorded lives, as if the rest of the program went on as it did. */
#ifndef PFA_ANALYZE_ADVISE_FINDINGS_H
#define PFA_ANALYZE_ADVISE_FINDINGS_H

#include "analyze/base/json.h"
#include "analyze/advise/kept.h"
#include "analyze/points/report.h"

#include <stdio.h>

typedef enum pfa_advice {
#define PFA_FINDING(name, title) PFA_ADVICE_##name,
#include "analyze/advise/findings.def"
#undef PFA_FINDING
    PFA_ADVICES
} pfa_advice_t;

extern const char *const pfa_advice_names[PFA_ADVICES];
extern const char *const pfa_advice_titles[PFA_ADVICES];

typedef enum pfa_sure { PFA_SURE_LOW, PFA_SURE_MEDIUM, PFA_SURE_HIGH } pfa_sure_t;
extern const char *const pfa_sure_names[];

/* What ranks below is worth no change: a hundredth of a percent of the run, or of the peak. But what there is no estimate of, which has no
 * rank, may be. */
#define PFA_FINDING_WORTH 1e-4
/* Unless it saves so much time: a server waits for most of its run. */
#define PFA_FINDING_WORTH_NS 1e6

typedef struct pfa_finding {
    pfa_advice_t advice;
    uint32_t point;   /* of the report; the first of several */
    uint32_t *points; /* of a pool for several: all of them; else NULL */
    size_t point_count;
    double bytes;
    double calls;
    double ns;
    double bytes_variance; /* of these estimates, if chunks were sampled */
    double calls_variance;
    double ns_variance;
    double rank;
    pfa_sure_t sure;
    const char *unsure; /* why it is no surer; NULL: of too few chunks, or it is */
    double chunks;      /* that it holds for, */
    double share;       /* and what share of the point's, or points', they are */
    double rows;        /* of these: chunks that were seen, not weighted */
    /* Changes of one point are alternatives. */
    pfa_advice_t instead_of; /* the best of this point; PFA_ADVICES: this is the best */
    bool other;              /* in the order of the list: not the first of its point */
    size_t next;             /* likewise: the next of the same point; 0: none */
} pfa_finding_t;

typedef struct pfa_findings {
    pfa_finding_t *list; /* the best first */
    size_t count;
    size_t worth; /* of them: the first so many save more than next to nothing, or nobody can say what */
    size_t room;
    double pair_ns; /* what an allocation and its free cost, */
    bool measured;  /* as the trace tells; else it is assumed */
    double ns_most; /* no change saves more: all that the allocator took, or the run */
    double run_ns;  /* of the program, as far as known without what recording took */
    double peak;
    const char *peak_words; /* what it is called */
    bool sampled;
} pfa_findings_t;

/* Points with what it takes for advice. 0 or an error number, as of pfa_answer_make. (analyze/advise/advised.c) */
int pfa_advice_collect(pfa_session_t *session, const pfa_question_t *question, const pfa_points_options_t *options,
                       pfa_report_t **report);

/* Findings by rank, or by another of the orders: so many points as text (0: those that are worth a change), so many findings as JSON. 0 or an
 * error number, as of pfa_answer_write. (analyze/advise/advise_text.c) */
int pfa_advice_text(pfa_report_t *report, size_t top, const char *order, FILE *to);
int pfa_advice_json(pfa_report_t *report, size_t top, const char *order, FILE *to);
/* rank, bytes, calls, time, sure. */
bool pfa_advice_is_order(const char *name);

void pfa_findings_make(pfa_findings_t *findings, const pfa_report_t *report);
void pfa_findings_free(pfa_findings_t *findings);
/* Looks at other moments than the peak, in a walk of its own, if there are findings that save bytes: what of them the peak needs
 * elsewhere. False: a file can no longer be read, as of pfa_query_walk. */
bool pfa_savings_weigh(pfa_report_t *report);
/* (analyze/advise/order.c) The best first, pools joined, alternatives and worth known. */
void pfa_findings_sort(pfa_findings_t *findings, const pfa_report_t *report);
/* By rank, those without an estimate behind what is worth a change; equal ones in the order of their points. For qsort. */
int pfa_findings_compare(const void *a, const void *b);
/* After each sorting: which are of the same point. */
void pfa_findings_link(pfa_findings_t *findings);
/* How many points the first so many are of. */
size_t pfa_findings_points(const pfa_findings_t *findings, size_t among);
/* Ranks one by what it saves, which is no more than there is, and judges how sure it is by how many chunks it is of. */
void pfa_finding_judge(const pfa_findings_t *findings, pfa_finding_t *one);
/* Pools of the same function, or, where it has no name, of the same place in it, become one: of the best thousand findings, which
 * come first. (analyze/advise/pools.c) */
void pfa_findings_join(pfa_findings_t *findings, const pfa_report_t *report);

/* How many points the report tells the findings of. */
enum { PFA_FINDINGS_SHOWN = 5, PFA_FINDINGS_PICKED = PFA_FINDINGS_SHOWN * PFA_ADVICES };
/* The places in the list of those that it tells: of the best points, of each the best finding and then its others. Returns how
 * many. */
size_t pfa_findings_pick(const pfa_findings_t *findings, size_t most, size_t picked[PFA_FINDINGS_PICKED]);

/* What to do about it and why, in one sentence. */
void pfa_finding_sentence(FILE *to, const pfa_finding_t *finding, pfa_report_t *report);
/* What it would bring, in few words. */
void pfa_finding_gain(FILE *to, const pfa_finding_t *finding, const pfa_findings_t *findings);
/* All of the one at this place of the list, with its point, and the others of this point that are among the first so many. (analyze/advise/finding_text.c) */
void pfa_finding_print(FILE *to, pfa_report_t *report, const pfa_findings_t *findings, size_t at, size_t rank,
                       size_t among);
/* "parse (a.c:3) < read (a.c:9) < ...": the calls of a stack from this line on, up to main. (analyze/advise/finding_text.c) */
void pfa_finding_print_calls(FILE *to, const pfa_lines_t *lines, size_t from);
/* The points that hold most of the peak, and what tells more of them. (analyze/advise/held.c) */
void pfa_held_print(FILE *to, pfa_report_t *report);
void pfa_held_json(pfa_json_t *json, pfa_report_t *report);
/* An object of a JSON array. (analyze/advise/findings_json.c) */
void pfa_finding_json(pfa_json_t *json, pfa_report_t *report, const pfa_finding_t *finding);

#endif
