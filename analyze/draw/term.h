/* The charts of analyze/draw/chart.h on a terminal, or in a text file of the width of one: with block characters and colours
 * where these can be shown, else with letters. */
#ifndef PFA_ANALYZE_DRAW_TERM_H
#define PFA_ANALYZE_DRAW_TERM_H

#include "analyze/draw/chart.h"

#include <stdio.h>

typedef struct pfa_term {
    unsigned width;  /* columns */
    unsigned height; /* rows of a plot, without its axis */
    bool utf8;
    bool colour;
} pfa_term_t;

/* Who asks for a chart says what it is drawn on: nothing here looks at the file, the locale or the environment. */
enum { PFA_TERM_NARROWEST = 40, PFA_TERM_WIDEST = 200, PFA_TERM_WIDTH = 80, PFA_TERM_HEIGHT = 16 };

void pfa_term_area(FILE *to, const pfa_term_t *term, const pfa_area_t *chart);
void pfa_term_scatter(FILE *to, const pfa_term_t *term, const pfa_scatter_t *chart);
/* A line for each bar. */
void pfa_term_bars(FILE *to, const pfa_term_t *term, const pfa_bars_t *chart);

/* A text of at most so many columns, without what could move the cursor; returns how many it took. */
unsigned pfa_term_put(FILE *to, const pfa_term_t *term, const char *text, size_t most);

#endif
