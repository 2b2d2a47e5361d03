/* Owns flame graphs as SVG: frames as rectangles that say in an attribute what they are, a table of names, and the script that
 * makes them answer. Without scripts it is still a picture with labels. */
#include "analyze/draw/flame_tree.h"
#include "analyze/base/glyphs.h"
#include "analyze/base/memory.h"
#include "analyze/base/text.h"
#include "analyze/draw/scale.h"
#include "analyze/draw/svg.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    WIDTH = 1200,
    SIDE = 10,
    INNER = WIDTH - 2 * SIDE,
    HEAD = 74,
    FOOT = 34,
    LINE = 17,
    SHADES = 8,
    LABEL_LEAST = 28,
    EDGE_LEAST = 3
};

/* Of the font that labels are in, at its size: the script counts with the same. */
static const double glyph_width = 6.63;

typedef struct drawing {
    FILE *to;
    const pfa_flame_t *flame;
    const pfa_flame_look_t *look;
    pfa_flame_layout_t layout;
    uint32_t *number; /* by text: in the table of the file, and one */
    uint32_t numbers;
    double height;
} drawing_t;

static double x_of(const drawing_t *drawing, uint32_t node)
{
    double total = drawing->layout.totals[PFA_FLAME_ROOT];
    return SIDE + (total > 0 ? INNER * drawing->layout.starts[node] / total : 0);
}

static double width_of(const drawing_t *drawing, uint32_t node)
{
    double total = drawing->layout.totals[PFA_FLAME_ROOT];
    return total > 0 ? INNER * drawing->layout.totals[node] / total : INNER;
}

static double y_of(const drawing_t *drawing, uint32_t node)
{
    double level = drawing->layout.levels[node];
    return drawing->look->downwards ? HEAD + level * LINE : drawing->height - FOOT - (level + 1) * LINE;
}

/* Towards white, shade by shade. */
static void put_colours(FILE *to, bool dark)
{
    static const unsigned bases[PFA_TONES][3] = {
        [PFA_TONE_OWN] = {232, 134, 52},
        [PFA_TONE_LIBRARY] = {84, 148, 206},
        [PFA_TONE_RUNTIME] = {96, 172, 122},
        [PFA_TONE_UNKNOWN] = {158, 164, 172},
    };
    fprintf(to, ".bg{fill:%s}text{fill:%s}.dim{fill:%s}.f{stroke:%s}\n", dark ? "#12161c" : "#ffffff",
            dark ? "#e6eaf0" : "#1c2127", dark ? "#9aa5b1" : "#5c6670", dark ? "#12161c" : "#ffffff");
    for (unsigned tone = 0; tone < PFA_TONES; tone++) {
        for (unsigned shade = 0; shade < SHADES; shade++) {
            unsigned part[3];
            for (unsigned i = 0; i < 3; i++) {
                part[i] = bases[tone][i] + (255 - bases[tone][i]) * shade / 16;
                part[i] = dark ? part[i] * 7 / 8 : part[i];
            }
            fprintf(to, ".t%u{fill:#%02x%02x%02x}", tone * SHADES + shade, part[0], part[1], part[2]);
        }
        fputc('\n', to);
    }
}

static void put_head(const drawing_t *drawing)
{
    FILE *to = drawing->to;
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %d %.0f\">\n<title>",
            WIDTH, drawing->height, WIDTH, drawing->height);
    pfa_svg_put(to, drawing->look->title);
    fputs(
        "</title>\n<style>\ntext{font:12px system-ui,sans-serif}.head{font-size:16px;font-weight:600}\n"
        "#labels text{font:11px ui-monospace,DejaVu Sans Mono,monospace;fill:#14181d;pointer-events:none}\n"
        ".f{stroke-width:.5;cursor:pointer}.n{stroke:none}.f:hover{stroke:#000;stroke-width:1}.f.hit{fill:#d23fd2}.above{opacity:.6}\n"
        ".button{cursor:pointer;text-decoration:underline}input{font:12px system-ui,sans-serif;width:100%;"
        "box-sizing:border-box}\n",
        to);
    put_colours(to, false);
    fputs("@media (prefers-color-scheme:dark){\n", to);
    put_colours(to, true);
    fprintf(to, ".f.hit{fill:#e25ee2}}\n</style>\n<rect class=\"bg\" width=\"%d\" height=\"%.0f\"/>\n", WIDTH,
            drawing->height);
    fprintf(to, "<text class=\"head\" x=\"%d\" y=\"26\">", SIDE);
    pfa_svg_put_cut(to, drawing->look->title, 80);
    fprintf(to, "</text>\n<text class=\"dim\" x=\"%d\" y=\"45\">", SIDE);
    pfa_svg_put_cut(to, drawing->look->note != NULL ? drawing->look->note : "", 110);
    fputs("</text>\n", to);
}

