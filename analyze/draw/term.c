/* Owns canvases and the characters in them. See analyze/draw/term.h and analyze/draw/term_canvas.h. Writes to its file and keeps nothing. */
#include "analyze/base/glyphs.h"
#include "analyze/base/memory.h"
#include "analyze/base/text.h"
#include "analyze/draw/term_canvas.h"

#include <math.h>
#include <stdio.h>

/* The nearest that everything can show. */
static uint32_t plain_glyph(uint32_t glyph)
{
    return glyph < 0x80 ? glyph : glyph == 0xb5 ? 'u' : glyph == 0x2026 ? '~' : '?';
}

static void put_glyph(FILE *to, const pfa_term_t *term, uint32_t glyph)
{
    char bytes[PFA_GLYPH_BYTES + 1];
    pfa_glyph_put(term->utf8 ? glyph : plain_glyph(glyph), bytes);
    fputs(bytes, to);
}

unsigned pfa_term_put(FILE *to, const pfa_term_t *term, const char *text, size_t most)
{
    size_t count = pfa_glyphs_count(text);
    size_t whole = count <= most ? count : most != 0 ? most - 1 : 0;
    for (size_t i = 0; i < whole; i++) {
        put_glyph(to, term, pfa_glyph_next(&text));
    }
    if (count > most && most != 0) {
        put_glyph(to, term, 0x2026);
    }
    return (unsigned)(count < most ? count : most);
}

void pfa_canvas_colour(FILE *to, const pfa_term_t *term, unsigned front, unsigned back)
{
    static const uint8_t numbers[] = {0,   68,  173, 72,  132, 98,  178, 38,  95,  176, 107, 110,
                                      216, 115, 175, 147, 186, 116, 138, 182, 150, 245, 202};
    if (!term->colour) {
        return;
    }
    fputs("\033[0m", to);
    if (front != 0) {
        fprintf(to, "\033[38;5;%um", numbers[front]);
    }
    if (back != 0) {
        fprintf(to, "\033[48;5;%um", numbers[back]);
    }
}

char pfa_canvas_letter(size_t number)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return letters[number % (sizeof letters - 1)];
}

pfa_canvas_t pfa_canvas_new(FILE *to, const pfa_term_t *term)
{
    pfa_canvas_t canvas = {
        .to = to, .term = term, .width = term->width - PFA_CANVAS_LABELS - 2, .height = term->height};
    canvas.cells = pfa_memory_get((size_t)canvas.width * canvas.height, sizeof *canvas.cells);
    return canvas;
}

void pfa_canvas_free(pfa_canvas_t *canvas)
{
    pfa_memory_free(canvas->cells);
}

pfa_cell_t *pfa_canvas_at(pfa_canvas_t *canvas, unsigned column, unsigned row)
{
    return &canvas->cells[(size_t)row * canvas->width + column];
}

static unsigned cell_of(double place, unsigned count)
{
    return (unsigned)lround(place * (count - 1));
}

unsigned pfa_canvas_column(const pfa_canvas_t *canvas, double value)
{
    return cell_of(pfa_scale_place(&canvas->x, value), canvas->width);
}

unsigned pfa_canvas_row(const pfa_canvas_t *canvas, double value)
{
    return cell_of(pfa_scale_place(&canvas->y, value), canvas->height);
}

void pfa_canvas_head(FILE *to, const pfa_term_t *term, const char *title, const char *note)
{
    pfa_term_put(to, term, title, term->width);
    fputc('\n', to);
    if (note != NULL) {
        pfa_term_put(to, term, note, term->width);
        fputc('\n', to);
    }
}

static void put_row(const pfa_canvas_t *canvas, unsigned row)
{
    pfa_cell_t last = {.glyph = 0};
    unsigned end = canvas->width;
    const pfa_cell_t *cells = &canvas->cells[(size_t)row * canvas->width];
    while (end > 0 && cells[end - 1].glyph == 0) {
        end--;
    }
    for (unsigned i = 0; i < end; i++) {
        if (cells[i].front != last.front || cells[i].back != last.back) {
            pfa_canvas_colour(canvas->to, canvas->term, cells[i].front, cells[i].back);
        }
        put_glyph(canvas->to, canvas->term, cells[i].glyph != 0 ? cells[i].glyph : ' ');
        last = cells[i];
    }
    if (last.front != 0 || last.back != 0) {
        pfa_canvas_colour(canvas->to, canvas->term, 0, 0);
    }
    fputc('\n', canvas->to);
}

/* The tick that is to be told at a row. */
static const char *tick_at(const pfa_canvas_t *canvas, unsigned row, char text[PFA_NUMBER_TEXT])
{
    for (unsigned i = 0; i < canvas->y.tick_count; i++) {
        if (pfa_canvas_row(canvas, canvas->y.ticks[i]) == row) {
            return pfa_scale_tick(&canvas->y, i, text);
        }
    }
    return NULL;
}

static void put_x_ticks(const pfa_canvas_t *canvas)
{
    FILE *to = canvas->to;
    unsigned at = 0;
    fprintf(to, "%*s%s", PFA_CANVAS_LABELS, "", canvas->term->utf8 ? "└" : "+");
    for (unsigned i = 0; i < canvas->width; i++) {
        bool tick = false;
        for (unsigned j = 0; j < canvas->x.tick_count; j++) {
            tick = tick || pfa_canvas_column(canvas, canvas->x.ticks[j]) == i;
        }
        fputs(canvas->term->utf8 ? tick ? "┬" : "─" : tick ? "+" : "-", to);
    }
    fprintf(to, "\n%*s", PFA_CANVAS_LABELS + 1, "");
    for (unsigned i = 0; i < canvas->x.tick_count; i++) {
        char text[PFA_NUMBER_TEXT];
        unsigned length = (unsigned)pfa_glyphs_count(pfa_scale_tick(&canvas->x, i, text));
        unsigned column = pfa_canvas_column(canvas, canvas->x.ticks[i]);
        column = column > length / 2 ? column - length / 2 : 0;
        column = column + length > canvas->width ? canvas->width - length : column;
        if (i == 0 || column > at) { /* one that would run into another is left out */
            fprintf(to, "%*s", (int)(column - at), "");
            at = column + pfa_term_put(to, canvas->term, text, length);
        }
    }
    fputc('\n', to);
}

void pfa_canvas_put(const pfa_canvas_t *canvas, const char *title, const char *note, const pfa_axis_t *x,
                    const pfa_axis_t *y)
{
    FILE *to = canvas->to;
    pfa_canvas_head(to, canvas->term, title, note);
    if (y->name != NULL) {
        pfa_term_put(to, canvas->term, y->name, canvas->term->width);
        fputc('\n', to);
    }
    for (unsigned row = canvas->height; row-- > 0;) {
        char text[PFA_NUMBER_TEXT];
        const char *tick = tick_at(canvas, row, text);
        unsigned length = tick != NULL ? (unsigned)pfa_glyphs_count(tick) : 0;
        fprintf(to, "%*s", (int)(PFA_CANVAS_LABELS - 1 - length), "");
        pfa_term_put(to, canvas->term, tick != NULL ? tick : "", length);
        fputs(canvas->term->utf8 ? tick != NULL ? " ┤" : " │" : tick != NULL ? " +" : " |", to);
        put_row(canvas, row);
    }
    put_x_ticks(canvas);
    if (x->name != NULL) {
        fprintf(to, "%*s", PFA_CANVAS_LABELS + 1, "");
        pfa_term_put(to, canvas->term, x->name, canvas->width);
        fputc('\n', to);
    }
}
