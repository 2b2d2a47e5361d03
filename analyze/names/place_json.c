/* Owns call stacks as JSON. docs/report-json.md tells what the members mean. */
#include "analyze/names/place.h"
#include "analyze/base/json.h"

static const char *name_root(uint32_t root)
{
    static const char *const names[] = {[PFA_NODE_COMPLETE] = "complete",
                                        [PFA_NODE_TRUNCATED] = "truncated",
                                        [PFA_NODE_BROKEN] = "broken",
                                        [PFA_NODE_UNKNOWN] = "unknown"};
    return names[root < PFA_NODE_FIRST ? root : PFA_NODE_UNKNOWN];
}

static void put_line(pfa_json_t *json, const pfa_line_t *line)
{
    pfa_json_begin(json, NULL, '{');
    pfa_json_text(json, "function", line->symbol->function);
    pfa_json_text(json, "file", line->symbol->file);
    if (line->symbol->line != 0) {
        pfa_json_whole(json, "line", line->symbol->line);
    } else {
        pfa_json_text(json, "line", NULL);
    }
    pfa_json_text(json, "module", line->module);
    pfa_json_whole(json, "address", line->address);
    pfa_json_bool(json, "inlined", line->symbol->inlined);
    pfa_json_end(json, '}');
}

void pfa_place_json(pfa_json_t *json, const pfa_lines_t *lines)
{
    pfa_json_begin(json, "stack", '[');
    for (size_t i = 0; i < lines->count; i++) {
        put_line(json, &lines->list[i]);
    }
    pfa_json_end(json, ']');
    pfa_json_text(json, "stack_end", name_root(lines->root));
}