/* What the colours mean, of those that are there: from right to left, above what a search finds. */
static void put_legend(const drawing_t *drawing)
{
    static const struct {
        const char *name;
        int width;
    } tones[PFA_TONES] = {[PFA_TONE_OWN] = {"program", 78},
                          [PFA_TONE_LIBRARY] = {"library", 70},
                          [PFA_TONE_RUNTIME] = {"C++ library", 98},
                          [PFA_TONE_UNKNOWN] = {"no function", 86}};
    bool seen[PFA_TONES] = {false};
    int x = WIDTH - SIDE;
    for (size_t i = 1; i < drawing->flame->count; i++) {
        seen[drawing->flame->nodes[i].tone] |= drawing->layout.is_drawn[i];
    }
    for (unsigned tone = PFA_TONES; tone-- > 0;) {
        if (seen[tone]) {
            x -= tones[tone].width;
            fprintf(drawing->to,
                    "<rect class=\"t%u\" x=\"%d\" y=\"41\" width=\"10\" height=\"10\" rx=\"2\"/>"
                    "<text class=\"dim\" x=\"%d\" y=\"50\">%s</text>\n",
                    tone * SHADES, x, x + 14, tones[tone].name);
        }
    }
}

/* What was left out; a line that the script keeps for the frame that is pointed at lies below. */
static void put_left_out(const drawing_t *drawing)
{
    const pfa_flame_layout_t *layout = &drawing->layout;
    fprintf(drawing->to, "<text class=\"dim\" x=\"%d\" y=\"63\">", SIDE);
    if (layout->totals[PFA_FLAME_ROOT] <= 0) {
        fputs("nothing to show", drawing->to);
    }
    if (layout->narrow != 0) {
        fprintf(drawing->to, "%zu frames are too narrow to be drawn", layout->narrow);
    }
    if (layout->deep != 0) {
        fprintf(drawing->to, "%s%zu frames lie too deep to be drawn", layout->narrow != 0 ? ", " : "", layout->deep);
    }
    fputs("</text>\n", drawing->to);
}

static uint32_t number_of(drawing_t *drawing, uint32_t text)
{
    if (drawing->number[text] == 0) {
        drawing->number[text] = ++drawing->numbers;
    }
    return drawing->number[text] - 1;
}

/* The same name has the same shade everywhere. */
static unsigned shade_of(const char *name)
{
    uint32_t hash = 2166136261;
    for (; *name != '\0'; name++) {
        hash = (hash ^ (unsigned char)*name) * 16777619;
    }
    return hash >> 16 & (SHADES - 1);
}

/* data-f: name, extra, amount, level, repeats at least and at most; data-e: of an estimate, half of its 95 % confidence
 * interval. */
static void put_frame(drawing_t *drawing, uint32_t number)
{
    const pfa_flame_node_t *node = &drawing->flame->nodes[number];
    unsigned colour = (unsigned)node->tone * SHADES + shade_of(drawing->flame->texts[node->name]);
    fprintf(drawing->to,
            "<rect class=\"f t%u%s\" x=\"%.3f\" y=\"%.0f\" width=\"%.3f\" height=\"%d\" data-f=\"%" PRIu32 " %" PRIu32
            " %.17g %" PRIu32,
            colour, width_of(drawing, number) < EDGE_LEAST ? " n" : "", x_of(drawing, number), y_of(drawing, number),
            width_of(drawing, number), LINE - 1, number_of(drawing, node->name), number_of(drawing, node->extra),
            drawing->layout.totals[number], drawing->layout.levels[number]);
    if (node->most != 0) {
        fprintf(drawing->to, " %" PRIu32 " %" PRIu32, node->least, node->most);
    }
    if (drawing->layout.variances[number] > 0) {
        fprintf(drawing->to, "\" data-e=\"%.6g", pfa_half_width(drawing->layout.variances[number]));
    }
    fputs("\"/>\n", drawing->to);
}

