/* Owns the answer of a gate as SARIF 2.1.0, which code review and scanning tools read: a rule for each limit, a result for each
 * total that is beyond its limit and for each point that is. Fingerprints are the identities of points, so that a result is the
 * same one in the next build. */
#include "analyze/diff/gate.h"
#include "analyze/base/json.h"
#include "analyze/base/memory.h"
#include "analyze/names/place.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char schema[] = "https://json.schemastore.org/sarif-2.1.0.json";
static const char root_name[] = "SRCROOT";

typedef struct writing {
    const pfa_gate_t *gate;
    pfa_json_t json;
    int status;
    char *root; /* with no / at its end; NULL: not known */
} writing_t;

/* A path as (part of) a URI; the caller frees it. */
static char *encode(const char *before, const char *path)
{
    FILE *to;
    pfa_memory_stream_t *stream = pfa_memory_stream_open(&to);
    fputs(before, to);
    for (const unsigned char *at = (const unsigned char *)path; *at != '\0'; at++) {
        bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') ||
                     strchr("/-._~+", *at) != NULL;
        fprintf(to, plain ? "%c" : "%%%02X", *at);
    }
    return pfa_memory_stream_close(stream);
}

/* Inside the root relative to it, else as it is. */
static void put_artifact(writing_t *writing, const char *file)
{
    size_t length = writing->root != NULL ? strlen(writing->root) : 0;
    bool inside = length != 0 && strncmp(file, writing->root, length) == 0 && file[length] == '/';
    bool relative = inside || file[0] != '/';
    char *uri = encode(relative ? "" : "file://", inside ? file + length + 1 : file);
    pfa_json_begin(&writing->json, "artifactLocation", '{');
    pfa_json_text(&writing->json, "uri", uri != NULL ? uri : "");
    if (relative) {
        pfa_json_text(&writing->json, "uriBaseId", root_name);
    }
    pfa_json_end(&writing->json, '}');
    pfa_memory_free(uri);
}

static void put_message(pfa_json_t *json, const char *text)
{
    pfa_json_begin(json, "message", '{');
    pfa_json_text(json, "text", text);
    pfa_json_end(json, '}');
}

/* The members of a location: of a line of a stack, or, without one, of what has but a name. */
static void put_location(writing_t *writing, const pfa_line_t *line, const char *name, const char *message)
{
    pfa_json_t *json = &writing->json;
    if (line != NULL && line->symbol->file != NULL) {
        pfa_json_begin(json, "physicalLocation", '{');
        put_artifact(writing, line->symbol->file);
        if (line->symbol->line != 0) {
            pfa_json_begin(json, "region", '{');
            pfa_json_whole(json, "startLine", line->symbol->line);
            pfa_json_end(json, '}');
        }
        pfa_json_end(json, '}');
    }
    const char *function = line != NULL ? line->symbol->function : NULL;
    pfa_json_begin(json, "logicalLocations", '[');
    pfa_json_begin(json, NULL, '{');
    pfa_json_text(json, "fullyQualifiedName", function != NULL ? function : name);
    if (function != NULL) {
        pfa_json_text(json, "kind", "function");
    }
    pfa_json_end(json, '}');
    pfa_json_end(json, ']');
    if (message != NULL) {
        put_message(json, message);
    }
}

/* `id`: those of one result are told apart by it; 0: none is needed. */
static void put_pair_location(writing_t *writing, const pfa_pair_t *pair, size_t id, const char *message)
{
    pfa_line_t line;
    bool known = pfa_place_own(&pair->shown->lines, &line);
    pfa_json_begin(&writing->json, NULL, '{');
    if (id != 0) {
        pfa_json_whole(&writing->json, "id", id);
    }
    put_location(writing, known ? &line : NULL, pair->shown->name, message);
    pfa_json_end(&writing->json, '}');
}

