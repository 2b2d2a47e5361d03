/* Figures of amounts over time, the same for all who draw them; for the files of analyze/draw alone. */
#ifndef PFA_ANALYZE_DRAW_AREA_H
#define PFA_ANALYZE_DRAW_AREA_H

#include "analyze/draw/scale.h"

/* Of a series at a time, as it is drawn: 0 if it is no number, or below. */
double pfa_area_value(const pfa_area_t *chart, size_t series, size_t at);
/* How high all series reach at a time. */
double pfa_area_sum(const pfa_area_t *chart, size_t at);
double pfa_area_peak(const pfa_area_t *chart, size_t series);
/* Both axes, with about so many ticks. */
void pfa_area_scales(const pfa_area_t *chart, unsigned x_ticks, unsigned y_ticks, pfa_scale_t *x, pfa_scale_t *y);

#endif
