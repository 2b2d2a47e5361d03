/* Owns the amounts of a flame graph for programs and in a line. See analyze/flame/flame.h. */
#include "analyze/flame/path.h"
#include "analyze/base/json.h"
#include "analyze/base/text.h"
#include "analyze/query/keys.h"

#include <stdio.h>

static void put_stack(pfa_json_t *json, const pfa_path_t *path, double value, bool grouped)
{
    pfa_json_begin(json, NULL, '{');
    if (grouped) {
        pfa_json_text(json, "group", path->steps[0].name);
    }
    pfa_json_number(json, "value", value);
    pfa_json_begin(json, "frames", '[');
    for (size_t i = grouped; i < path->count; i++) {
        pfa_json_text(json, NULL, path->steps[i].name);
    }
    pfa_json_end(json, ']');
    pfa_json_end(json, '}');
}

static void put_json(void *answer, void *to)
{
    const pfa_amounts_t *amounts = answer;
    pfa_json_t json = {.to = to};
    pfa_path_t path = {.count = 0};
    const pfa_key_t *key = amounts->query->key;
    pfa_json_begin(&json, NULL, '{');
    pfa_json_text(&json, "schema", "profalloc-flame");
    pfa_json_whole(&json, "version", 1);
    pfa_json_text(&json, "metric", pfa_metric_names[amounts->metric]);
    pfa_json_text(&json, "by", key != NULL ? key->name : NULL);
    pfa_json_number(&json, "total", amounts->total);
    pfa_json_number(&json, "error95", pfa_half_width(amounts->variance));
    if (amounts->has_moment) {
        pfa_json_number(&json, "time", amounts->seconds);
    } else {
        pfa_json_text(&json, "time", NULL);
    }
    pfa_json_begin(&json, "stacks", '[');
    for (size_t i = 0; i < amounts->count; i++) {
        if (amounts->list[i].value > 0) {
            pfa_path_fill(&path, amounts, &amounts->list[i], false);
            put_stack(&json, &path, amounts->list[i].value, key != NULL);
        }
    }
    pfa_json_end(&json, ']');
    pfa_query_tell_json(amounts->query, &json);
    pfa_json_end(&json, '}');
    pfa_path_free(&path);
}

int pfa_amounts_json(pfa_amounts_t *amounts, FILE *to)
{
    return pfa_answer_write(amounts, put_json, to);
}

void pfa_amounts_put_total(const pfa_amounts_t *amounts, FILE *to)
{
    char number[PFA_NUMBER_TEXT];
    bool count = amounts->metric == PFA_METRIC_COUNT;
    const char *(*tell)(char *, double) = count ? pfa_text_count : pfa_text_bytes;
    fprintf(to, "%s%s", tell(number, amounts->total), count ? " chunks" : "");
    if (amounts->query->sampled) {
        fprintf(to, " +- %s (an estimate; 95 %%)", tell(number, pfa_half_width(amounts->variance)));
    }
    if (amounts->has_moment) {
        fprintf(to, " at %s", pfa_text_moment(number, amounts->seconds));
    }
}
