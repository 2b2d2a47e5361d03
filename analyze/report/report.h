/* What `profalloc report` tells of points and advice (analyze/advise/findings.h), for people and for programs. */
#ifndef PFA_ANALYZE_REPORT_REPORT_H
#define PFA_ANALYZE_REPORT_REPORT_H

#include "analyze/advise/findings.h"
#include "analyze/base/json.h"

#include <stdio.h>

/* A list of so many points by each of the orders; all points, or so many, by one. 0 or an error number, as of pfa_answer_write. */
int pfa_report_text(pfa_report_t *report, size_t top, const pfa_order_t *orders, size_t order_count, FILE *to);
int pfa_report_json(pfa_report_t *report, size_t top, pfa_order_t order, FILE *to);
/* A few lines, of a single trace. */
int pfa_report_summary(pfa_report_t *report, FILE *to);

/* For the files of this folder. */
/* The head of the text: scores and what is worth a change. (analyze/report/score_text.c) */
void pfa_score_text(FILE *to, pfa_report_t *report, size_t top);
/* Members of an object: what the scores and inferences are. (analyze/report/score_json.c) */
void pfa_score_json(pfa_json_t *json, pfa_report_t *report);
void pfa_score_json_findings(pfa_json_t *json, pfa_report_t *report, size_t top);
/* Their parts about accesses. (analyze/report/access_text.c, analyze/report/access_json.c) */
void pfa_access_text(FILE *to, pfa_report_t *report, size_t top, pfa_order_t order);
void pfa_access_json(pfa_json_t *json, const pfa_report_t *report);
void pfa_access_json_remarks(pfa_report_t *report);

#endif
