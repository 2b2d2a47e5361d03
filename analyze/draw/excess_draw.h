/* Pictures of excessive allocation (analyze/excess/excess.h). */
#ifndef PFA_ANALYZE_DRAW_EXCESS_DRAW_H
#define PFA_ANALYZE_DRAW_EXCESS_DRAW_H

#include "analyze/draw/term.h"
#include "analyze/excess/excess.h"

#include <stdio.h>

/* The diagram of frequency and lifetime, and the chart of ratios, as SVG. 0 or an error number, as of pfa_answer_write. */
int pfa_excess_diagram(pfa_excess_t *excess, FILE *to);
int pfa_excess_chart(pfa_excess_t *excess, FILE *to);
/* Both as characters, for who gives pfa_excess_text a function that draws. */
void pfa_excess_put_charts(FILE *to, const pfa_term_t *term, const pfa_excess_t *excess);

#endif
