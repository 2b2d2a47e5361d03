/* Patterns of --where, held against texts. docs/queries.md tells which part of a text a pattern has to match. */
#ifndef PFA_ANALYZE_QUERY_WHERE_MATCH_H
#define PFA_ANALYZE_QUERY_WHERE_MATCH_H

#include "analyze/query/where_fields.h"

typedef struct pfa_pattern {
    char *text;     /* without backslashes unless it is a glob */
    bool glob;      /* has * ? or [ */
    bool somewhere; /* anywhere in the whole text will do */
    bool whole;     /* began with / or :: and has to match from the beginning */
    bool has_slash;
    pfa_text_form_t form;
} pfa_pattern_t;

enum { PFA_FORMS_TAILS = 64 };

/* A text with all the parts of it that patterns are held against. */
typedef struct pfa_forms {
    const char *text;
    const char *base; /* of a path: after the last slash */
    char *names[2];   /* of a function: without type and arguments; the same without template arguments */
    const char
        *tails[PFA_FORMS_TAILS]; /* ends of a path or of the names at a border; of more than that, the shortest */
    size_t tail_count;
} pfa_forms_t;

void pfa_pattern_make(pfa_pattern_t *pattern, pfa_text_form_t form, bool somewhere, const char *written);
void pfa_pattern_free(pfa_pattern_t *pattern);
/* The forms must have been made for the pattern's form. */
bool pfa_pattern_matches(const pfa_pattern_t *pattern, const pfa_forms_t *forms);

/* `text` has to stay as long as the forms do. */
void pfa_forms_make(pfa_forms_t *forms, pfa_text_form_t form, const char *text);
void pfa_forms_free(pfa_forms_t *forms);

/* As fnmatch without flags: * any text, ? a character, [a-z] [!a-z] one of them, \ the next as it is. Of named classes it knows
 * none. Takes no longer than the product of both lengths. */
bool pfa_glob_matches(const char *glob, const char *text);
/* The first [ that is never closed, and therefore an ordinary character; NULL: there is none. That of "operator[]" is meant so
 * and not told. */
const char *pfa_glob_unclosed(const char *glob);

#endif
