/* From figures to places on an axis: its range, round ticks, and figures as people read them. */
#ifndef PFA_ANALYZE_DRAW_SCALE_H
#define PFA_ANALYZE_DRAW_SCALE_H

#include "analyze/draw/chart.h"
#include "analyze/base/text.h"

enum { PFA_TICKS_MOST = 32 };

typedef struct pfa_scale {
    bool logarithmic;
    double low;
    double high;
    pfa_unit_t unit;
    double factor;      /* of the unit that all ticks of a linear scale are told in, */
    const char *suffix; /* and what it is called */
    double ticks[PFA_TICKS_MOST];
    unsigned tick_count;
} pfa_scale_t;

/* The range of some figures, for a scale. Of a logarithmic axis, only those above 0 count. */
typedef struct pfa_range {
    double low;
    double high;
    bool any;
} pfa_range_t;

void pfa_range_take(pfa_range_t *range, const pfa_axis_t *axis, double value);

/* A scale over at least this range, with about `wanted` ticks. `from_zero`: a linear one begins at 0; `tight`: a linear one
 * ends where the range does, not at a tick. */
pfa_scale_t pfa_scale_make(const pfa_axis_t *axis, const pfa_range_t *range, unsigned wanted, bool from_zero,
                           bool tight);
/* Where a figure is: 0 at the low end to 1 at the high one. What is beyond lies on the edge. */
double pfa_scale_place(const pfa_scale_t *scale, double value);
const char *pfa_scale_tick(const pfa_scale_t *scale, unsigned tick, char text[PFA_NUMBER_TEXT]);

/* A single figure: "1.5 MiB", "20 ms", "1,234". */
const char *pfa_unit_text(pfa_unit_t unit, double value, char text[PFA_NUMBER_TEXT]);

#endif
