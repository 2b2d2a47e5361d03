/* What the command lines of `diff` and `gate` have in common: two sides. */
#ifndef PFA_CLI_SIDES_H
#define PFA_CLI_SIDES_H

#include "analyze/diff/compare.h"
#include "cli/request.h"

/* How many arguments are behind "--"; SIZE_MAX: there is no such word. Before getopt takes it away. */
size_t pfa_sides_behind(int argc, char **argv);
/* The first file and the second, or those before and behind "--". False: there are others, which was said. */
bool pfa_sides_split(const pfa_request_t *request, size_t behind, pfa_side_files_t sides[PFA_SIDES]);
/* What --sort of a request asks for. False: there is no such metric, which was said. */
bool pfa_sides_metric(const pfa_request_t *request, pfa_diff_metric_t *metric);

#endif
