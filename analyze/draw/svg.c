/* Owns what all SVG charts have in common: escaping, colours, the frame with its axes. See analyze/draw/svg.h and
 * analyze/draw/svg_plot.h. Writes to its file and keeps nothing. */
#include "analyze/draw/svg_plot.h"
#include "analyze/base/glyphs.h"
#include "analyze/base/text.h"

#include <stdio.h>
#include <string.h>

static void put_glyph(FILE *to, uint32_t glyph)
{
    char bytes[PFA_GLYPH_BYTES + 1];
    const char *entity = glyph == '<'    ? "&lt;"
                         : glyph == '>'  ? "&gt;"
                         : glyph == '&'  ? "&amp;"
                         : glyph == '"'  ? "&quot;"
                         : glyph == '\'' ? "&#39;"
                                         : NULL;
    if (entity == NULL) {
        pfa_glyph_put(glyph, bytes);
    }
    fputs(entity != NULL ? entity : bytes, to);
}

void pfa_svg_put(FILE *to, const char *text)
{
    uint32_t glyph;
    while ((glyph = pfa_glyph_next(&text)) != 0) {
        put_glyph(to, glyph);
    }
}

void pfa_svg_put_cut(FILE *to, const char *text, size_t most)
{
    if (pfa_glyphs_count(text) <= most) {
        pfa_svg_put(to, text);
        return;
    }
    for (size_t i = 0; i + 1 < most; i++) {
        put_glyph(to, pfa_glyph_next(&text));
    }
    fputs("…", to);
}

/* Ten hues, and the same again further from the ink: those that lie side by side differ in hue. */
static const char *const colours[2][PFA_SERIES_MOST] = {
    {"#3266ad", "#e0803a", "#3a9a6a", "#b8456b", "#7a5fc0", "#c9a227", "#2f9fb5", "#8a5a3c", "#d06fb3", "#6f8f2f",
     "#8db3e2", "#f3bc8f", "#93cfae", "#e3a0b8", "#bcaee6", "#e8d58a", "#94d2de", "#c4a48f", "#ecb9dc", "#b7cc8a"},
    {"#5b8fd9", "#ee9a5a", "#55b887", "#d9688d", "#9a84dd", "#dab944", "#4fbcd1", "#b07d5c", "#e08ec8", "#93b552",
     "#35609f", "#a8602f", "#2d7a55", "#963a5a", "#634fa0", "#9c8023", "#27808f", "#71503c", "#a1568b", "#5d7728"}};

/* Not by variables: not all viewers know them. */
static void put_colours(FILE *to, bool dark)
{
    fprintf(
        to,
        ".bg{fill:%s}text{fill:%s}.dim{fill:%s}.grid{stroke:%s}.axis{stroke:%s}.edge,.halo{stroke:%s}.rest{fill:%s}\n",
        dark ? "#12161c" : "#ffffff", dark ? "#e6eaf0" : "#1c2127", dark ? "#9aa5b1" : "#5c6670",
        dark ? "#29303a" : "#e6e9ed", dark ? "#5b6673" : "#98a2ad", dark ? "#12161c" : "#ffffff",
        dark ? "#4d5763" : "#b4bcc5");
    fprintf(to, ".most{stroke:%s}.strip:hover{fill:%s;fill-opacity:.12}.marked{fill:%s}.limit{stroke:%s}\n",
            dark ? "#9aa5b1" : "#5c6670", dark ? "#ffffff" : "#000000", dark ? "#f0764f" : "#cf3f1b",
            dark ? "#f0764f" : "#cf3f1b");
    for (unsigned i = 0; i < PFA_SERIES_MOST; i++) {
        fprintf(to, ".c%u{fill:%s}.l%u{stroke:%s}%s", i, colours[dark][i], i, colours[dark][i], i % 5 == 4 ? "\n" : "");
    }
}

