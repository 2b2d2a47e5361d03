/* What the charts of analyze/draw/svg.h share; for their files alone. */
#ifndef PFA_ANALYZE_DRAW_SVG_PLOT_H
#define PFA_ANALYZE_DRAW_SVG_PLOT_H

#include "analyze/draw/scale.h"
#include "analyze/draw/svg.h"

#include <stdio.h>

/* The rectangle that figures are drawn in. */
typedef struct pfa_plot {
    FILE *to;
    double left;
    double top;
    double width;
    double height;
    pfa_scale_t x;
    pfa_scale_t y;
} pfa_plot_t;

enum { PFA_SVG_WIDTH = 960, PFA_SVG_HEIGHT = 480 };

/* The head of the file with the colours, the title and the note; a plot that leaves so much room at its right and below. */
pfa_plot_t pfa_plot_begin(FILE *to, const char *title, const char *note, double right, double below);
void pfa_plot_end(const pfa_plot_t *plot);

/* Grid lines, figures and names of the axes. */
void pfa_plot_x_axis(const pfa_plot_t *plot, const pfa_axis_t *axis);
void pfa_plot_y_axis(const pfa_plot_t *plot, const pfa_axis_t *axis);

double pfa_plot_x(const pfa_plot_t *plot, double value);
double pfa_plot_y(const pfa_plot_t *plot, double value);

/* <title>NAME: FIGURE</title>, shown when what it is in is pointed at. */
void pfa_plot_tip(const pfa_plot_t *plot, const char *name, pfa_unit_t unit, double value);
/* The class of a colour: c0 to c19, or that of the rest. Writes into `text`. */
const char *pfa_plot_colour(size_t number, bool rest, char text[8]);

#endif
