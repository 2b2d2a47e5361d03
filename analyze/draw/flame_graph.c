/* Owns flame graphs of amounts. See analyze/draw/flame_graph.h. */
#include "analyze/draw/flame_graph.h"
#include "analyze/base/memory.h"

#include <stdio.h>

typedef struct drawing {
    FILE *to;
    FILE *notes; /* NULL: none */
    const pfa_graph_look_t *look;
} drawing_t;

static void put_notes(const drawing_t *drawing, const pfa_amounts_t *amounts)
{
    if (drawing->notes != NULL) {
        pfa_amounts_put_total(amounts, drawing->notes);
        fputc('\n', drawing->notes);
        pfa_query_tell(amounts->query, drawing->notes);
    }
}

static pfa_flame_t *make_graph(const pfa_amounts_t *amounts, const pfa_graph_look_t *look)
{
    pfa_flame_t *flame = pfa_flame_new();
    pfa_path_t path = {.count = 0};
    for (size_t i = 0; i < amounts->count; i++) {
        const pfa_amount_t *amount = &amounts->list[i];
        if (amount->value > 0) {
            pfa_path_fill(&path, amounts, amount, look->inverted);
            pfa_flame_add(flame, path.steps, path.count, amount->value, amount->variance);
        }
    }
    pfa_path_free(&path);
    if (look->order == PFA_FRAMES_BY_NAME) {
        pfa_flame_by_name(flame);
    }
    return flame;
}

static void draw_svg(void *answer, void *to)
{
    static const char *const names[] = {
        [PFA_METRIC_BYTES] = "Bytes allocated",          [PFA_METRIC_COUNT] = "Chunks allocated",
        [PFA_METRIC_LIVE] = "Bytes alive at the end",    [PFA_METRIC_PEAK] = "Bytes alive at the peak",
        [PFA_METRIC_WASTED] = "Bytes allocated in vain", [PFA_METRIC_AT] = "Bytes alive at a moment"};
    const pfa_amounts_t *amounts = answer;
    const drawing_t *drawing = to;
    FILE *text;
    pfa_memory_stream_t *stream = pfa_memory_stream_open(&text);
    pfa_amounts_put_total(amounts, text);
    char *note = pfa_memory_stream_close(stream);
    char *title = pfa_chart_title(amounts->query, names[amounts->metric]);
    pfa_flame_t *flame = make_graph(amounts, drawing->look);
    pfa_flame_look_t look = {.title = title,
                             .note = note,
                             .unit = amounts->metric == PFA_METRIC_COUNT ? PFA_UNIT_NUMBER : PFA_UNIT_BYTES,
                             .downwards = drawing->look->inverted};
    pfa_flame_svg(flame, drawing->to, &look);
    pfa_flame_free(flame);
    pfa_memory_free(title);
    pfa_memory_free(note);
    put_notes(drawing, amounts);
}

int pfa_amounts_svg(pfa_amounts_t *amounts, const pfa_graph_look_t *look, FILE *to, FILE *notes)
{
    drawing_t drawing = {.to = to, .notes = notes, .look = look};
    return pfa_answer_write(amounts, draw_svg, &drawing);
}

static void draw_folded(void *answer, void *to)
{
    const drawing_t *drawing = to;
    pfa_flame_t *flame = make_graph(answer, drawing->look);
    pfa_flame_folded(flame, drawing->to);
    pfa_flame_free(flame);
    put_notes(drawing, answer);
}

int pfa_amounts_folded(pfa_amounts_t *amounts, const pfa_graph_look_t *look, FILE *to, FILE *notes)
{
    drawing_t drawing = {.to = to, .notes = notes, .look = look};
    return pfa_answer_write(amounts, draw_folded, &drawing);
}
