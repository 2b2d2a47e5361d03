/* The parts of `profalloc diff`: its command line (diff.c), and what it found for people and for programs. */
#ifndef PFA_ANALYZE_DIFF_DIFF_H
#define PFA_ANALYZE_DIFF_DIFF_H

#include "analyze/diff/compare.h"

/* So many points in each list, and which metrics there are lists by. */
void pfa_diff_text(const pfa_comparison_t *comparison, size_t top, const pfa_diff_metric_t *metrics,
                   size_t metric_count);
void pfa_diff_json(const pfa_comparison_t *comparison, size_t top, pfa_diff_metric_t metric);

#endif
