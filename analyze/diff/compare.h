/* Two sides, each one or several runs, compared: the allocation points of all of them matched, and what changed.
 *
 * Points are the same if their identity is. Those that only one side has are then matched by their addresses, if both sides are of
 * one build and one of them has no names; then by their looser name, and at last, if they have the same function that allocates, by whether the functions of one are all among those of the other, in order: that is
 * how a compiler leaves callers out. */
#ifndef PFA_ANALYZE_DIFF_COMPARE_H
#define PFA_ANALYZE_DIFF_COMPARE_H

#include "analyze/base/json.h"
#include "analyze/base/memory.h"
#include "analyze/base/text.h"
#include "analyze/diff/change.h"
#include "analyze/diff/summary.h"

#include <stdio.h>

typedef struct pfa_side {
    pfa_summary_t *runs;
    size_t count;
    size_t room;
} pfa_side_t;

/* What became of a point. */
typedef enum pfa_fate {
    PFA_FATE_SAME,    /* all its values are equal */
    PFA_FATE_UNSURE,  /* none of the differences is significant */
    PFA_FATE_CHANGED, /* it is on both sides, and at least one is */
    PFA_FATE_NEW,
    PFA_FATE_GONE,
    PFA_FATES
} pfa_fate_t;

typedef struct pfa_pair {
    const pfa_summary_point_t *shown; /* of the new side, if it is there */
    size_t there[PFA_SIDES];          /* in so many runs */
    uint32_t stacks;                  /* most that one run has of it */
    bool loose;                       /* it was matched by more than its identity */
    pfa_fate_t fate;
    pfa_sums_t *sums; /* by run: the base's, then the new ones */
    double leaked[PFA_SIDES];
    double leak_growth;
    pfa_change_t changes[PFA_DIFF_METRICS];
    pfa_change_t scores[PFA_SCORES]; /* means are NaN where they are not known */
} pfa_pair_t;

/* Scores depend on times, which are never twice the same: what is less is not worth telling. */
#define PFA_SCORE_TELLING 0.1

typedef struct pfa_comparison {
    pfa_memory_t *memory;
    pfa_symbols_t *texts;
    pfa_side_t sides[PFA_SIDES];
    bool per_second; /* what flows is divided by the run's seconds */
    pfa_pair_t *pairs;
    size_t count;
    pfa_change_t totals[PFA_DIFF_METRICS];
    pfa_change_t scores[PFA_SCORES]; /* geometric means over all points */
    /* By how much the bytes live at the end are significantly more, added up over the points where they are: what is less
     * elsewhere does not make good for it. */
    double live_growth;
    /* Mean bytes that leaks calls a leak, of each side, and by how much they are more, added up likewise over points whose live
     * bytes are more, too: another verdict on the same chunks is no new leak. */
    double leaked[PFA_SIDES];
    double leak_growth;
    size_t fates[PFA_FATES]; /* so many pairs */
    /* Points of one side alone with a frame that has no name: the other may have them, too, in another build. */
    size_t nameless[PFA_SIDES];
} pfa_comparison_t;

typedef struct pfa_comparison_options {
    pfa_session_options_t session; /* of the traces */
    const pfa_question_t *question;
    bool with_leaks; /* what leaks says of them, too */
    bool per_second;
} pfa_comparison_options_t;

/* Files of a side: traces, each a run but for those that one `profalloc run` wrote, and saved summaries; and sessions, each a run. */
typedef struct pfa_side_files {
    char *const *files;
    size_t count;
    pfa_session_t *const *sessions;
    size_t session_count;
} pfa_side_files_t;

/* Reads both sides and compares them; with nothing in the base, the other one is only read. 0 or an error number, as of pfa_answer_make; also if
 * a trace cannot be read; EINVAL: a file is no summary, or the sides cannot be compared. What it is was said. (analyze/diff/sides.c) */
int pfa_comparison_collect(const pfa_comparison_options_t *options, const pfa_side_files_t sides[PFA_SIDES],
                           pfa_comparison_t **comparison);
/* NULL is none. */
void pfa_comparison_free(pfa_comparison_t *comparison);
/* Has something done with it in its arena: 0 or an error number, as of pfa_answer_write. */
int pfa_comparison_work(pfa_comparison_t *comparison, void (*work)(void *to), void *to);

/* Fills the pairs, and what changed. Both sides have a run at least. (analyze/diff/compare.c) */
void pfa_comparison_make(pfa_comparison_t *comparison);
/* Numbers of the pairs with the largest growth (`sign` 1) or shrinking (-1) in a metric first; with 0 the largest value on either
 * side. Equal ones by name. The caller frees them. */
uint32_t *pfa_comparison_order(const pfa_comparison_t *comparison, pfa_diff_metric_t metric, int sign);
/* Whether a score is known on both sides, and fell by more than is left untold. */
bool pfa_pair_is_worse(const pfa_pair_t *pair);
const char *pfa_fate_name(pfa_fate_t fate);

/* What texts and JSON of diff and gate share. (analyze/diff/tell.c) */
const char *pfa_tell_value(char text[PFA_NUMBER_TEXT], pfa_diff_metric_t metric, double value);
/* With its sign, always. */
const char *pfa_tell_difference(char text[PFA_NUMBER_TEXT], pfa_diff_metric_t metric, double value);
/* "+12.3 %", "new". */
const char *pfa_tell_percent(char text[PFA_NUMBER_TEXT], const pfa_change_t *change);
void pfa_tell_side(FILE *to, const pfa_comparison_t *comparison, unsigned side);
void pfa_tell_notes(FILE *to, const pfa_comparison_t *comparison);
void pfa_tell_stack(FILE *to, const pfa_pair_t *pair, const char *indent);
void pfa_tell_sides_json(pfa_json_t *json, const pfa_comparison_t *comparison);
void pfa_tell_change_json(pfa_json_t *json, const char *key, const pfa_change_t *change);
/* As the member "scores". */
void pfa_tell_scores_json(pfa_json_t *json, const pfa_change_t scores[PFA_SCORES]);
void pfa_tell_pair_json(pfa_json_t *json, const pfa_pair_t *pair);

#endif
