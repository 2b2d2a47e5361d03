/* Owns timelines as charts. See analyze/timeline/timeline.h. */
#include "analyze/draw/timeline_chart.h"
#include "analyze/base/memory.h"
#include "analyze/base/text.h"
#include "analyze/draw/scale.h"
#include "analyze/draw/svg.h"
#include "analyze/timeline/timeline.h"

#include <stdio.h>
#include <stdlib.h>

/* What a chart points into. */
typedef struct charted {
    pfa_area_t area;
    pfa_series_t *series;
    double *times;
    double *values; /* of all series, each behind the other: the state before the first bucket, then one for each */
    double *most;
    char *title;
    char *note;
} charted_t;

/* The bucket whose end is the highest, for what is told of estimates. */
static size_t highest_bucket(const pfa_timeline_t *timeline)
{
    size_t best = 0;
    for (size_t i = 0; i < timeline->buckets; i++) {
        best = timeline->all.bytes[i] > timeline->all.bytes[best] ? i : best;
    }
    return best;
}

static char *make_note(const pfa_timeline_t *timeline, bool chunks)
{
    FILE *to;
    pfa_memory_stream_t *stream = pfa_memory_stream_open(&to);
    char number[PFA_NUMBER_TEXT];
    const pfa_summit_result_t *peak = &timeline->peak;
    fprintf(to, "peak %s", pfa_text_bytes(number, peak->bytes));
    if (timeline->query->sampled) {
        fprintf(to, " +- %s (an estimate; 95 %%)",
                pfa_text_bytes(number, pfa_timeline_error(&timeline->all, highest_bucket(timeline))));
    }
    if (peak->at_most > peak->bytes) {
        fprintf(to, ", %s at most", pfa_text_bytes(number, peak->at_most));
    }
    if (peak->one && peak->bytes > 0) {
        fprintf(to, " at %s", pfa_text_moment(number, peak->seconds));
    }
    if (!chunks && peak->bytes > 0) {
        fputs("; line above: at most", to);
    }
    return pfa_memory_stream_close(stream);
}

/* There are colours for so many; all strands behind these are one, with the rest. */
static size_t count_series(const pfa_timeline_t *timeline)
{
    size_t count = timeline->strand_count;
    bool rest = count != 0 && timeline->strands[count - 1].rest;
    return count == 0 ? 1 : count - rest > PFA_SERIES_MOST ? PFA_SERIES_MOST + 1 : count;
}

/* Of strands from `first` on, up to `behind`. */
static void put_series(charted_t *charted, const pfa_timeline_t *timeline, size_t number, const pfa_strand_t *first,
                       const pfa_strand_t *behind, bool chunks)
{
    size_t count = timeline->buckets + 1;
    double *values = charted->values + number * count;
    for (const pfa_strand_t *strand = first; strand != behind; strand++) {
        for (size_t i = 1; i < count; i++) {
            values[i] += (chunks ? strand->chunks : strand->bytes)[i - 1];
        }
    }
    bool rest = first->rest || number >= PFA_SERIES_MOST;
    charted->series[number] = (pfa_series_t){.name = rest ? "other" : first->name, .values = values, .rest = rest};
}

static void put_all_series(charted_t *charted, const pfa_timeline_t *timeline, size_t series, bool chunks)
{
    const pfa_strand_t *strands = timeline->strand_count != 0 ? timeline->strands : &timeline->all;
    size_t count = timeline->strand_count != 0 ? timeline->strand_count : 1;
    for (size_t i = 0; i < series; i++) {
        put_series(charted, timeline, i, &strands[i], &strands[i + 1 < series ? i + 1 : count], chunks);
    }
}

static charted_t make_chart(const pfa_timeline_t *timeline, bool chunks)
{
    size_t count = timeline->buckets + 1;
    size_t series = count_series(timeline);
    charted_t charted = {
        .series = pfa_memory_get(series, sizeof *charted.series),
        .times = pfa_memory_get(count, sizeof *charted.times),
        .values = pfa_memory_get(series * count, sizeof *charted.values),
        .most = pfa_memory_get(count, sizeof *charted.most),
        .title = pfa_chart_title(timeline->query, chunks ? "Live chunks over time" : "Live bytes over time"),
        .note = make_note(timeline, chunks)};
    for (size_t i = 1; i < count; i++) {
        charted.times[i] = pfa_timeline_end(timeline, i - 1);
        /* No more than the peak, which is known better. */
        double most = pfa_timeline_most(&timeline->all, i - 1);
        charted.most[i] = most < timeline->peak.at_most ? most : timeline->peak.at_most;
        charted.most[i] = charted.most[i] > timeline->all.bytes[i - 1] ? charted.most[i] : timeline->all.bytes[i - 1];
    }
    put_all_series(&charted, timeline, series, chunks);
    charted.area = (pfa_area_t){.title = charted.title,
                                .note = charted.note,
                                .x = {.name = "since the start", .unit = PFA_UNIT_SECONDS},
                                .y = {.unit = chunks ? PFA_UNIT_NUMBER : PFA_UNIT_BYTES},
                                .times = charted.times,
                                .count = count,
                                .series = charted.series,
                                .series_count = series,
                                .stacked = true,
                                .named = timeline->strand_count != 0,
                                .most = chunks ? NULL : charted.most};
    return charted;
}

static void free_chart(charted_t *charted)
{
    pfa_memory_free(charted->series);
    pfa_memory_free(charted->times);
    pfa_memory_free(charted->values);
    pfa_memory_free(charted->most);
    pfa_memory_free(charted->title);
    pfa_memory_free(charted->note);
}

typedef struct drawing {
    FILE *to;
    const pfa_term_t *term;
    bool chunks;
    FILE *notes; /* NULL: none */
} drawing_t;

static void put_notes(const drawing_t *drawing, const pfa_timeline_t *timeline)
{
    if (drawing->notes != NULL) {
        pfa_query_tell(timeline->query, drawing->notes);
    }
}

static void draw_term(void *answer, void *to)
{
    const drawing_t *drawing = to;
    charted_t charted = make_chart(answer, drawing->chunks);
    pfa_term_area(drawing->to, drawing->term, &charted.area);
    free_chart(&charted);
    put_notes(drawing, answer);
}

int pfa_timeline_term(pfa_timeline_t *timeline, FILE *to, const pfa_term_t *term, bool chunks, FILE *notes)
{
    drawing_t drawing = {.to = to, .term = term, .chunks = chunks, .notes = notes};
    return pfa_answer_write(timeline, draw_term, &drawing);
}

static void draw_svg(void *answer, void *to)
{
    const drawing_t *drawing = to;
    charted_t charted = make_chart(answer, drawing->chunks);
    pfa_svg_area(drawing->to, &charted.area);
    free_chart(&charted);
    put_notes(drawing, answer);
}

int pfa_timeline_svg(pfa_timeline_t *timeline, FILE *to, bool chunks, FILE *notes)
{
    drawing_t drawing = {.to = to, .chunks = chunks, .notes = notes};
    return pfa_answer_write(timeline, draw_svg, &drawing);
}
