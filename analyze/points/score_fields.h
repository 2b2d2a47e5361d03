/* Scores of allocation points for expressions: `usage < 0.2`, `severity >= 9`. */
#ifndef PFA_ANALYZE_POINTS_SCORE_FIELDS_H
#define PFA_ANALYZE_POINTS_SCORE_FIELDS_H

#include "analyze/query/query.h"

/* For pfa_session_options_t. With the standard thresholds. */
int pfa_points_score(pfa_query_t *query, pfa_scored_t *scored);

#endif
