/* Owns the writing of JSON. See analyze/base/json.h. */
#include "analyze/base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

size_t pfa_json_sequence(const unsigned char *at)
{
    size_t length = at[0] < 0x80 ? 1 : at[0] >= 0xc2 && at[0] < 0xe0 ? 2 : (at[0] & 0xf0) == 0xe0 ? 3 : 4;
    if (length == 4 && (at[0] < 0xf0 || at[0] > 0xf4)) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    bool beyond = (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf4 && at[1] > 0x8f);
    return overlong || beyond ? 0 : length;
}

static void put_text(FILE *to, const char *text)
{
    putc('"', to);
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        size_t length = pfa_json_sequence(at);
        if (length == 0) {
            fputs("\\ufffd", to);
            at++;
        } else if (*at == '"' || *at == '\\') {
            fprintf(to, "\\%c", *at++);
        } else if (*at < 0x20 || *at == 0x7f) {
            fprintf(to, "\\u%04x", *at++);
        } else {
            fwrite(at, 1, length, to);
            at += length;
        }
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
