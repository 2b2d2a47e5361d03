/* What charts are made of, whoever draws them: analyze/draw/svg.h into a file, analyze/draw/term.h on a terminal.
 *
 * Texts are as they were found: drawing escapes, cuts and cleans them. Figures that are no numbers are drawn as 0, and what is
 * not above 0 lies on the edge of a logarithmic axis; the text at the mark has the true figure. */
#ifndef PFA_ANALYZE_DRAW_CHART_H
#define PFA_ANALYZE_DRAW_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum pfa_unit { PFA_UNIT_NUMBER, PFA_UNIT_BYTES, PFA_UNIT_SECONDS } pfa_unit_t;

typedef struct pfa_axis {
    const char *name; /* NULL: it needs none */
    pfa_unit_t unit;
    bool logarithmic;
} pfa_axis_t;

/* One of several amounts over time. */
typedef struct pfa_series {
    const char *name;
    const double *values; /* one for each time */
    bool rest;            /* all that have no series of their own: drawn in grey */
} pfa_series_t;

/* More than these are not told apart by colour. */
enum { PFA_SERIES_MOST = 20 };

/* Amounts over time. Stacked, they lie on each other, the first at the bottom; else each is a line. */
typedef struct pfa_area {
    const char *title;
    const char *note; /* a line below the title; NULL: none */
    pfa_axis_t x;
    pfa_axis_t y;
    const double *times; /* ascending */
    size_t count;
    const pfa_series_t *series;
    size_t series_count;
    bool stacked;
    bool named;         /* series are told by name even if there is but one */
    const double *most; /* a dashed line above: what the sum was at most around each time; NULL: none */
} pfa_area_t;

typedef struct pfa_dot {
    double x;
    double y;
    const char *title; /* shown at the dot when it is pointed at; NULL: none */
    const char *label; /* of one that is to be seen among the others; else NULL */
} pfa_dot_t;

typedef struct pfa_scatter {
    const char *title;
    const char *note;
    pfa_axis_t x;
    pfa_axis_t y;
    const pfa_dot_t *dots;
    size_t count;
} pfa_scatter_t;

typedef struct pfa_bar {
    const char *name;
    const char *title; /* shown when it is pointed at; NULL: the name */
    double value;
    bool marked; /* to be seen among the others */
} pfa_bar_t;

typedef struct pfa_bars {
    const char *title;
    const char *note;
    const char *x_name; /* what each bar stands for; NULL: it needs no word */
    pfa_axis_t y;
    const pfa_bar_t *bars;
    size_t count;
    const char *limit_name; /* a line across all bars, with this name; NULL: none */
    double limit;
} pfa_bars_t;

struct pfa_query;
/* "WHAT: the program", or how many traces there are; the caller frees it. (analyze/draw/title.c) */
char *pfa_chart_title(const struct pfa_query *query, const char *what);

#endif
