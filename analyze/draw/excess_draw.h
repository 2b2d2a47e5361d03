/* Pictures of excessive allocation (analyze/excess/excess.h). */
#ifndef PFA_ANALYZE_DRAW_EXCESS_DRAW_H
#define PFA_ANALYZE_DRAW_EXCESS_DRAW_H

#include "analyze/excess/excess.h"

#include <stdio.h>

/* The diagram of frequency and lifetime, and the chart of ratios, as SVG. 0 or an error number, as of pfa_answer_write. */
int pfa_excess_diagram(pfa_excess_t *excess, FILE *to);
int pfa_excess_chart(pfa_excess_t *excess, FILE *to);
/* Both as characters: for pfa_excess_text. */
void pfa_excess_charts(FILE *to, const pfa_excess_t *excess);

#endif
