/* Owns timelines for programs: CSV and JSON. See analyze/timeline/timeline.h. */
#include "analyze/base/glyphs.h"
#include "analyze/base/json.h"
#include "analyze/timeline/timeline.h"

#include <stdio.h>

/* Quoted always: names have commas, and what is a figure to a spreadsheet may be a name. What is no UTF-8 becomes U+FFFD, as in
 * JSON. */
static void put_name(FILE *to, const char *name)
{
    uint32_t glyph;
    fputc('"', to);
    while ((glyph = pfa_glyph_next(&name)) != 0) {
        char bytes[PFA_GLYPH_BYTES + 1];
        pfa_glyph_put(glyph, bytes);
        fprintf(to, "%s%s", glyph == '"' ? "\"" : "", bytes);
    }
    fputc('"', to);
}

static void put_rows(const pfa_timeline_t *timeline, FILE *to, const pfa_strand_t *strand, bool named)
{
    for (size_t i = 0; i < timeline->buckets; i++) {
        if (named) {
            put_name(to, strand->name);
            fputc(',', to);
        }
        fprintf(to, "%.9f,%.15g,%.15g,%.15g,%.15g,%.15g", pfa_timeline_end(timeline, i), strand->bytes[i],
                strand->chunks[i], strand->born[i], strand->died[i], pfa_timeline_most(strand, i));
        if (timeline->query->sampled) {
            fprintf(to, ",%.6g", pfa_timeline_error(strand, i));
        }
        fputc('\n', to);
    }
}

typedef struct writing {
    FILE *to;
    FILE *notes; /* NULL: none */
} writing_t;

static void put_csv(void *answer, void *with)
{
    const pfa_timeline_t *timeline = answer;
    const writing_t *writing = with;
    FILE *to = writing->to;
    bool named = timeline->query->key != NULL;
    fprintf(to, "%stime_s,live_bytes,live_chunks,bytes_born,bytes_died,live_bytes_at_most%s\n", named ? "group," : "",
            timeline->query->sampled ? ",live_bytes_error95" : "");
    if (!named) {
        put_rows(timeline, to, &timeline->all, false);
    }
    for (size_t i = 0; i < timeline->strand_count; i++) {
        put_rows(timeline, to, &timeline->strands[i], true);
    }
    if (writing->notes != NULL) {
        pfa_query_tell(timeline->query, writing->notes);
    }
}

static void put_list(pfa_json_t *json, const char *key, const double *values, size_t count)
{
    pfa_json_begin(json, key, '[');
    for (size_t i = 0; i < count; i++) {
        pfa_json_number(json, NULL, values[i]);
    }
    pfa_json_end(json, ']');
}

static void put_strand(pfa_json_t *json, const pfa_timeline_t *timeline, const pfa_strand_t *strand)
{
    put_list(json, "live_bytes", strand->bytes, timeline->buckets);
    put_list(json, "live_chunks", strand->chunks, timeline->buckets);
    put_list(json, "bytes_born", strand->born, timeline->buckets);
    put_list(json, "bytes_died", strand->died, timeline->buckets);
    pfa_json_begin(json, "live_bytes_at_most", '[');
    for (size_t i = 0; i < timeline->buckets; i++) {
        pfa_json_number(json, NULL, pfa_timeline_most(strand, i));
    }
    pfa_json_end(json, ']');
    if (timeline->query->sampled) {
        pfa_json_begin(json, "live_bytes_error95", '[');
        for (size_t i = 0; i < timeline->buckets; i++) {
            pfa_json_number(json, NULL, pfa_timeline_error(strand, i));
        }
        pfa_json_end(json, ']');
    }
}

static void put_peak(pfa_json_t *json, const pfa_summit_result_t *peak)
{
    pfa_json_begin(json, "peak", '{');
    pfa_json_number(json, "bytes", peak->bytes);
    pfa_json_number(json, "at_most", peak->at_most);
    if (peak->one) {
        pfa_json_number(json, "time", peak->seconds);
    } else {
        pfa_json_text(json, "time", NULL);
    }
    pfa_json_end(json, '}');
}

static void put_json(void *answer, void *file)
{
    const pfa_timeline_t *timeline = answer;
    FILE *to = file;
    pfa_json_t json = {.to = to};
    pfa_json_begin(&json, NULL, '{');
    pfa_json_text(&json, "schema", "profalloc-timeline");
    pfa_json_whole(&json, "version", 1);
    pfa_json_number(&json, "seconds", timeline->query->end_ns * 1e-9);
    pfa_json_number(&json, "bucket_seconds", timeline->whole_ns / (double)timeline->buckets * 1e-9);
    pfa_json_whole(&json, "buckets", timeline->buckets);
    put_peak(&json, &timeline->peak);
    pfa_json_number(&json, "chunks_without_times", timeline->folded_chunks);
    pfa_json_number(&json, "bytes_without_times", timeline->folded_bytes);
    pfa_json_begin(&json, "all", '{');
    put_strand(&json, timeline, &timeline->all);
    pfa_json_end(&json, '}');
    pfa_json_begin(&json, "groups", '[');
    for (size_t i = 0; i < timeline->strand_count; i++) {
        pfa_json_begin(&json, NULL, '{');
        pfa_json_text(&json, "name", timeline->strands[i].name);
        pfa_json_bool(&json, "other", timeline->strands[i].rest);
        put_strand(&json, timeline, &timeline->strands[i]);
        pfa_json_end(&json, '}');
    }
    pfa_json_end(&json, ']');
    pfa_query_tell_json(timeline->query, &json);
    pfa_json_end(&json, '}');
}

int pfa_timeline_csv(pfa_timeline_t *timeline, FILE *to, FILE *notes)
{
    writing_t writing = {.to = to, .notes = notes};
    return pfa_answer_write(timeline, put_csv, &writing);
}

int pfa_timeline_json(pfa_timeline_t *timeline, FILE *to)
{
    return pfa_answer_write(timeline, put_json, to);
}
