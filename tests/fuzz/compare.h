/* Two files compared, as diff and gate tell it. */
#ifndef PFA_TESTS_FUZZ_COMPARE_H
#define PFA_TESTS_FUZZ_COMPARE_H

#include "analyze/diff/compare.h"

#include <stdio.h>

/* As JSON, and as text with so many points. An error number, as of pfa_comparison_collect; so does the next. */
int pfa_fuzz_diff(const pfa_comparison_options_t *options, const char *base, const char *other, size_t top, FILE *to);
/* With this limit on everything, by itself and by point: as text, JSON and SARIF. */
int pfa_fuzz_gate(const pfa_comparison_options_t *options, const char *base, const char *other, const char *limit,
                  FILE *to);
/* Saves what a comparison needs of a trace; for work with an arena. */
int pfa_fuzz_save(const pfa_comparison_options_t *options, const char *trace, const char *to);

#endif
