/* Owns what a summary is made of. See analyze/diff/summary.h. */
#include "analyze/diff/summary.h"
#include "analyze/base/memory.h"
#include "analyze/base/notes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const pfa_diff_metric_facts_t pfa_diff_metrics[PFA_DIFF_METRICS] = {
#define PFA_DIFF_METRIC(name, is_bytes, flows, label) {#name, label, is_bytes, flows},
#include "analyze/diff/metrics.def"
#undef PFA_DIFF_METRIC
};

/* Whoever has bytes finds their chunks behind them. */
_Static_assert((PFA_DIFF_METRIC_bytes ^ 1) == PFA_DIFF_METRIC_count &&
                   (PFA_DIFF_METRIC_peak ^ 1) == PFA_DIFF_METRIC_peak_count &&
                   (PFA_DIFF_METRIC_live ^ 1) == PFA_DIFF_METRIC_live_count && PFA_DIFF_METRIC_bytes % 2 == 0,
               "metrics come in twos");

pfa_diff_metric_t pfa_diff_metric_find(const char *name)
{
    unsigned i = 0;
    while (i < PFA_DIFF_METRICS && strcmp(pfa_diff_metrics[i].name, name) != 0) {
        i++;
    }
    return (pfa_diff_metric_t)i;
}

void pfa_sums_add(pfa_sums_t *to, const pfa_sums_t *sums)
{
    for (size_t i = 0; i < PFA_DIFF_METRICS; i++) {
        to->values[i] += sums->values[i];
        to->variances[i] += sums->variances[i];
        to->unseen[i] += sums->unseen[i];
    }
    for (size_t i = 0; i < PFA_SCORES; i++) {
        to->scored[i] += sums->scored[i];
        to->scored_chunks[i] += sums->scored_chunks[i];
    }
    to->leaked += sums->leaked;
}

double pfa_sums_score(const pfa_sums_t *sums, pfa_score_t score)
{
    return sums->scored_chunks[score] > 0 ? sums->scored[score] / sums->scored_chunks[score] : (double)NAN;
}

pfa_summary_point_t *pfa_summary_put(pfa_summary_t *summary, uint64_t identity, bool *is_new)
{
    uint32_t number = pfa_index_put(&summary->index, identity, (uint32_t)summary->count);
    *is_new = number == summary->count;
    if (*is_new) {
        summary->points = pfa_memory_grow(summary->points, &summary->room, summary->count + 1, sizeof *summary->points);
        summary->points[summary->count++] = (pfa_summary_point_t){.identity = identity};
    }
    return &summary->points[number];
}

bool pfa_summary_add_sizes(pfa_summary_point_t *point, const pfa_size_sum_t *sizes)
{
    for (size_t i = 0; i < point->size_count; i++) {
        pfa_size_sum_t *known = &point->sizes[i];
        if (known->metric == sizes->metric && known->class == sizes->class) {
            known->chunks += sizes->chunks;
            known->bytes += sizes->bytes;
            return false;
        }
    }
    point->sizes = pfa_memory_grow(point->sizes, &point->size_room, point->size_count + 1, sizeof *point->sizes);
    point->sizes[point->size_count++] = *sizes;
    return true;
}

/* A chunk of s bytes is a sample with the chance p = 1 - exp(-s / sample) and then stands for 1/p; the sum of x over all chunks
 * has the variance x * x * (1/p - 1) of each. Of a class of sizes the mean is near enough to all of them. */
void pfa_summary_variances(const pfa_summary_point_t *point, double sample, double variances[PFA_DIFF_METRICS])
{
    for (size_t i = 0; i < PFA_DIFF_METRICS; i++) {
        variances[i] = 0;
    }
    for (size_t i = 0; i < point->size_count && sample > 1; i++) {
        const pfa_size_sum_t *sizes = &point->sizes[i];
        if (sizes->bytes > 0 && sizes->chunks > 0) { /* a chunk without bytes is never sampled, and always recorded */
            double size = sizes->bytes / sizes->chunks;
            double each = 1 / expm1(size / sample);
            variances[sizes->metric] += size * sizes->bytes * each;
            variances[sizes->metric ^ 1u] += sizes->chunks * each;
        }
    }
}

void pfa_summary_add_places(pfa_summary_point_t *point, uint64_t places)
{
    if (places != 0) {
        point->places =
            pfa_memory_grow(point->places, &point->place_room, point->place_count + 1, sizeof *point->places);
        point->places[point->place_count++] = places;
    }
}

static const char *keep(pfa_symbols_t *texts, const char *text)
{
    return text != NULL ? pfa_symbols_text(texts, text) : NULL;
}

void pfa_summary_set_lines(pfa_summary_point_t *point, const pfa_lines_t *lines, pfa_symbols_t *texts)
{
    point->named = pfa_memory_get(lines->count, sizeof *point->named);
    point->lines = (pfa_lines_t){.list = pfa_memory_get(lines->count, sizeof *point->lines.list),
                                 .count = lines->count,
                                 .room = lines->count,
                                 .root = lines->root};
    for (size_t i = 0; i < lines->count; i++) {
        const pfa_line_t *line = &lines->list[i];
        point->named[i] = (pfa_symbol_t){.function = keep(texts, line->symbol->function),
                                         .file = keep(texts, line->symbol->file),
                                         .line = line->symbol->line,
                                         .inlined = line->symbol->inlined};
        point->lines.list[i] = (pfa_line_t){.symbol = &point->named[i],
                                            .module = keep(texts, line->module),
                                            .build = keep(texts, line->build),
                                            .address = line->address};
    }
}

void pfa_summary_free(pfa_summary_t *summary)
{
    for (size_t i = 0; i < summary->count; i++) {
        pfa_lines_free(&summary->points[i].lines);
        pfa_memory_free(summary->points[i].named);
        pfa_memory_free(summary->points[i].sizes);
        pfa_memory_free(summary->points[i].places);
    }
    pfa_memory_free(summary->points);
    pfa_index_free(&summary->index);
    pfa_notes_free(&summary->files);
    pfa_notes_free(&summary->notes);
    pfa_notes_free(&summary->missing);
}
