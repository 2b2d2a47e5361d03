/* A small writer of JSON: commas, escapes and broken UTF-8 are its business. A key of NULL is for elements of arrays. */
#ifndef PFA_ANALYZE_BASE_JSON_H
#define PFA_ANALYZE_BASE_JSON_H

#include "analyze/base/notes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct pfa_json {
    FILE *to;
    unsigned depth;
    bool lines;   /* one line for each top-level value, nothing indented */
    bool started; /* the object or array that is open has something in it */
} pfa_json_t;

void pfa_json_begin(pfa_json_t *json, const char *key, char bracket);
void pfa_json_end(pfa_json_t *json, char bracket);
void pfa_json_text(pfa_json_t *json, const char *key, const char *value); /* NULL is null */
void pfa_json_number(pfa_json_t *json, const char *key, double value); /* what is not finite is null: it is not known */
void pfa_json_whole(pfa_json_t *json, const char *key, uint64_t value);
void pfa_json_bool(pfa_json_t *json, const char *key, bool value);
/* An array of its texts. */
void pfa_json_notes(pfa_json_t *json, const char *key, const pfa_notes_t *notes);

#endif