pfa_plot_t pfa_plot_begin(FILE *to, const char *title, const char *note, double right, double below)
{
    enum { LEFT = 78, TOP = 62 };
    fprintf(to, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\">\n<title>", PFA_SVG_WIDTH,
            PFA_SVG_HEIGHT);
    pfa_svg_put(to, title);
    fputs("</title>\n<style>\ntext{font:12px system-ui,sans-serif}.head{font-size:16px;font-weight:600}"
          ".small{font-size:11px}.grid,.axis{stroke-width:1}.edge{stroke-width:.5}.line{fill:none;stroke-width:1.8}\n"
          ".most{fill:none;stroke-dasharray:3 3}.limit{stroke-dasharray:5 3;stroke-width:1.2}.strip{fill-opacity:0}"
          ".dot{fill-opacity:.55}.halo{paint-order:stroke;stroke-width:3px;stroke-linejoin:round}\n",
          to);
    put_colours(to, false);
    fputs("@media (prefers-color-scheme:dark){\n", to);
    put_colours(to, true);
    fprintf(to, "}\n</style>\n<rect class=\"bg\" width=\"%d\" height=\"%d\"/>\n<text class=\"head\" x=\"20\" y=\"28\">",
            PFA_SVG_WIDTH, PFA_SVG_HEIGHT);
    pfa_svg_put_cut(to, title, 88);
    fputs("</text>\n", to);
    if (note != NULL) {
        fputs("<text class=\"dim\" x=\"20\" y=\"47\">", to);
        pfa_svg_put_cut(to, note, 150);
        fputs("</text>\n", to);
    }
    return (pfa_plot_t){.to = to,
                        .left = LEFT,
                        .top = TOP,
                        .width = PFA_SVG_WIDTH - LEFT - right,
                        .height = PFA_SVG_HEIGHT - TOP - below};
}

void pfa_plot_end(const pfa_plot_t *plot)
{
    fputs("</svg>\n", plot->to);
}

double pfa_plot_x(const pfa_plot_t *plot, double value)
{
    return plot->left + plot->width * pfa_scale_place(&plot->x, value);
}

double pfa_plot_y(const pfa_plot_t *plot, double value)
{
    return plot->top + plot->height * (1 - pfa_scale_place(&plot->y, value));
}

static void put_line(const pfa_plot_t *plot, const char *class, double x1, double y1, double x2, double y2)
{
    fprintf(plot->to, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class, x1, y1, x2, y2);
}

void pfa_plot_x_axis(const pfa_plot_t *plot, const pfa_axis_t *axis)
{
    double bottom = plot->top + plot->height;
    for (unsigned i = 0; i < plot->x.tick_count; i++) {
        char text[PFA_NUMBER_TEXT];
        double x = pfa_plot_x(plot, plot->x.ticks[i]);
        put_line(plot, "grid", x, plot->top, x, bottom);
        fprintf(plot->to, "<text class=\"dim\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", x,
                bottom + 17, pfa_scale_tick(&plot->x, i, text));
    }
    put_line(plot, "axis", plot->left, bottom, plot->left + plot->width, bottom);
    if (axis->name != NULL) {
        fprintf(plot->to, "<text class=\"dim\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
                plot->left + plot->width / 2, bottom + 36);
        pfa_svg_put_cut(plot->to, axis->name, 80);
        fputs("</text>\n", plot->to);
    }
}

void pfa_plot_y_axis(const pfa_plot_t *plot, const pfa_axis_t *axis)
{
    for (unsigned i = 0; i < plot->y.tick_count; i++) {
        char text[PFA_NUMBER_TEXT];
        double y = pfa_plot_y(plot, plot->y.ticks[i]);
        put_line(plot, "grid", plot->left, y, plot->left + plot->width, y);
        fprintf(plot->to, "<text class=\"dim\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", plot->left - 7,
                y + 4, pfa_scale_tick(&plot->y, i, text));
    }
    if (axis->name != NULL) {
        double y = plot->top + plot->height / 2;
        fprintf(plot->to,
                "<text class=\"dim\" x=\"14\" y=\"%.1f\" text-anchor=\"middle\" transform=\"rotate(-90 14 %.1f)\">", y,
                y);
        pfa_svg_put_cut(plot->to, axis->name, 50);
        fputs("</text>\n", plot->to);
    }
}

void pfa_plot_tip(const pfa_plot_t *plot, const char *name, pfa_unit_t unit, double value)
{
    char text[PFA_NUMBER_TEXT];
    fputs("<title>", plot->to);
    pfa_svg_put(plot->to, name);
    fprintf(plot->to, ": %s</title>", pfa_unit_text(unit, value, text));
}

const char *pfa_plot_colour(size_t number, bool rest, char text[8])
{
    if (rest) {
        return strcpy(text, "rest");
    }
    snprintf(text, 8, "c%u", (unsigned)(number % PFA_SERIES_MOST));
    return text;
}
