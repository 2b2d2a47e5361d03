/* Charts as SVG: one file each, nothing loaded from elsewhere, the same bytes for the same chart. They fit any width, follow
 * the reader's choice of light or dark, and tell figures where they are pointed at. */
#ifndef PFA_ANALYZE_DRAW_SVG_H
#define PFA_ANALYZE_DRAW_SVG_H

#include "analyze/draw/chart.h"

#include <stdio.h>

void pfa_svg_area(FILE *to, const pfa_area_t *chart);
void pfa_svg_scatter(FILE *to, const pfa_scatter_t *chart);
void pfa_svg_bars(FILE *to, const pfa_bars_t *chart);

/* A text as part of XML, in elements and in attributes. */
void pfa_svg_put(FILE *to, const char *text);
/* The same of at most so many characters; the last is an ellipsis if there are more. */
void pfa_svg_put_cut(FILE *to, const char *text, size_t most);

#endif
