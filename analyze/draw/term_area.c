/* Owns amounts over time on a terminal. A column shows the moment of its stretch at which the sum was largest, so that no
 * spike is lost. */
#include "analyze/draw/area.h"
#include "analyze/base/glyphs.h"
#include "analyze/base/memory.h"
#include "analyze/base/text.h"
#include "analyze/draw/term_canvas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct drawing {
    pfa_canvas_t canvas;
    const pfa_area_t *chart;
    double *tops; /* of the column that is drawn: where each series ends, in rows */
} drawing_t;

static unsigned colour_of(const pfa_area_t *chart, size_t series)
{
    return chart->series[series].rest ? PFA_COLOUR_REST : 1 + (unsigned)(series % PFA_SERIES_MOST);
}

static uint32_t full_glyph(const drawing_t *drawing, size_t series)
{
    const pfa_area_t *chart = drawing->chart;
    bool letters = !drawing->canvas.term->colour && chart->series_count > 1;
    return letters ? (uint32_t)pfa_canvas_letter(series) : drawing->canvas.term->utf8 ? 0x2588 : '#';
}

/* The series at a height, or their number if it is above all. */
static size_t series_at(const drawing_t *drawing, double height)
{
    size_t series = 0;
    while (series < drawing->chart->series_count && drawing->tops[series] <= height) {
        series++;
    }
    return series;
}

/* Two of them share a cell: the one at its floor, and the one above that. Where all end in it, that is what is shown. */
static void fill_parts(drawing_t *drawing, pfa_cell_t *cell, size_t series, unsigned row)
{
    const pfa_area_t *chart = drawing->chart;
    double end = drawing->tops[chart->series_count - 1] - row;
    size_t above = chart->series_count;
    double part = end;
    if (end >= 15 / 16.0) {
        part = drawing->tops[series] - row;
        above = series_at(drawing, row + (part + 1) / 2);
    } else {
        series = series_at(drawing, row + end / 2);
    }
    unsigned eighths = (unsigned)lround(8 * part);
    eighths = eighths != 0 ? eighths : 1;
    cell->front = (uint8_t)colour_of(chart, series);
    if (eighths < 8) {
        cell->glyph = PFA_GLYPH_EIGHTH + eighths;
        cell->back = (uint8_t)(above < chart->series_count ? colour_of(chart, above) : 0);
    }
}

/* A cell is of the series at its middle, unless it can be shown in parts. */
static void fill_cell(drawing_t *drawing, unsigned column, unsigned row)
{
    const pfa_area_t *chart = drawing->chart;
    pfa_cell_t *cell = pfa_canvas_at(&drawing->canvas, column, row);
    bool blocks = drawing->canvas.term->utf8 && (drawing->canvas.term->colour || chart->series_count == 1);
    size_t series = series_at(drawing, row + (blocks ? 1 / 16.0 : 0.5));
    if (series == chart->series_count) {
        return;
    }
    cell->front = (uint8_t)colour_of(chart, series);
    cell->glyph = full_glyph(drawing, series);
    if (blocks) {
        fill_parts(drawing, cell, series, row);
    }
}

static void fill_column(drawing_t *drawing, unsigned column, size_t at)
{
    const pfa_area_t *chart = drawing->chart;
    pfa_canvas_t *canvas = &drawing->canvas;
    double sum = 0;
    for (size_t i = 0; i < chart->series_count; i++) {
        sum += pfa_area_value(chart, i, at);
        drawing->tops[i] = pfa_scale_place(&canvas->y, sum) * canvas->height;
    }
    for (unsigned row = 0; row < canvas->height; row++) {
        fill_cell(drawing, column, row);
    }
}

static void mark_lines(drawing_t *drawing, unsigned column, size_t at)
{
    const pfa_area_t *chart = drawing->chart;
    for (size_t i = chart->series_count; i-- > 0;) {
        unsigned row = pfa_canvas_row(&drawing->canvas, pfa_area_value(chart, i, at));
        *pfa_canvas_at(&drawing->canvas, column, row) = (pfa_cell_t){
            .glyph =
                drawing->canvas.term->colour && drawing->canvas.term->utf8 ? 0x2022 : (uint32_t)pfa_canvas_letter(i),
            .front = (uint8_t)colour_of(chart, i)};
    }
}

static void mark_most(drawing_t *drawing, unsigned column, double most)
{
    pfa_cell_t *cell = pfa_canvas_at(&drawing->canvas, column, pfa_canvas_row(&drawing->canvas, most));
    if (most > 0 && cell->glyph == 0) {
        cell->glyph = drawing->canvas.term->utf8 ? 0xb7 : '.';
    }
}

/* The last of the times up to the right edge of a column; count if there is none. */
static size_t last_before(const drawing_t *drawing, unsigned column, size_t from)
{
    const pfa_area_t *chart = drawing->chart;
    while (from < chart->count && pfa_canvas_column(&drawing->canvas, chart->times[from]) <= column) {
        from++;
    }
    return from;
}

static void draw(drawing_t *drawing)
{
    const pfa_area_t *chart = drawing->chart;
    size_t from = 0;
    for (unsigned column = 0; chart->count != 0 && column < drawing->canvas.width; column++) {
        size_t end = last_before(drawing, column, from);
        size_t best = end != 0 ? end - 1 : 0;
        double most = 0;
        for (size_t i = from; i < end; i++) {
            best = pfa_area_sum(chart, i) > pfa_area_sum(chart, best) ? i : best;
            most = chart->most != NULL ? fmax(most, chart->most[i]) : 0;
        }
        (chart->stacked || chart->series_count == 1 ? fill_column : mark_lines)(drawing, column, best);
        if (chart->most != NULL) {
            mark_most(drawing, column, from < end ? most : chart->most[best]);
        }
        from = end;
    }
}

static void put_legend(const drawing_t *drawing)
{
    const pfa_area_t *chart = drawing->chart;
    const pfa_term_t *term = drawing->canvas.term;
    for (size_t i = 0; i < chart->series_count; i++) {
        char text[PFA_NUMBER_TEXT];
        fprintf(drawing->canvas.to, "%12s  ", pfa_unit_text(chart->y.unit, pfa_area_peak(chart, i), text));
        pfa_canvas_colour(drawing->canvas.to, term, colour_of(chart, i), 0);
        if (term->colour || chart->series_count == 1) {
            fputs(term->utf8 ? "■" : "#", drawing->canvas.to);
        } else {
            fputc(pfa_canvas_letter(i), drawing->canvas.to);
        }
        pfa_canvas_colour(drawing->canvas.to, term, 0, 0);
        fputs("  ", drawing->canvas.to);
        pfa_term_put(drawing->canvas.to, term, chart->series[i].name, term->width - 17);
        fputc('\n', drawing->canvas.to);
    }
}

void pfa_term_area(FILE *to, const pfa_term_t *term, const pfa_area_t *chart)
{
    drawing_t drawing = {.chart = chart, .canvas = pfa_canvas_new(to, term)};
    drawing.tops = pfa_memory_get(chart->series_count, sizeof *drawing.tops);
    pfa_area_scales(chart, drawing.canvas.width / 14, drawing.canvas.height / 4, &drawing.canvas.x, &drawing.canvas.y);
    draw(&drawing);
    pfa_canvas_put(&drawing.canvas, chart->title, chart->note, &chart->x, &chart->y);
    if (chart->series_count > 1 || chart->named) {
        fprintf(to, "\n%12s\n", "peak of each");
        put_legend(&drawing);
    }
    pfa_memory_free(drawing.tops);
    pfa_canvas_free(&drawing.canvas);
}
