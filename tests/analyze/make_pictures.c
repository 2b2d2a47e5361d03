/* Draws what tests give it, so that they can look at the pictures: the charts and flame graphs of analyze/draw.
 *
 *   make_pictures WHAT FORM WIDTH < FIELDS
 *   WHAT   area lines scatter bars flame folded
 *   FORM   svg ascii utf8 colour; of flame: up down
 *   FIELDS of the chart, each ended by a byte 1 and each line of them by a byte 2, which names cannot have therefore:
 *          area, lines   the times; then for each series its name and values ("other": the rest; "most": what it was at most)
 *          scatter       x, y, title, label ("": none) of each dot; axes are logarithmic
 *          bars          name, value, 1 if marked; the axis is logarithmic
 *          flame, folded the amount, then the names of the path */
/* sources: analyze/draw/area.c analyze/draw/flame.c analyze/draw/flame_folded.c analyze/draw/flame_layout.c analyze/draw/flame_script.c analyze/draw/flame_svg.c analyze/base/glyphs.c analyze/draw/scale.c analyze/draw/svg.c analyze/draw/svg_area.c analyze/draw/svg_bars.c analyze/draw/svg_scatter.c analyze/draw/term.c analyze/draw/term_area.c analyze/draw/term_marks.c analyze/base/repeats.c analyze/base/slots.c analyze/base/memory.c analyze/base/notes.c analyze/base/progress.c analyze/base/text.c */
#include "analyze/draw/flame.h"
#include "analyze/draw/svg.h"
#include "analyze/draw/term.h"
#include "analyze/base/memory.h"
#include "tests/checked.h"

#include <stdlib.h>
#include <string.h>

typedef struct line {
    char **fields;
    size_t count;
    size_t room;
} line_t;

typedef struct input {
    line_t *lines;
    size_t count;
    size_t room;
} input_t;

static char *read_all(void)
{
    size_t room = 0;
    size_t size = 0;
    char *text = pfa_memory_grow(NULL, &room, 1 << 16, 1);
    size_t got;
    while ((got = fread(text + size, 1, room - size - 1, stdin)) != 0) {
        size += got;
        text = pfa_memory_grow(text, &room, 2 * size + 2, 1);
    }
    text[size] = '\0';
    return text;
}

static input_t read_input(char *text)
{
    input_t input = {.lines = NULL};
    while (*text != '\0') {
        input.lines = pfa_memory_grow(input.lines, &input.room, input.count + 1, sizeof *input.lines);
        line_t *line = &input.lines[input.count++];
        while (*text != '\2') {
            line->fields = pfa_memory_grow(line->fields, &line->room, line->count + 1, sizeof *line->fields);
            line->fields[line->count++] = text;
            text = strchr(text, '\1');
            must(text != NULL);
            *text++ = '\0';
        }
        text++;
    }
    return input;
}

static double *numbers_of(char **fields, size_t count)
{
    double *numbers = pfa_memory_get(count, sizeof *numbers);
    for (size_t i = 0; i < count; i++) {
        numbers[i] = strtod(fields[i], NULL);
    }
    return numbers;
}

static pfa_area_t make_area(const input_t *input, bool stacked)
{
    pfa_series_t *series = pfa_memory_get(input->count, sizeof *series);
    pfa_area_t area = {.title = "Title <&>",
                       .note = "note",
                       .x = {.name = "time", .unit = PFA_UNIT_SECONDS},
                       .y = {.unit = PFA_UNIT_BYTES},
                       .times = numbers_of(input->lines[0].fields, input->lines[0].count),
                       .count = input->lines[0].count,
                       .series = series,
                       .stacked = stacked};
    for (size_t i = 1; i < input->count; i++) {
        const line_t *line = &input->lines[i];
        double *values = numbers_of(line->fields + 1, line->count - 1);
        must(line->count == area.count + 1);
        if (strcmp(line->fields[0], "most") == 0) {
            area.most = values;
        } else {
            bool rest = strcmp(line->fields[0], "other") == 0;
            series[area.series_count++] = (pfa_series_t){.name = line->fields[0], .values = values, .rest = rest};
        }
    }
    return area;
}

