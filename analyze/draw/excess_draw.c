/* Owns the two pictures of the paper: the frequency-lifetime diagram and the ratio chart, as SVG files and on the terminal. */
#include "analyze/draw/excess_draw.h"
#include "analyze/base/memory.h"
#include "analyze/base/text.h"
#include "analyze/draw/svg.h"
#include "analyze/excess/excess.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOTS_MOST = 5000, BARS_MOST = 60, TERM_BARS = 10, LABELS = 12, NOTE = 200 };

/* What a picture is made of; texts of marks are its own. */
typedef struct picture {
    pfa_dot_t *dots;
    pfa_bar_t *bars;
    size_t count;
    char **texts;
    size_t text_count;
    char note[NOTE];
} picture_t;

static void free_picture(picture_t *picture)
{
    for (size_t i = 0; i < picture->text_count; i++) {
        pfa_memory_free(picture->texts[i]);
    }
    pfa_memory_free(picture->texts);
    pfa_memory_free(picture->dots);
    pfa_memory_free(picture->bars);
}

static const char *keep(picture_t *picture, char *text)
{
    picture->texts[picture->text_count++] = text;
    return text;
}

static char *name_caller(const pfa_excess_t *excess, uint32_t caller)
{
    const char *name = pfa_callers_name(&excess->callers, caller);
    return pfa_callers_are_routines(&excess->callers) ? pfa_wrappers_bare_name(name)
                                                      : pfa_memory_copy(name, strlen(name));
}

static char *name_of(const pfa_excess_t *excess, const pfa_object_t *object)
{
    char *caller = name_caller(excess, object->caller);
    char text[PFA_SIZES_TEXT];
    char *name = pfa_memory_format("%s, %s", caller, pfa_text_sizes(text, object->low, object->high));
    pfa_memory_free(caller);
    return name;
}

static char *title_of(const pfa_excess_t *excess, const pfa_object_t *object)
{
    char sizes[PFA_SIZES_TEXT];
    char texts[2][PFA_NUMBER_TEXT];
    return pfa_memory_format(
        "%s, %s, freed by %s: %s times, %s on average", pfa_callers_name(&excess->callers, object->caller),
        pfa_text_sizes(sizes, object->low, object->high), excess->callers.routines.list[object->destroyer].name,
        pfa_text_count(texts[0], round(object->sum.chunks)), pfa_text_duration(texts[1], object->lifetime));
}

static void add_dot(const pfa_excess_t *excess, picture_t *picture, size_t number, bool label)
{
    const pfa_object_t *object = &excess->objects.list[number];
    picture->dots[picture->count++] = (pfa_dot_t){.x = object->sum.chunks,
                                                  .y = object->lifetime * 1e-9,
                                                  .title = keep(picture, title_of(excess, object)),
                                                  .label = label ? keep(picture, name_of(excess, object)) : NULL};
}

/* All objects that were freed, or the most frequent of hits among some of the others, chosen by chance. */
static picture_t make_diagram(const pfa_excess_t *excess)
{
    size_t count = excess->objects.freed;
    size_t few = DOTS_MOST;
    size_t labels = excess->hit_count < LABELS ? excess->hit_count : LABELS;
    bool *named = pfa_memory_get(count + 1, sizeof *named);
    uint32_t *chosen = pfa_random_choose(count, &few, excess->options->seed);
    picture_t picture = {.dots = pfa_memory_get(few + labels + 1, sizeof *picture.dots),
                         .texts = pfa_memory_get(2 * (few + labels) + 1, sizeof *picture.texts)};
    for (size_t i = 0; i < labels; i++) {
        named[excess->hits[i].leader] = true;
    }
    for (size_t i = 0; i < few; i++) {
        if (!named[chosen[i]]) {
            add_dot(excess, &picture, chosen[i], false);
        }
    }
    for (size_t i = 0; i < labels; i++) {
        add_dot(excess, &picture, excess->hits[i].leader, true);
    }
    snprintf(picture.note, sizeof picture.note, "%zu of %zu allocation objects; excessive ones are named",
             picture.count, count);
    pfa_memory_free(chosen);
    pfa_memory_free(named);
    return picture;
}

