/* Owns scatter plots and bars on a terminal. */
#include "analyze/base/glyphs.h"
#include "analyze/base/memory.h"
#include "analyze/base/text.h"
#include "analyze/draw/term_canvas.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* How many dots there are, the more the heavier. */
static uint32_t glyph_of(const pfa_term_t *term, uint32_t count)
{
    static const uint32_t plain[] = {'.', 'o', 'O', '@'};
    static const uint32_t round[] = {0xb7, 0x2022, 0x25cf, 0x2588};
    unsigned weight = count < 2 ? 0 : count < 5 ? 1 : count < 20 ? 2 : 3;
    return (term->utf8 ? round : plain)[weight];
}

static void mark_plain(pfa_canvas_t *canvas, const pfa_scatter_t *chart)
{
    size_t cells = (size_t)canvas->width * canvas->height;
    uint32_t *counts = pfa_memory_get(cells, sizeof *counts);
    for (size_t i = 0; i < chart->count; i++) {
        size_t row = pfa_canvas_row(canvas, chart->dots[i].y);
        counts[row * canvas->width + pfa_canvas_column(canvas, chart->dots[i].x)] += chart->dots[i].label == NULL;
    }
    for (size_t i = 0; i < cells; i++) {
        if (counts[i] != 0) {
            canvas->cells[i] = (pfa_cell_t){.glyph = glyph_of(canvas->term, counts[i]), .front = 1};
        }
    }
    pfa_memory_free(counts);
}

/* Of those that fall together, the first is seen. */
static void mark_labelled(pfa_canvas_t *canvas, const pfa_scatter_t *chart)
{
    size_t number = 0;
    for (size_t i = 0; i < chart->count; i++) {
        const pfa_dot_t *dot = &chart->dots[i];
        if (dot->label == NULL) {
            continue;
        }
        pfa_cell_t *cell = pfa_canvas_at(canvas, pfa_canvas_column(canvas, dot->x), pfa_canvas_row(canvas, dot->y));
        if (cell->front != PFA_COLOUR_MARKED) {
            *cell = (pfa_cell_t){.glyph = (uint32_t)pfa_canvas_letter(number), .front = PFA_COLOUR_MARKED};
        }
        number++;
    }
}

static void put_labels(FILE *to, const pfa_term_t *term, const pfa_scatter_t *chart)
{
    size_t number = 0;
    for (size_t i = 0; i < chart->count; i++) {
        if (chart->dots[i].label != NULL) {
            pfa_canvas_colour(to, term, PFA_COLOUR_MARKED, 0);
            fprintf(to, "  %c", pfa_canvas_letter(number++));
            pfa_canvas_colour(to, term, 0, 0);
            fputs("  ", to);
            pfa_term_put(to, term, chart->dots[i].label, term->width - 5);
            fputc('\n', to);
        }
    }
}

void pfa_term_scatter(FILE *to, const pfa_term_t *term, const pfa_scatter_t *chart)
{
    pfa_canvas_t canvas = pfa_canvas_new(to, term);
    pfa_range_t x = {.any = false};
    pfa_range_t y = {.any = false};
    for (size_t i = 0; i < chart->count; i++) {
        pfa_range_take(&x, &chart->x, chart->dots[i].x);
        pfa_range_take(&y, &chart->y, chart->dots[i].y);
    }
    canvas.x = pfa_scale_make(&chart->x, &x, canvas.width / 9, true, false);
    canvas.y = pfa_scale_make(&chart->y, &y, canvas.height / 2, true, false);
    mark_plain(&canvas, chart);
    mark_labelled(&canvas, chart);
    pfa_canvas_put(&canvas, chart->title, chart->note, &chart->x, &chart->y);
    put_labels(to, term, chart);
    pfa_canvas_free(&canvas);
}

