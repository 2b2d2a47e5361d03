/* What `profalloc diff` tells of a comparison, for people and for programs. */
#ifndef PFA_ANALYZE_DIFF_DIFF_H
#define PFA_ANALYZE_DIFF_DIFF_H

#include "analyze/diff/compare.h"

#include <stdio.h>

/* So many points in each list, and which metrics there are lists by. 0 or an error number, as of pfa_answer_write. */
int pfa_diff_text(pfa_comparison_t *comparison, size_t top, const pfa_diff_metric_t *metrics, size_t metric_count,
                  FILE *to);
int pfa_diff_json(pfa_comparison_t *comparison, size_t top, pfa_diff_metric_t metric, FILE *to);

#endif
