/* Owns the way from call stacks to paths. See analyze/flame/path.h. */
#include "analyze/flame/path.h"
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

struct pfa_path_text {
    char name[64]; /* of frames that have none */
    char extra[EXTRA];
};
typedef struct pfa_path_text text_t;

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

void pfa_path_fill(pfa_path_t *path, const pfa_amounts_t *amounts, const pfa_amount_t *amount, bool inverted)
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

void pfa_path_free(pfa_path_t *path)
{
    pfa_lines_free(&path->lines);
    pfa_memory_free(path->steps);
    pfa_memory_free(path->texts);
}
