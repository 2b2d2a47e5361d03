/* Owns the figures of amounts over time. See analyze/draw/area.h. */
#include "analyze/draw/area.h"

#include <math.h>

double pfa_area_value(const pfa_area_t *chart, size_t series, size_t at)
{
    double value = chart->series[series].values[at];
    return isfinite(value) && value > 0 ? value : 0;
}

double pfa_area_sum(const pfa_area_t *chart, size_t at)
{
    double sum = 0;
    for (size_t i = 0; i < chart->series_count; i++) {
        double value = pfa_area_value(chart, i, at);
        sum = chart->stacked ? sum + value : fmax(sum, value);
    }
    return sum;
}

double pfa_area_peak(const pfa_area_t *chart, size_t series)
{
    double peak = 0;
    for (size_t i = 0; i < chart->count; i++) {
        peak = fmax(peak, pfa_area_value(chart, series, i));
    }
    return peak;
}

void pfa_area_scales(const pfa_area_t *chart, unsigned x_ticks, unsigned y_ticks, pfa_scale_t *x, pfa_scale_t *y)
{
    pfa_range_t times = {.any = false};
    pfa_range_t amounts = {.any = false};
    for (size_t i = 0; i < chart->count; i++) {
        pfa_range_take(&times, &chart->x, chart->times[i]);
        pfa_range_take(&amounts, &chart->y, pfa_area_sum(chart, i));
        if (chart->most != NULL) {
            pfa_range_take(&amounts, &chart->y, chart->most[i]);
        }
    }
    *x = pfa_scale_make(&chart->x, &times, x_ticks, false, true);
    *y = pfa_scale_make(&chart->y, &amounts, y_ticks, true, false);
}
