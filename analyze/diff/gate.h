/* The parts of `profalloc gate`: limits and whether they hold (limits.c), and the answer for people
 * (gate_text.c), for programs (gate_json.c) and for code review (sarif.c). */
#ifndef PFA_ANALYZE_DIFF_GATE_H
#define PFA_ANALYZE_DIFF_GATE_H

#include "analyze/diff/compare.h"

#include <stdio.h>

typedef enum pfa_scope { PFA_SCOPE_TOTAL, PFA_SCOPE_POINT, PFA_SCOPE_GROWTH, PFA_SCOPE_LEAK } pfa_scope_t;

typedef enum pfa_limit_number {
#define PFA_LIMIT(id, option, metric, scope, meaning) PFA_LIMIT_##id,
#include "analyze/diff/limits.def"
#undef PFA_LIMIT
    PFA_LIMITS
} pfa_limit_number_t;

typedef struct pfa_limit_facts {
    const char *option;
    const char *meaning;
    pfa_diff_metric_t metric;
    pfa_scope_t scope;
} pfa_limit_facts_t;

extern const pfa_limit_facts_t pfa_limits[PFA_LIMITS];

/* How much more there may be. */
typedef struct pfa_limit {
    const char *text; /* as it was given; NULL: it was not */
    double value;
    bool is_share; /* of the base */
} pfa_limit_t;

typedef enum pfa_judgement {
    PFA_JUDGED_WITHIN,
    PFA_JUDGED_UNSURE, /* beyond, but not by more than it is sure */
    PFA_JUDGED_EXCEEDED
} pfa_judgement_t;

/* What came of a limit. */
typedef struct pfa_outcome {
    pfa_limit_number_t number;
    pfa_judgement_t verdict;
    double base;
    double now;
    double difference;
    double allowed; /* of the difference; of points that of none of them */
    double margin;
    uint32_t *points; /* pairs that are beyond, or of a total those that grew most; the worst first */
    size_t point_count;
} pfa_outcome_t;

typedef struct pfa_gate {
    pfa_comparison_t *comparison;
    pfa_limit_t limits[PFA_LIMITS];
    double min_bytes; /* a point that grew by less does not fail in percent */
    double min_count;
    const char *source_root; /* that files are told relative to; NULL: the working directory */
    size_t top;
    const pfa_diff_metric_t
        *sort; /* points behind limits are in the order of how much this grew; NULL: of the limit's own */
    pfa_outcome_t outcomes[PFA_LIMITS];
    size_t outcome_count;
    bool exceeded;
} pfa_gate_t;

/* "5%", and with units of analyze/base/units.h "10M", "200": false if it is none of these. */
bool pfa_limit_parse(pfa_limit_t *limit, const char *text, bool is_bytes);
/* Fills the outcomes, in the arena of the comparison. 0 or an error number, as of pfa_answer_write; so do the writers. */
int pfa_gate_judge(pfa_gate_t *gate);
const char *pfa_judgement_name(pfa_judgement_t verdict);

int pfa_gate_text(const pfa_gate_t *gate, FILE *to);
int pfa_gate_json(const pfa_gate_t *gate, FILE *to);
/* One sentence about an outcome, and about one of its points. */
void pfa_gate_sentence(FILE *to, const pfa_outcome_t *outcome, const pfa_gate_t *gate);
void pfa_gate_point_sentence(FILE *to, const pfa_outcome_t *outcome, const pfa_gate_t *gate, const pfa_pair_t *pair);
/* The outcomes as SARIF 2.1.0, of a tool that ends with `status` if a limit is exceeded. */
int pfa_gate_sarif(const pfa_gate_t *gate, int status, FILE *to);

#endif