static pfa_scatter_t diagram_of(const picture_t *picture)
{
    return (pfa_scatter_t){.title = "Frequency and lifetime of allocation objects",
                           .note = picture->note,
                           .x = {.name = "frequency", .unit = PFA_UNIT_NUMBER, .logarithmic = true},
                           .y = {.name = "mean lifetime", .unit = PFA_UNIT_SECONDS, .logarithmic = true},
                           .dots = picture->dots,
                           .count = picture->count};
}

static int compare_ratios(const void *left, const void *right, void *context)
{
    const pfa_object_t *objects = context;
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    if (objects[a].ratio != objects[b].ratio) {
        return objects[a].ratio > objects[b].ratio ? -1 : 1;
    }
    return (a > b) - (a < b);
}

/* The objects with the largest ratios. */
static picture_t make_chart(const pfa_excess_t *excess, size_t most)
{
    size_t count = excess->objects.freed;
    uint32_t *order = pfa_memory_get(count + 1, sizeof *order);
    double factor = excess->unit != NULL ? excess->unit->ns : 1e6;
    for (size_t i = 0; i < count; i++) {
        order[i] = (uint32_t)i;
    }
    qsort_r(order, count, sizeof *order, compare_ratios, excess->objects.list);
    most = most < count ? most : count;
    picture_t picture = {.bars = pfa_memory_get(most + 1, sizeof *picture.bars),
                         .texts = pfa_memory_get(2 * most + 1, sizeof *picture.texts)};
    for (; picture.count < most; picture.count++) {
        const pfa_object_t *object = &excess->objects.list[order[picture.count]];
        picture.bars[picture.count] = (pfa_bar_t){.name = keep(&picture, name_of(excess, object)),
                                                  .title = keep(&picture, title_of(excess, object)),
                                                  .value = object->ratio * factor,
                                                  .marked = excess->reported[order[picture.count]]};
    }
    snprintf(picture.note, sizeof picture.note, "the largest %zu of %zu", most, count);
    pfa_memory_free(order);
    return picture;
}

static pfa_bars_t chart_of(const pfa_excess_t *excess, const picture_t *picture, char name[NOTE])
{
    snprintf(name, NOTE, "frequency / lifetime, per %s", excess->unit != NULL ? excess->unit->name : "ms");
    return (pfa_bars_t){.title = "Ratio of frequency and lifetime",
                        .note = picture->note,
                        .x_name = "allocation objects",
                        .y = {.name = name, .unit = PFA_UNIT_NUMBER, .logarithmic = true},
                        .bars = picture->bars,
                        .count = picture->count,
                        .limit_name = excess->unit != NULL ? "threshold" : NULL,
                        .limit = excess->threshold};
}

static void put_diagram(void *answer, void *to)
{
    picture_t picture = make_diagram(answer);
    pfa_scatter_t chart = diagram_of(&picture);
    pfa_svg_scatter(to, &chart);
    free_picture(&picture);
}

int pfa_excess_diagram(pfa_excess_t *excess, FILE *to)
{
    return pfa_answer_write(excess, put_diagram, to);
}

static void put_chart(void *answer, void *to)
{
    char name[NOTE];
    picture_t picture = make_chart(answer, BARS_MOST);
    pfa_bars_t chart = chart_of(answer, &picture, name);
    pfa_svg_bars(to, &chart);
    free_picture(&picture);
}

int pfa_excess_chart(pfa_excess_t *excess, FILE *to)
{
    return pfa_answer_write(excess, put_chart, to);
}

void pfa_excess_put_charts(FILE *to, const pfa_term_t *term, const pfa_excess_t *excess)
{
    char name[NOTE];
    picture_t dots = make_diagram(excess);
    pfa_scatter_t diagram = diagram_of(&dots);
    fputc('\n', to);
    pfa_term_scatter(to, term, &diagram);
    free_picture(&dots);
    picture_t bars = make_chart(excess, TERM_BARS);
    pfa_bars_t chart = chart_of(excess, &bars, name);
    char note[3 * NOTE]; /* bars on a terminal have no axis to tell that */
    snprintf(note, sizeof note, "%s; %s; logarithmic", bars.note, name);
    chart.note = note;
    fputc('\n', to);
    pfa_term_bars(to, term, &chart);
    free_picture(&bars);
}
