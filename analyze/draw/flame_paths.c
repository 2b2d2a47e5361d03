/* Owns the way from call stacks to the paths of a flame graph, and to JSON. */
#include "analyze/flame/flame.h"
#include "analyze/base/json.h"
#include "analyze/base/memory.h"
#include "analyze/base/text.h"
#include "analyze/names/place.h"
#include "analyze/query/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXTRA = 160 };

typedef struct text {
    char name[64]; /* of frames that have none */
    char extra[EXTRA];
} text_t;

/* The steps of one stack, and the texts they point to. */
typedef struct path {
    pfa_lines_t lines;
    pfa_flame_step_t *steps;
    text_t *texts;
    size_t step_room;
    size_t text_room;
    size_t count;
} path_t;

static pfa_tone_t tone_of(const pfa_line_t *line)
{
    if (line->symbol->function == NULL) {
        return PFA_TONE_UNKNOWN;
    }
    if (pfa_place_is_library(line->symbol)) {
        return PFA_TONE_RUNTIME;
    }
    return line->module != NULL && strstr(pfa_place_base_name(line->module), ".so") != NULL ? PFA_TONE_LIBRARY
                                                                                            : PFA_TONE_OWN;
}

static void fill_step(pfa_flame_step_t *step, text_t *text, const pfa_line_t *line)
{
    const char *module = pfa_place_base_name(line->module);
    if (line->symbol->function == NULL) {
        snprintf(text->name, sizeof text->name, "%.40s+0x%" PRIx64, module, line->address);
    }
    if (line->symbol->file != NULL) {
        snprintf(text->extra, sizeof text->extra, "%.80s:%" PRIu32 " in %.60s", pfa_place_base_name(line->symbol->file),
                 line->symbol->line, module);
    } else {
        snprintf(text->extra, sizeof text->extra, "in %.60s", module);
    }
    *step = (pfa_flame_step_t){.name = line->symbol->function != NULL ? line->symbol->function : text->name,
                               .extra = text->extra,
                               .tone = tone_of(line)};
}

/* What is beyond the outermost frame, if something is. */
static const char *name_of_root(const pfa_lines_t *lines)
{
    static const char *const names[] = {[PFA_NODE_TRUNCATED] = "(cut off here)",
                                        [PFA_NODE_BROKEN] = "(no way further)",
                                        [PFA_NODE_UNKNOWN] = "(no stack is known)"};
    const char *name = lines->root < PFA_NODE_FIRST ? names[lines->root] : NULL;
    return name != NULL ? name : lines->count == 0 ? "(the stack is empty)" : NULL;
}

/* From the outermost frame to the innermost, or the other way; in front of both the group, if there is a key. */
static void fill_path(path_t *path, const pfa_amounts_t *amounts, const pfa_amount_t *amount, bool inverted)
{
    pfa_query_t *query = amounts->query;
    pfa_stacks_lines(&query->stacks, amount->stack, &path->lines);
    size_t count = path->lines.count;
    const char *root = name_of_root(&path->lines);
    path->steps = pfa_memory_grow(path->steps, &path->step_room, count + 2, sizeof *path->steps);
    path->texts = pfa_memory_grow(path->texts, &path->text_room, count + 1, sizeof *path->texts);
    path->count = 0;
    if (query->key != NULL) {
        path->steps[path->count++] = (pfa_flame_step_t){.name = pfa_query_group_name(query, amount->group),
                                                        .extra = query->key->name,
                                                        .tone = PFA_TONE_UNKNOWN,
                                                        .alone = true};
    }
    pfa_flame_step_t beyond = {.name = root, .tone = PFA_TONE_UNKNOWN};
    if (root != NULL && !inverted) {
        path->steps[path->count++] = beyond;
    }
    for (size_t i = 0; i < count; i++) {
        fill_step(&path->steps[path->count++], &path->texts[i], &path->lines.list[inverted ? i : count - 1 - i]);
    }
    if (root != NULL && inverted) {
        path->steps[path->count++] = beyond;
    }
}

static void free_path(path_t *path)
{
    pfa_lines_free(&path->lines);
    free(path->steps);
    free(path->texts);
}

pfa_flame_t *pfa_amounts_graph(const pfa_amounts_t *amounts, bool inverted)
{
    pfa_flame_t *flame = pfa_flame_new();
    path_t path = {.count = 0};
    for (size_t i = 0; i < amounts->count; i++) {
        const pfa_amount_t *amount = &amounts->list[i];
        if (amount->value > 0) {
            fill_path(&path, amounts, amount, inverted);
            pfa_flame_add(flame, path.steps, path.count, amount->value, amount->variance);
        }
    }
    free_path(&path);
    return flame;
}

static void put_stack(pfa_json_t *json, const path_t *path, double value, bool grouped)
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

void pfa_amounts_json(const pfa_amounts_t *amounts, FILE *to, const char *metric)
{
    pfa_json_t json = {.to = to};
    path_t path = {.count = 0};
    const pfa_key_t *key = amounts->query->key;
    pfa_json_begin(&json, NULL, '{');
    pfa_json_text(&json, "schema", "profalloc-flame");
    pfa_json_whole(&json, "version", 1);
    pfa_json_text(&json, "metric", metric);
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
            fill_path(&path, amounts, &amounts->list[i], false);
            put_stack(&json, &path, amounts->list[i].value, key != NULL);
        }
    }
    pfa_json_end(&json, ']');
    pfa_query_tell_json(amounts->query, &json);
    pfa_json_end(&json, '}');
    free_path(&path);
}