/* As the script writes them too. */
static void put_label(const drawing_t *drawing, uint32_t number)
{
    const pfa_flame_node_t *node = &drawing->flame->nodes[number];
    double width = width_of(drawing, number);
    char repeats[32] = "";
    if (width < LABEL_LEAST) {
        return;
    }
    if (node->most != 0 && node->least == node->most) {
        snprintf(repeats, sizeof repeats, " (x%" PRIu32 ")", node->most);
    } else if (node->most != 0) {
        snprintf(repeats, sizeof repeats, " (x%" PRIu32 "-%" PRIu32 ")", node->least, node->most);
    }
    size_t room = (size_t)((width - 6) / glyph_width);
    size_t tail = pfa_glyphs_count(repeats);
    fprintf(drawing->to, "<text x=\"%.1f\" y=\"%.1f\">", x_of(drawing, number) + 3, y_of(drawing, number) + 12);
    pfa_svg_put_cut(drawing->to, drawing->flame->texts[node->name], room > tail + 3 ? room - tail : room);
    fprintf(drawing->to, "%s</text>\n", room > tail + 3 ? repeats : "");
}

/* A literal of the script, with nothing that could end it or the element it is in. */
static void put_literal(FILE *to, const char *text)
{
    uint32_t glyph;
    fputc('"', to);
    while ((glyph = pfa_glyph_next(&text)) != 0) {
        char bytes[PFA_GLYPH_BYTES + 1];
        if (glyph == '"' || glyph == '\\' || glyph == '<' || glyph == '>' || glyph == '&') {
            fprintf(to, "\\u%04x", (unsigned)glyph);
        } else {
            pfa_glyph_put(glyph, bytes);
            fputs(bytes, to);
        }
    }
    fputc('"', to);
}

static void put_texts(const drawing_t *drawing)
{
    uint32_t *texts = pfa_memory_get(drawing->numbers, sizeof *texts);
    for (size_t i = 0; i < drawing->flame->text_count; i++) {
        if (drawing->number[i] != 0) {
            texts[drawing->number[i] - 1] = (uint32_t)i;
        }
    }
    fputs("var texts=[", drawing->to);
    for (uint32_t i = 0; i < drawing->numbers; i++) {
        fputs(i != 0 ? ",\n" : "", drawing->to);
        put_literal(drawing->to, drawing->flame->texts[texts[i]]);
    }
    fputs("];\n", drawing->to);
    pfa_memory_free(texts);
}

static void put_frames(drawing_t *drawing)
{
    fputs("<g id=\"frames\">\n", drawing->to);
    for (size_t i = 0; i < drawing->flame->count; i++) {
        if (drawing->layout.is_drawn[drawing->layout.order[i]]) {
            put_frame(drawing, drawing->layout.order[i]);
        }
    }
    fputs("</g>\n<g id=\"labels\">\n", drawing->to);
    for (size_t i = 0; i < drawing->flame->count; i++) {
        if (drawing->layout.is_drawn[drawing->layout.order[i]]) {
            put_label(drawing, drawing->layout.order[i]);
        }
    }
    fputs("</g>\n", drawing->to);
}

void pfa_flame_svg(const pfa_flame_t *flame, FILE *to, const pfa_flame_look_t *look)
{
    static const char *const units[] = {
        [PFA_UNIT_NUMBER] = "number", [PFA_UNIT_BYTES] = "bytes", [PFA_UNIT_SECONDS] = "seconds"};
    drawing_t drawing = {.to = to, .flame = flame, .look = look};
    pfa_flame_lay(flame, INNER, &drawing.layout);
    drawing.number = pfa_memory_get(flame->text_count, sizeof *drawing.number);
    drawing.height = HEAD + (drawing.layout.deepest + 1) * LINE + FOOT;
    put_head(&drawing);
    put_left_out(&drawing);
    put_legend(&drawing);
    put_frames(&drawing);
    fprintf(to, "<text id=\"about\" x=\"%d\" y=\"%.0f\"></text>\n<g id=\"controls\"></g>\n<script>\n<![CDATA[\n", SIDE,
            drawing.height - 12);
    put_texts(&drawing);
    fprintf(to, "var unit=\"%s\",side=%d,inner=%d,glyphWidth=%.2f,labelLeast=%d,edgeLeast=%d;\n", units[look->unit],
            SIDE, INNER, glyph_width, LABEL_LEAST, EDGE_LEAST);
    pfa_flame_script(to);
    fputs("]]>\n</script>\n</svg>\n", to);
    pfa_memory_free(drawing.number);
    pfa_flame_layout_free(&drawing.layout);
}
