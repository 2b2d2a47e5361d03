/* Owns the writing of JSON. See analyze/base/json.h. */
#include "analyze/base/json.h"
#include "analyze/base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What steers is escaped, though JSON asks that of C0 alone: people look at it, too. */
static void put_text(FILE *to, const char *text)
{
    putc('"', to);
    while (*text != '\0') {
        uint32_t character;
        size_t length = pfa_text_character(text, 4, &character);
        if (length == 0) {
            fputs("\\ufffd", to);
        } else if (*text == '"' || *text == '\\') {
            fprintf(to, "\\%c", *text);
        } else if (pfa_text_steers(character)) {
            fprintf(to, "\\u%04" PRIx32, character);
        } else {
            fwrite(text, 1, length, to);
        }
        text += length != 0 ? length : 1;
    }
    putc('"', to);
}

static void put_key(pfa_json_t *json, const char *key)
{
    if (json->started && json->depth != 0) {
        putc(',', json->to);
    }
    if (json->depth != 0 && !json->lines) {
        fprintf(json->to, "\n%*s", (int)(2 * json->depth), "");
    } else if (json->started && json->depth != 0) {
        putc(' ', json->to);
    }
    json->started = true;
    if (key != NULL) {
        put_text(json->to, key);
        fputs(": ", json->to);
    }
}

void pfa_json_begin(pfa_json_t *json, const char *key, char bracket)
{
    put_key(json, key);
    putc(bracket, json->to);
    json->depth++;
    json->started = false;
}

void pfa_json_end(pfa_json_t *json, char bracket)
{
    json->depth--;
    if (json->started && !json->lines) {
        fprintf(json->to, "\n%*s", (int)(2 * json->depth), "");
    }
    putc(bracket, json->to);
    json->started = true;
    if (json->depth == 0) {
        putc('\n', json->to);
    }
}

void pfa_json_text(pfa_json_t *json, const char *key, const char *value)
{
    put_key(json, key);
    if (value == NULL) {
        fputs("null", json->to);
    } else {
        put_text(json->to, value);
    }
}

void pfa_json_number(pfa_json_t *json, const char *key, double value)
{
    put_key(json, key);
    if (!isfinite(value)) {
        fputs("null", json->to);
    } else if (value == floor(value) && fabs(value) < 1e18) {
        fprintf(json->to, "%.0f", value);
    } else {
        fprintf(json->to, "%.12g", value);
    }
}

void pfa_json_whole(pfa_json_t *json, const char *key, uint64_t value)
{
    put_key(json, key);
    fprintf(json->to, "%" PRIu64, value);
}

void pfa_json_bool(pfa_json_t *json, const char *key, bool value)
{
    put_key(json, key);
    fputs(value ? "true" : "false", json->to);
}

void pfa_json_notes(pfa_json_t *json, const char *key, const pfa_notes_t *notes)
{
    pfa_json_begin(json, key, '[');
    for (size_t i = 0; i < notes->count; i++) {
        pfa_json_text(json, NULL, notes->list[i]);
    }
    pfa_json_end(json, ']');
}
