/* Characters in rows and columns, with axes around them; for the files of analyze/draw/term.h alone. */
#ifndef PFA_ANALYZE_DRAW_TERM_CANVAS_H
#define PFA_ANALYZE_DRAW_TERM_CANVAS_H

#include "analyze/draw/scale.h"
#include "analyze/draw/term.h"

#include <stdio.h>

/* Colours are those of series and one; 0 is the terminal's own. */
typedef struct pfa_cell {
    uint32_t glyph; /* 0: nothing */
    uint8_t front;
    uint8_t back;
} pfa_cell_t;

typedef struct pfa_canvas {
    const pfa_term_t *term;
    FILE *to;
    unsigned width;  /* columns of the plot */
    unsigned height; /* rows */
    pfa_cell_t *cells;
    pfa_scale_t x;
    pfa_scale_t y;
} pfa_canvas_t;

enum { PFA_CANVAS_LABELS = 10, PFA_COLOUR_REST = 21, PFA_COLOUR_MARKED = 22 };

/* And one to eight: so many eighths of a cell, from its floor. */
enum { PFA_GLYPH_EIGHTH = 0x2580 };

pfa_canvas_t pfa_canvas_new(FILE *to, const pfa_term_t *term);
void pfa_canvas_free(pfa_canvas_t *canvas);
/* Row 0 is at the bottom. */
pfa_cell_t *pfa_canvas_at(pfa_canvas_t *canvas, unsigned column, unsigned row);
unsigned pfa_canvas_column(const pfa_canvas_t *canvas, double value);
unsigned pfa_canvas_row(const pfa_canvas_t *canvas, double value);
/* The title, the plot with its axes, and their names. */
void pfa_canvas_put(const pfa_canvas_t *canvas, const char *title, const char *note, const pfa_axis_t *x,
                    const pfa_axis_t *y);

void pfa_canvas_head(FILE *to, const pfa_term_t *term, const char *title, const char *note);
/* From here on; both 0: as it was. Nothing where there are no colours. */
void pfa_canvas_colour(FILE *to, const pfa_term_t *term, unsigned front, unsigned back);
/* a to z, then A to Z. */
char pfa_canvas_letter(size_t number);

#endif