/* In eighths of a column where these can be shown. */
static void put_bar(FILE *to, const pfa_term_t *term, double length, unsigned colour)
{
    unsigned eighths = (unsigned)lround(8 * length);
    pfa_canvas_colour(to, term, colour, 0);
    for (; eighths >= 8; eighths -= 8) {
        fputs(term->utf8 ? "█" : "#", to);
    }
    if (term->utf8 && eighths != 0) {
        char bytes[PFA_GLYPH_BYTES + 1];
        pfa_glyph_put(0x2590 - eighths, bytes); /* U+258F is one eighth from the left, U+2589 seven */
        fputs(bytes, to);
    } else if (eighths >= 4) {
        fputc('#', to);
    }
    pfa_canvas_colour(to, term, 0, 0);
}

/* How wide the columns of a list of bars are, and what lies between them. */
enum { BETWEEN = 4, BAR_LEAST = 6 };

typedef struct widths {
    size_t names;
    size_t figures;
    size_t bars;
} widths_t;

static widths_t measure(const pfa_term_t *term, const pfa_bars_t *chart)
{
    widths_t widths = {.names = 0};
    for (size_t i = 0; i < chart->count; i++) {
        char text[PFA_NUMBER_TEXT];
        size_t name = pfa_glyphs_count(chart->bars[i].name);
        size_t figure = pfa_glyphs_count(pfa_unit_text(chart->y.unit, chart->bars[i].value, text));
        widths.names = name > widths.names ? name : widths.names;
        widths.figures = figure > widths.figures ? figure : widths.figures;
    }
    size_t most = term->width / 2 - BETWEEN;
    widths.figures = widths.figures < most ? widths.figures : most;
    most = term->width - widths.figures - BETWEEN - BAR_LEAST;
    most = most < term->width / 2 ? most : term->width / 2;
    widths.names = widths.names < most ? widths.names : most;
    widths.bars = term->width - widths.names - widths.figures - BETWEEN;
    return widths;
}

static void put_bar_line(FILE *to, const pfa_term_t *term, const pfa_bars_t *chart, const pfa_bar_t *bar,
                         const widths_t *widths, const pfa_scale_t *scale)
{
    char text[PFA_NUMBER_TEXT];
    const char *figure = pfa_unit_text(chart->y.unit, bar->value, text);
    fprintf(to, "%c ", bar->marked ? '*' : ' ');
    size_t used = pfa_term_put(to, term, bar->name, widths->names);
    size_t length = pfa_glyphs_count(figure);
    fprintf(to, "%*s ", (int)(widths->names - used + (widths->figures > length ? widths->figures - length : 0)), "");
    pfa_term_put(to, term, figure, widths->figures);
    fputc(' ', to);
    put_bar(to, term, pfa_scale_place(scale, bar->value) * (double)widths->bars, bar->marked ? PFA_COLOUR_MARKED : 1);
    fputc('\n', to);
}

void pfa_term_bars(FILE *to, const pfa_term_t *term, const pfa_bars_t *chart)
{
    pfa_range_t range = {.any = false};
    widths_t widths = measure(term, chart);
    char text[PFA_NUMBER_TEXT];
    for (size_t i = 0; i < chart->count; i++) {
        pfa_range_take(&range, &chart->y, chart->bars[i].value);
    }
    if (chart->y.logarithmic && range.any) {
        range.low /= 2; /* the lowest is to be seen too */
    }
    pfa_scale_t scale = pfa_scale_make(&chart->y, &range, 2, true, !chart->y.logarithmic);
    pfa_canvas_head(to, term, chart->title, chart->note);
    for (size_t i = 0; i < chart->count; i++) {
        put_bar_line(to, term, chart, &chart->bars[i], &widths, &scale);
    }
    if (chart->limit_name != NULL) {
        pfa_term_put(to, term, chart->limit_name, term->width / 2);
        fputs(": ", to);
        pfa_term_put(to, term, pfa_unit_text(chart->y.unit, chart->limit, text), 24);
        fputc('\n', to);
    }
}
