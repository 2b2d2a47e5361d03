/* Owns amounts over time as SVG: stacked areas or lines, a legend, and a strip for each time that tells its figures. */
#include "analyze/draw/area.h"
#include "analyze/base/memory.h"
#include "analyze/base/text.h"
#include "analyze/draw/svg_plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEGEND_WIDTH = 270, LEGEND_LINE = 17, STRIP_LINES = 8 };

typedef struct drawing {
    pfa_plot_t plot;
    const pfa_area_t *chart;
    double *floor; /* what the next series lies on, by time */
} drawing_t;

static void put_place(const drawing_t *drawing, size_t at, double value, bool first)
{
    fprintf(drawing->plot.to, "%s%.1f %.1f",
            first          ? "M"
            : at % 16 == 0 ? "\nL"
                           : "L",
            pfa_plot_x(&drawing->plot, drawing->chart->times[at]), pfa_plot_y(&drawing->plot, value));
}

/* Forth along the top, back along the floor. */
static void put_area(drawing_t *drawing, size_t series)
{
    const pfa_area_t *chart = drawing->chart;
    char class[8];
    fprintf(drawing->plot.to, "<path class=\"edge %s\" d=\"",
            pfa_plot_colour(series, chart->series[series].rest, class));
    for (size_t i = 0; i < chart->count; i++) {
        put_place(drawing, i, drawing->floor[i] + pfa_area_value(chart, series, i), i == 0);
    }
    for (size_t i = chart->count; i-- > 0;) {
        put_place(drawing, i, drawing->floor[i], false);
        drawing->floor[i] += pfa_area_value(chart, series, i);
    }
    fputs("Z\"/>\n", drawing->plot.to);
}

static void put_line(const drawing_t *drawing, const char *class, const double *values)
{
    fprintf(drawing->plot.to, "<path class=\"%s\" d=\"", class);
    for (size_t i = 0; i < drawing->chart->count; i++) {
        put_place(drawing, i, values[i], i == 0);
    }
    fputs("\"/>\n", drawing->plot.to);
}

static void put_series(drawing_t *drawing)
{
    const pfa_area_t *chart = drawing->chart;
    for (size_t i = 0; chart->count != 0 && i < chart->series_count; i++) {
        char class[32];
        snprintf(class, sizeof class, chart->series[i].rest ? "line axis" : "line l%u",
                 (unsigned)(i % PFA_SERIES_MOST));
        if (chart->stacked) {
            put_area(drawing, i);
        } else {
            put_line(drawing, class, chart->series[i].values);
        }
    }
    if (chart->most != NULL && chart->count != 0) {
        put_line(drawing, "most", chart->most);
    }
}

/* In the order of the areas, the topmost first, with the peak of each. */
static void put_legend(const drawing_t *drawing)
{
    const pfa_area_t *chart = drawing->chart;
    FILE *to = drawing->plot.to;
    double x = drawing->plot.left + drawing->plot.width + 18;
    double y = drawing->plot.top + 4;
    fprintf(to, "<text class=\"small dim\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">peak of each</text>\n",
            PFA_SVG_WIDTH - 10, y - 8);
    for (size_t i = chart->series_count; i-- > 0; y += LEGEND_LINE) {
        char class[8];
        char text[PFA_NUMBER_TEXT];
        double peak = pfa_area_peak(chart, i);
        fprintf(to, "<g><rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"11\" height=\"11\" rx=\"2\"/>",
                pfa_plot_colour(i, chart->series[i].rest, class), x, y - 1);
        fprintf(to, "<text class=\"small\" x=\"%.1f\" y=\"%.1f\">", x + 17, y + 9);
        pfa_svg_put_cut(to, chart->series[i].name, 26);
        fprintf(to, "</text><text class=\"small dim\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>",
                PFA_SVG_WIDTH - 10, y + 9, pfa_unit_text(chart->y.unit, peak, text));
        pfa_plot_tip(&drawing->plot, chart->series[i].name, chart->y.unit, peak);
        fputs("</g>\n", to);
    }
}

/* The largest at that time; `told` marks those that were told. */
static size_t next_largest(const pfa_area_t *chart, size_t at, const bool *told)
{
    size_t best = chart->series_count;
    for (size_t i = 0; i < chart->series_count; i++) {
        bool larger = best == chart->series_count || pfa_area_value(chart, i, at) > pfa_area_value(chart, best, at);
        best = !told[i] && pfa_area_value(chart, i, at) > 0 && larger ? i : best;
    }
    return best;
}

static void put_strip_text(const drawing_t *drawing, size_t at)
{
    const pfa_area_t *chart = drawing->chart;
    char text[PFA_NUMBER_TEXT];
    bool *told = pfa_memory_get(chart->series_count + 1, sizeof *told);
    fprintf(drawing->plot.to, "<title>%s: ", pfa_unit_text(chart->x.unit, chart->times[at], text));
    fprintf(drawing->plot.to, "%s", pfa_unit_text(chart->y.unit, pfa_area_sum(chart, at), text));
    if (chart->most != NULL) {
        fprintf(drawing->plot.to, ", at most %s", pfa_unit_text(chart->y.unit, chart->most[at], text));
    }
    for (size_t line = 0; chart->series_count > 1 && line < STRIP_LINES; line++) {
        size_t next = next_largest(chart, at, told);
        if (next == chart->series_count) {
            break;
        }
        told[next] = true;
        fprintf(drawing->plot.to, "\n%s  ", pfa_unit_text(chart->y.unit, pfa_area_value(chart, next, at), text));
        pfa_svg_put_cut(drawing->plot.to, chart->series[next].name, 60);
    }
    fputs("</title>", drawing->plot.to);
    pfa_memory_free(told);
}

/* Each reaches to the middle between its time and the next. */
static void put_strips(const drawing_t *drawing)
{
    const pfa_area_t *chart = drawing->chart;
    const pfa_plot_t *plot = &drawing->plot;
    double left = plot->left;
    for (size_t i = 0; i < chart->count; i++) {
        double middle = i + 1 < chart->count ? (chart->times[i] + chart->times[i + 1]) / 2 : plot->x.high;
        double right = i + 1 < chart->count ? pfa_plot_x(plot, middle) : plot->left + plot->width;
        fprintf(plot->to, "<rect class=\"strip\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">", left,
                plot->top, fmax(right - left, 0), plot->height);
        put_strip_text(drawing, i);
        fputs("</rect>\n", plot->to);
        left = right;
    }
}

void pfa_svg_area(FILE *to, const pfa_area_t *chart)
{
    drawing_t drawing = {.chart = chart, .floor = pfa_memory_get(chart->count, sizeof *drawing.floor)};
    bool legend = chart->series_count > 1 || chart->named;
    drawing.plot = pfa_plot_begin(to, chart->title, chart->note, legend ? LEGEND_WIDTH : 30, 56);
    pfa_area_scales(chart, 8, 6, &drawing.plot.x, &drawing.plot.y);
    pfa_plot_y_axis(&drawing.plot, &chart->y);
    pfa_plot_x_axis(&drawing.plot, &chart->x);
    put_series(&drawing);
    if (legend) {
        put_legend(&drawing);
    }
    put_strips(&drawing);
    pfa_plot_end(&drawing.plot);
    pfa_memory_free(drawing.floor);
}
