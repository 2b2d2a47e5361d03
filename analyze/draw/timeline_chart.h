/* Timelines as pictures: in bytes, or in chunks. */
#ifndef PFA_ANALYZE_DRAW_TIMELINE_CHART_H
#define PFA_ANALYZE_DRAW_TIMELINE_CHART_H

#include "analyze/draw/term.h"
#include "analyze/timeline/timeline.h"

#include <stdio.h>

/* Then, unless `notes` is NULL, what is missing and remarks go there. 0 or an error number, as of pfa_answer_write. */
int pfa_timeline_term(pfa_timeline_t *timeline, FILE *to, const pfa_term_t *term, bool chunks, FILE *notes);
int pfa_timeline_svg(pfa_timeline_t *timeline, FILE *to, bool chunks, FILE *notes);

#endif
