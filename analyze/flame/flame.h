/* What a flame graph of a query shows: an amount for each call stack, or for each group (--by) and call stack. */
#ifndef PFA_ANALYZE_FLAME_FLAME_H
#define PFA_ANALYZE_FLAME_FLAME_H

#include "analyze/names/sight.h"
#include "analyze/query/answer.h"
#include "analyze/points/summit.h"
#include "analyze/base/slots.h"

#include <stdio.h>

typedef enum pfa_metric {
#define PFA_METRIC(id, name, meaning) PFA_METRIC_##id,
#include "analyze/flame/metrics.def"
#undef PFA_METRIC
    PFA_METRICS
} pfa_metric_t;

typedef struct pfa_amount {
    uint32_t stack; /* of the query */
    uint32_t group; /* 0 without a key */
    double value;
    double variance; /* if it is an estimate */
} pfa_amount_t;

typedef struct pfa_amounts {
    pfa_answer_t answer;
    pfa_query_t *query;
    pfa_metric_t metric;
    double at_ns;
    pfa_amount_t *list; /* as they were met */
    size_t count;
    size_t room;
    pfa_slots_t slots; /* by stack and group */
    size_t last;       /* that was asked for */
    double total;
    double variance; /* of the total, if it is an estimate */
    double seconds;  /* of the moment, if there is one */
    bool has_moment;
    bool has_accesses; /* of any chunk */
    double without;    /* chunks whose accesses are not known, if that is asked, */
    double blind;      /* and those of code that is not instrumented */
    pfa_sights_t sights;
    double folded_chunks; /* that are not in this, since they are known in sums only */
    double folded_bytes;
} pfa_amounts_t;

typedef struct pfa_amounts_options {
    pfa_metric_t metric;
    double at_ns; /* of PFA_METRIC_AT */
} pfa_amounts_options_t;

extern const char *const pfa_metric_names[PFA_METRICS];

/* One walk; of the peak two or three. 0 or an error number, as of pfa_answer_make; ENOTSUP: what is asked for was not recorded; ERANGE: the
 * recording ends before that moment. Both were said. */
int pfa_amounts_collect(pfa_session_t *session, const pfa_question_t *question, const pfa_amounts_options_t *options,
                        pfa_amounts_t **amounts);
/* 0 or an error number, as of pfa_answer_write. (analyze/flame/flame_json.c) */
int pfa_amounts_json(pfa_amounts_t *amounts, FILE *to);
/* "12.3 MiB +- 0.1 MiB (an estimate; 95 %)" */
void pfa_amounts_put_total(const pfa_amounts_t *amounts, FILE *to);

#endif
