/* The thresholds of scores and inferences (analyze/points/thresholds.def) as options. */
#ifndef PFA_CLI_THRESHOLDS_H
#define PFA_CLI_THRESHOLDS_H

#include "analyze/points/memoro.h"

#include <getopt.h>
#include <stdio.h>

/* The table for getopt has their vals from here on. */
enum { PFA_THRESHOLD_FIRST = 200 };
extern const struct option pfa_threshold_options[];
/* One of them. False: it was wrong, which was said. */
bool pfa_thresholds_take(pfa_thresholds_t *thresholds, const char *command, int option, const char *value);
void pfa_thresholds_usage(FILE *to);

#endif
