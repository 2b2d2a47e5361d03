/* Owns patterns and the matching of globs. See analyze/query/where_match.h. */
#include "analyze/query/where_match.h"
#include "analyze/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* One character of UTF-8; bytes that are none are characters by themselves. */
static uint32_t take_character(const char **at)
{
    unsigned char lead = (unsigned char)*(*at)++;
    unsigned more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
    uint32_t character = lead;
    for (; more > 0 && ((unsigned char)**at & 0xc0) == 0x80; more--) {
        character = character << 8 | (unsigned char)*(*at)++;
    }
    return character;
}

/* A character of a glob, of which a backslash says that it means itself. */
static uint32_t take_literal(const char **at)
{
    *at += (*at)[0] == '\\' && (*at)[1] != '\0';
    return take_character(at);
}

/* What is behind the closing bracket of what begins at `at`; NULL: there is none, and the bracket is an ordinary character. */
static const char *find_bracket_end(const char *at)
{
    at += at[1] == '!' || at[1] == '^' ? 2 : 1;
    for (bool first = true; *at != '\0'; first = false) {
        if (*at == ']' && !first) {
            return at + 1;
        }
        (void)take_literal(&at);
    }
    return NULL;
}

const char *pfa_glob_unclosed(const char *glob)
{
    while (*glob != '\0') {
        const char *end = *glob == '[' ? find_bracket_end(glob) : NULL;
        if (*glob == '[' && end == NULL && glob[1] != ']') {
            return glob;
        }
        if (end != NULL) {
            glob = end;
        } else {
            (void)take_literal(&glob);
        }
    }
    return NULL;
}

static bool is_in_brackets(const char *at, const char *end, uint32_t character)
{
    bool opposite = at[1] == '!' || at[1] == '^';
    bool found = false;
    at += opposite ? 2 : 1;
    while (at < end - 1) {
        uint32_t from = take_literal(&at);
        uint32_t to = from;
        if (*at == '-' && at + 1 < end - 1) {
            at++;
            to = take_literal(&at);
        }
        found = found || (character >= from && character <= to);
    }
    return found != opposite;
}

/* One character of the text, which is not at its end, against what stands for one in the glob. Moves both on. */
static bool match_character(const char **glob, const char **text)
{
    const char *end = **glob == '[' ? find_bracket_end(*glob) : NULL;
    uint32_t character = take_character(text);
    if (**glob == '?') {
        ++*glob;
        return true;
    }
    if (end != NULL) {
        bool is_in = is_in_brackets(*glob, end, character);
        *glob = end;
        return is_in;
    }
    return take_literal(glob) == character;
}

bool pfa_glob_matches(const char *glob, const char *text)
{
    const char *star = NULL; /* behind the last * that was met, */
    const char *back = NULL; /* and where the text goes on if it stands for what was tried so far */
    for (;;) {
        if (*glob == '*') {
            star = ++glob;
            back = text;
            continue;
        }
        if (*text == '\0') {
            return *glob == '\0';
        }
        if (star != NULL && *star == '\0') {
            return true;
        }
        if (*glob == '\0' || !match_character(&glob, &text)) {
            if (star == NULL) {
                return false;
            }
            (void)take_character(&back);
            text = back;
            glob = star;
        }
    }
}

static bool has_wildcards(const char *written)
{
    for (; *written != '\0'; written++) {
        if (strchr("*?[", *written) != NULL) {
            return true;
        }
        written += written[0] == '\\' && written[1] != '\0';
    }
    return false;
}

static void remove_backslashes(char *text)
{
    char *to = text;
    while (*text != '\0') {
        text += text[0] == '\\' && text[1] != '\0';
        *to++ = *text++;
    }
    *to = '\0';
}

void pfa_pattern_make(pfa_pattern_t *pattern, pfa_text_form_t form, bool somewhere, const char *written)
{
    bool path = form == PFA_TEXT_PATH && written[0] == '/';
    bool function = form == PFA_TEXT_FUNCTION && strncmp(written, "::", 2) == 0;
    *pattern = (pfa_pattern_t){.form = form, .somewhere = somewhere, .glob = has_wildcards(written)};
    pattern->whole = !somewhere && (path || function);
    pattern->has_slash = strchr(written, '/') != NULL;
    written += pattern->whole && function ? 2 : 0;
    size_t length = strlen(written);
    pattern->text = pfa_memory_get(length + 3, 1);
    bool stars = somewhere && pattern->glob;
    memcpy(pattern->text + (stars ? 1 : 0), written, length);
    if (stars) {
        pattern->text[0] = '*';
        pattern->text[length + 1] = '*';
    } else if (!pattern->glob) {
        remove_backslashes(pattern->text);
    }
}

void pfa_pattern_free(pfa_pattern_t *pattern)
{
    pfa_memory_free(pattern->text);
    pattern->text = NULL;
}

static bool matches_text(const pfa_pattern_t *pattern, const char *text)
{
    return pattern->glob ? pfa_glob_matches(pattern->text, text) : strcmp(pattern->text, text) == 0;
}

static bool matches_tail(const pfa_pattern_t *pattern, const pfa_forms_t *forms)
{
    for (size_t i = 0; i < forms->tail_count; i++) {
        if (matches_text(pattern, forms->tails[i])) {
            return true;
        }
    }
    return false;
}

static bool matches_name(const pfa_pattern_t *pattern, const pfa_forms_t *forms)
{
    for (size_t i = 0; i < sizeof forms->names / sizeof forms->names[0]; i++) {
        if (forms->names[i] != NULL && matches_text(pattern, forms->names[i])) {
            return true;
        }
    }
    return false;
}

bool pfa_pattern_matches(const pfa_pattern_t *pattern, const pfa_forms_t *forms)
{
    if (pattern->somewhere && !pattern->glob) {
        return strstr(forms->text, pattern->text) != NULL;
    }
    if (pattern->somewhere || pattern->form == PFA_TEXT_PLAIN) {
        return matches_text(pattern, forms->text);
    }
    if (pattern->form == PFA_TEXT_PATH && !pattern->has_slash) {
        return matches_text(pattern, forms->base);
    }
    return matches_text(pattern, forms->text) || matches_name(pattern, forms) ||
           (!pattern->whole && matches_tail(pattern, forms));
}
