/* Owns bar charts as SVG. More bars than there is room for are drawn in groups, each as its largest; the chart says so. */
#include "analyze/draw/svg_plot.h"
#include "analyze/base/text.h"

#include <math.h>
#include <stdio.h>

enum { NAMED_MOST = 40, NARROWEST = 2, NAME_MOST = 18 };

typedef struct drawing {
    pfa_plot_t plot;
    const pfa_bars_t *chart;
    size_t group; /* so many bars are drawn as one */
    size_t count; /* of groups */
} drawing_t;

/* Of a group: the one that is drawn. */
static const pfa_bar_t *largest_of(const drawing_t *drawing, size_t group, size_t *size)
{
    const pfa_bars_t *chart = drawing->chart;
    size_t first = group * drawing->group;
    size_t end = first + drawing->group < chart->count ? first + drawing->group : chart->count;
    const pfa_bar_t *best = &chart->bars[first];
    for (size_t i = first; i < end; i++) {
        best = chart->bars[i].value > best->value ? &chart->bars[i] : best;
    }
    *size = end - first;
    return best;
}

static void put_bar(const drawing_t *drawing, size_t group)
{
    const pfa_plot_t *plot = &drawing->plot;
    size_t size;
    char text[PFA_NUMBER_TEXT];
    const pfa_bar_t *bar = largest_of(drawing, group, &size);
    double room = plot->width / (double)drawing->count;
    double gap = room > 5 ? fmin(room * 0.2, 12) : 0;
    double y = pfa_plot_y(plot, bar->value);
    fprintf(plot->to, "<rect class=\"%s\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\"><title>",
            bar->marked ? "marked" : "c0", plot->left + room * (double)group + gap / 2, y, fmin(room - gap, 60),
            fmax(plot->top + plot->height - y, 1));
    pfa_svg_put(plot->to, bar->title != NULL ? bar->title : bar->name);
    fprintf(plot->to, ": %s", pfa_unit_text(drawing->chart->y.unit, bar->value, text));
    if (size > 1) {
        fprintf(plot->to, "\nthe largest of %zu", size);
    }
    fputs("</title></rect>\n", plot->to);
}

/* Slanted, so that they do not run into each other. */
static void put_name(const drawing_t *drawing, size_t group)
{
    const pfa_plot_t *plot = &drawing->plot;
    size_t size;
    double room = plot->width / (double)drawing->count;
    double gap = room > 5 ? fmin(room * 0.2, 12) : 0;
    double x = plot->left + room * (double)group + gap / 2 + fmin(room - gap, 60) / 2;
    double y = plot->top + plot->height + 13;
    fprintf(plot->to,
            "<text class=\"small\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\" transform=\"rotate(-40 %.1f %.1f)\">", x,
            y, x, y);
    pfa_svg_put_cut(plot->to, largest_of(drawing, group, &size)->name, NAME_MOST);
    fputs("</text>\n", plot->to);
}

static void put_limit(const drawing_t *drawing)
{
    const pfa_plot_t *plot = &drawing->plot;
    double y = pfa_plot_y(plot, drawing->chart->limit);
    char text[PFA_NUMBER_TEXT];
    fprintf(plot->to, "<line class=\"limit\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", plot->left, y,
            plot->left + plot->width, y);
    fprintf(plot->to, "<text class=\"small\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", plot->left + plot->width,
            y - 5);
    pfa_svg_put_cut(plot->to, drawing->chart->limit_name, 40);
    fprintf(plot->to, " (%s)</text>\n", pfa_unit_text(drawing->chart->y.unit, drawing->chart->limit, text));
}

static void make_scale(drawing_t *drawing)
{
    const pfa_bars_t *chart = drawing->chart;
    pfa_range_t range = {.any = false};
    for (size_t i = 0; i < chart->count; i++) {
        pfa_range_take(&range, &chart->y, chart->bars[i].value);
    }
    if (chart->limit_name != NULL) {
        pfa_range_take(&range, &chart->y, chart->limit);
    }
    if (chart->y.logarithmic && range.any) {
        range.low /= 2; /* the lowest bar is to be seen too */
    }
    drawing->plot.y = pfa_scale_make(&chart->y, &range, 8, true, false);
}

/* The names, or what the bars are and how many stand for each other. */
static void put_below(const drawing_t *drawing)
{
    const pfa_bars_t *chart = drawing->chart;
    const pfa_plot_t *plot = &drawing->plot;
    for (size_t i = 0; chart->count <= NAMED_MOST && i < drawing->count; i++) {
        put_name(drawing, i);
    }
    fprintf(plot->to, "<text class=\"dim\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", plot->left + plot->width / 2,
            PFA_SVG_HEIGHT - 14);
    pfa_svg_put_cut(plot->to, chart->x_name != NULL ? chart->x_name : "", 60);
    if (drawing->group > 1) {
        fprintf(plot->to, "%seach bar is the largest of %zu", chart->x_name != NULL ? "; " : "", drawing->group);
    }
    fputs("</text>\n", plot->to);
}

void pfa_svg_bars(FILE *to, const pfa_bars_t *chart)
{
    drawing_t drawing = {.chart = chart};
    bool named = chart->count <= NAMED_MOST && chart->count != 0;
    drawing.plot = pfa_plot_begin(to, chart->title, chart->note, 30, named ? 120 : 50);
    size_t room = (size_t)drawing.plot.width / NARROWEST;
    drawing.group = (chart->count + room - 1) / room;
    drawing.group = drawing.group != 0 ? drawing.group : 1;
    drawing.count = (chart->count + drawing.group - 1) / drawing.group;
    make_scale(&drawing);
    pfa_plot_y_axis(&drawing.plot, &chart->y);
    for (size_t i = 0; i < drawing.count; i++) {
        put_bar(&drawing, i);
    }
    put_below(&drawing);
    if (chart->limit_name != NULL) {
        put_limit(&drawing);
    }
    pfa_plot_end(&drawing.plot);
}