static void put_stack(writing_t *writing, const pfa_pair_t *pair)
{
    pfa_json_t *json = &writing->json;
    const pfa_lines_t *lines = &pair->shown->lines;
    if (lines->count == 0) {
        return;
    }
    pfa_json_begin(json, "stacks", '[');
    pfa_json_begin(json, NULL, '{');
    pfa_json_begin(json, "frames", '[');
    for (size_t i = 0; i < lines->count; i++) {
        pfa_json_begin(json, NULL, '{');
        pfa_json_begin(json, "location", '{');
        put_location(writing, &lines->list[i], "an address without a name", NULL);
        pfa_json_end(json, '}');
        pfa_json_text(json, "module", pfa_place_base_name(lines->list[i].module));
        pfa_json_end(json, '}');
    }
    pfa_json_end(json, ']');
    pfa_json_end(json, '}');
    pfa_json_end(json, ']');
}

static char *sentence(const pfa_gate_t *gate, const pfa_outcome_t *outcome, const pfa_pair_t *pair)
{
    FILE *to;
    pfa_memory_stream_t *stream = pfa_memory_stream_open(&to);
    if (pair != NULL) {
        pfa_gate_point_sentence(to, outcome, gate, pair);
    } else {
        pfa_gate_sentence(to, outcome, gate);
    }
    return pfa_memory_stream_close(stream);
}

static void put_fingerprint(pfa_json_t *json, const char *value)
{
    static const char *const members[] = {"fingerprints", "partialFingerprints"};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        pfa_json_begin(json, members[i], '{');
        pfa_json_text(json, "profallocIdentity/v1", value);
        pfa_json_end(json, '}');
    }
}

static void begin_result(writing_t *writing, const pfa_outcome_t *outcome, size_t rule, const pfa_pair_t *pair)
{
    pfa_json_t *json = &writing->json;
    char *text = sentence(writing->gate, outcome, pair);
    pfa_json_begin(json, NULL, '{');
    pfa_json_text(json, "ruleId", pfa_limits[outcome->number].option);
    pfa_json_whole(json, "ruleIndex", rule);
    pfa_json_text(json, "level", "error");
    put_message(json, text != NULL ? text : "a limit is exceeded");
    pfa_memory_free(text);
}

static void put_point_result(writing_t *writing, const pfa_outcome_t *outcome, size_t rule, const pfa_pair_t *pair)
{
    char id[64];
    snprintf(id, sizeof id, "%s:%016" PRIx64, pfa_limits[outcome->number].option, pair->shown->identity);
    begin_result(writing, outcome, rule, pair);
    pfa_json_begin(&writing->json, "locations", '[');
    put_pair_location(writing, pair, 0, NULL);
    pfa_json_end(&writing->json, ']');
    put_stack(writing, pair);
    put_fingerprint(&writing->json, id);
    pfa_json_end(&writing->json, '}');
}

/* A total is at no place: it is told at the point that grew most, and the others beside it. */
static void put_total_result(writing_t *writing, const pfa_outcome_t *outcome, size_t rule)
{
    const pfa_pair_t *pairs = writing->gate->comparison->pairs;
    size_t count = outcome->point_count < writing->gate->top ? outcome->point_count : writing->gate->top;
    begin_result(writing, outcome, rule, NULL);
    pfa_json_begin(&writing->json, "locations", '[');
    if (count != 0) {
        put_pair_location(writing, &pairs[outcome->points[0]], 0, NULL);
    }
    pfa_json_end(&writing->json, ']');
    pfa_json_begin(&writing->json, "relatedLocations", '[');
    for (size_t i = 0; i < count; i++) {
        const pfa_pair_t *pair = &pairs[outcome->points[i]];
        char *text = sentence(writing->gate, outcome, pair);
        put_pair_location(writing, pair, i + 1, text != NULL ? text : pair->shown->name);
        pfa_memory_free(text);
    }
    pfa_json_end(&writing->json, ']');
    if (count != 0) {
        put_stack(writing, &pairs[outcome->points[0]]);
    }
    put_fingerprint(&writing->json, pfa_limits[outcome->number].option);
    pfa_json_end(&writing->json, '}');
}