static pfa_scatter_t make_scatter(const input_t *input)
{
    pfa_dot_t *dots = pfa_memory_get(input->count, sizeof *dots);
    for (size_t i = 0; i < input->count; i++) {
        char **fields = input->lines[i].fields;
        dots[i] = (pfa_dot_t){.x = strtod(fields[0], NULL),
                              .y = strtod(fields[1], NULL),
                              .title = fields[2],
                              .label = fields[3][0] != '\0' ? fields[3] : NULL};
    }
    return (pfa_scatter_t){.title = "Title <&>",
                           .x = {.name = "chunks", .logarithmic = true},
                           .y = {.name = "life", .unit = PFA_UNIT_SECONDS, .logarithmic = true},
                           .dots = dots,
                           .count = input->count};
}

static pfa_bars_t make_bars(const input_t *input)
{
    pfa_bar_t *bars = pfa_memory_get(input->count, sizeof *bars);
    for (size_t i = 0; i < input->count; i++) {
        char **fields = input->lines[i].fields;
        bars[i] =
            (pfa_bar_t){.name = fields[0], .value = strtod(fields[1], NULL), .marked = strcmp(fields[2], "1") == 0};
    }
    return (pfa_bars_t){.title = "Title <&>",
                        .x_name = "objects",
                        .y = {.name = "ratio", .logarithmic = true},
                        .bars = bars,
                        .count = input->count,
                        .limit_name = "limit",
                        .limit = 100};
}

static pfa_flame_t *make_flame(const input_t *input)
{
    pfa_flame_t *flame = pfa_flame_new();
    for (size_t i = 0; i < input->count; i++) {
        const line_t *line = &input->lines[i];
        pfa_flame_step_t *path = pfa_memory_get(line->count, sizeof *path);
        for (size_t j = 1; j < line->count; j++) {
            path[j - 1] = (pfa_flame_step_t){.name = line->fields[j], .extra = j % 2 != 0 ? "a.c:1" : NULL};
        }
        pfa_flame_add(flame, path, line->count - 1, strtod(line->fields[0], NULL), 0);
        pfa_memory_free(path);
    }
    return flame;
}

static void draw_flame(const char *what, const char *form, const input_t *input)
{
    pfa_flame_t *flame = make_flame(input);
    if (strcmp(what, "folded") == 0) {
        pfa_flame_folded(flame, stdout);
    } else {
        pfa_flame_look_t look = {.title = "Title <&>", .unit = PFA_UNIT_BYTES, .downwards = strcmp(form, "down") == 0};
        pfa_flame_svg(flame, stdout, &look);
    }
    pfa_flame_free(flame);
}

static void draw_chart(const char *what, const char *form, unsigned width, const input_t *input)
{
    bool svg = strcmp(form, "svg") == 0;
    bool colour = strcmp(form, "colour") == 0;
    pfa_term_t term = {.width = width, .height = 16, .utf8 = colour || strcmp(form, "utf8") == 0, .colour = colour};
    if (strcmp(what, "scatter") == 0) {
        pfa_scatter_t chart = make_scatter(input);
        svg ? pfa_svg_scatter(stdout, &chart) : pfa_term_scatter(stdout, &term, &chart);
    } else if (strcmp(what, "bars") == 0) {
        pfa_bars_t chart = make_bars(input);
        svg ? pfa_svg_bars(stdout, &chart) : pfa_term_bars(stdout, &term, &chart);
    } else {
        pfa_area_t chart = make_area(input, strcmp(what, "area") == 0);
        svg ? pfa_svg_area(stdout, &chart) : pfa_term_area(stdout, &term, &chart);
    }
}

int main(int argc, char **argv)
{
    must(argc == 4);
    char *text = read_all();
    input_t input = read_input(text);
    if (strcmp(argv[1], "flame") == 0 || strcmp(argv[1], "folded") == 0) {
        draw_flame(argv[1], argv[2], &input);
    } else {
        draw_chart(argv[1], argv[2], (unsigned)strtoul(argv[3], NULL, 10), &input);
    }
    return fflush(stdout) != 0;
}
