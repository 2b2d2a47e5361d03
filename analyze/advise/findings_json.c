/* Owns findings as JSON. docs/report-json.md describes them. */
#include "analyze/advise/findings.h"
#include "analyze/base/json.h"
#include "analyze/base/memory.h"
#include "analyze/base/text.h"

#include <stdio.h>
#include <stdlib.h>

static void put_sentence(pfa_json_t *json, pfa_report_t *report, const pfa_finding_t *finding)
{
    FILE *to;
    pfa_memory_stream_t *stream = pfa_memory_stream_open(&to);
    pfa_finding_sentence(to, finding, report);
    char *text = pfa_memory_stream_close(stream);
    pfa_json_text(json, "sentence", text);
    pfa_memory_free(text);
}

static void put_gain(pfa_json_t *json, const pfa_finding_t *finding, bool sampled)
{
    pfa_json_number(json, "saves_bytes", finding->bytes);
    pfa_json_number(json, "saves_calls", finding->calls);
    pfa_json_number(json, "saves_ns", finding->ns);
    if (sampled) {
        pfa_json_begin(json, "within", '{');
        pfa_json_number(json, "saves_bytes", pfa_half_width(finding->bytes_variance));
        pfa_json_number(json, "saves_calls", pfa_half_width(finding->calls_variance));
        pfa_json_number(json, "saves_ns", pfa_half_width(finding->ns_variance));
        pfa_json_end(json, '}');
    }
}

/* Of chunks that are idle: for how long on average, and who touched them last. */
static void put_idle(pfa_json_t *json, const pfa_idle_t *idle, bool after)
{
    char thread[PFA_THREAD_TEXT];
    pfa_json_number(json, "idle_ns", idle->ns / idle->chunks);
    pfa_json_number(json, "life_ns", idle->lives / idle->chunks);
    if (!after) {
        return;
    }
    pfa_json_begin(json, "last_touched_by", '[');
    for (size_t i = 0; idle->last != NULL && i < PFA_TOUCHERS && idle->last[i].source != NULL; i++) {
        const pfa_toucher_t *last = &idle->last[i];
        pfa_json_begin(json, NULL, '{');
        pfa_json_whole(json, "file", last->source->number);
        pfa_json_whole(json, "number", last->thread);
        pfa_json_text(json, "thread", pfa_source_thread(last->source, last->thread, thread));
        pfa_json_number(json, "chunks", last->chunks);
        pfa_json_end(json, '}');
    }
    pfa_json_end(json, ']');
    pfa_json_number(json, "last_touched_by_others", idle->others);
}

/* Of chunks that are never freed: what leaks says of them. */
static void put_kept(pfa_json_t *json, const pfa_kept_t *kept)
{
    pfa_json_text(json, "verdict", pfa_leak_verdict_key(kept->verdict));
    pfa_json_text(json, "reason", pfa_leak_reason_key(kept->reason));
    pfa_json_number(json, "kept_bytes", kept->bytes);
    pfa_json_number(json, "bytes_per_second", kept->rate * 1e9);
}

void pfa_finding_json(pfa_json_t *json, pfa_report_t *report, const pfa_finding_t *finding)
{
    pfa_json_begin(json, NULL, '{');
    pfa_json_text(json, "advice", pfa_advice_names[finding->advice]);
    pfa_json_text(json, "instead_of",
                  finding->instead_of != PFA_ADVICES ? pfa_advice_names[finding->instead_of] : NULL);
    put_sentence(json, report, finding);
    put_gain(json, finding, report->query->sampled);
    pfa_json_number(json, "rank", finding->rank);
    pfa_json_text(json, "sure", pfa_sure_names[finding->sure]);
    pfa_json_text(json, "unsure", finding->unsure);
    pfa_json_number(json, "chunks", finding->chunks);
    pfa_json_number(json, "share", finding->share);
    if (finding->advice == PFA_ADVICE_free_earlier || finding->advice == PFA_ADVICE_allocate_later) {
        const pfa_memoro_point_t *point = &report->memoro.points[finding->point];
        bool after = finding->advice == PFA_ADVICE_free_earlier;
        put_idle(json, after ? &point->late : &point->early, after);
    }
    if (finding->advice == PFA_ADVICE_free) {
        put_kept(json, &report->kept[finding->point]);
    }
    pfa_json_begin(json, "points", '[');
    for (size_t i = 0; i < (finding->points != NULL ? finding->point_count : 1); i++) {
        uint32_t number = finding->points != NULL ? finding->points[i] : finding->point;
        pfa_json_begin(json, NULL, '{');
        pfa_point_json(json, report, number);
        pfa_json_end(json, '}');
    }
    pfa_json_end(json, ']');
    pfa_json_end(json, '}');
}