static void put_results(writing_t *writing)
{
    const pfa_gate_t *gate = writing->gate;
    pfa_json_begin(&writing->json, "results", '[');
    for (size_t i = 0; i < gate->outcome_count; i++) {
        const pfa_outcome_t *outcome = &gate->outcomes[i];
        if (outcome->verdict != PFA_JUDGED_EXCEEDED) {
            continue;
        }
        if (pfa_limits[outcome->number].scope != PFA_SCOPE_POINT) {
            put_total_result(writing, outcome, i);
            continue;
        }
        for (size_t j = 0; j < outcome->point_count; j++) {
            put_point_result(writing, outcome, i, &gate->comparison->pairs[outcome->points[j]]);
        }
    }
    pfa_json_end(&writing->json, ']');
}

static void put_tool(writing_t *writing)
{
    pfa_json_t *json = &writing->json;
    pfa_json_begin(json, "tool", '{');
    pfa_json_begin(json, "driver", '{');
    pfa_json_text(json, "name", "profalloc");
    pfa_json_text(json, "version", PFA_VERSION);
    pfa_json_begin(json, "rules", '[');
    for (size_t i = 0; i < writing->gate->outcome_count; i++) {
        const pfa_outcome_t *outcome = &writing->gate->outcomes[i];
        char text[256];
        pfa_json_begin(json, NULL, '{');
        pfa_json_text(json, "id", pfa_limits[outcome->number].option);
        pfa_json_begin(json, "shortDescription", '{');
        snprintf(text, sizeof text, "At most %s more than in the base: %s", writing->gate->limits[outcome->number].text,
                 pfa_limits[outcome->number].meaning);
        pfa_json_text(json, "text", text);
        pfa_json_end(json, '}');
        pfa_json_end(json, '}');
    }
    pfa_json_end(json, ']');
    pfa_json_end(json, '}');
    pfa_json_end(json, '}');
}

static void put_run(writing_t *writing)
{
    pfa_json_t *json = &writing->json;
    pfa_json_begin(json, NULL, '{');
    put_tool(writing);
    pfa_json_begin(json, "originalUriBaseIds", '{');
    pfa_json_begin(json, root_name, '{');
    pfa_json_begin(json, "description", '{');
    pfa_json_text(json, "text", "the root of the source tree");
    pfa_json_end(json, '}');
    pfa_json_end(json, '}');
    pfa_json_end(json, '}');
    pfa_json_begin(json, "invocations", '[');
    pfa_json_begin(json, NULL, '{');
    pfa_json_bool(json, "executionSuccessful", true);
    pfa_json_whole(json, "exitCode", writing->gate->exceeded ? (uint64_t)writing->status : 0);
    pfa_json_end(json, '}');
    pfa_json_end(json, ']');
    pfa_json_text(json, "columnKind", "utf16CodeUnits");
    put_results(writing);
    pfa_json_end(json, '}');
}

static char *find_root(const char *given)
{
    char room[PATH_MAX];
    const char *root = realpath(given != NULL ? given : ".", room);
    bool top = root != NULL && strcmp(root, "/") == 0;
    return root != NULL ? pfa_memory_copy(root, top ? 0 : strlen(root)) : NULL;
}

static void write_all(void *to)
{
    writing_t *writing = to;
    writing->root = find_root(writing->gate->source_root);
    pfa_json_begin(&writing->json, NULL, '{');
    pfa_json_text(&writing->json, "$schema", schema);
    pfa_json_text(&writing->json, "version", "2.1.0");
    pfa_json_begin(&writing->json, "runs", '[');
    put_run(writing);
    pfa_json_end(&writing->json, ']');
    pfa_json_end(&writing->json, '}');
    pfa_memory_free(writing->root);
}

int pfa_gate_sarif(const pfa_gate_t *gate, int status, FILE *to)
{
    writing_t writing = {.gate = gate, .json = {.to = to}, .status = status};
    return pfa_comparison_work(gate->comparison, write_all, &writing);
}
