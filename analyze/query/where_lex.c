/* Owns how the text of an expression falls into words and signs. See analyze/query/where_lex.h. */
#include "analyze/query/where_lex.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *sign;
    pfa_token_t token;
} signs[] = {{"&&", PFA_TOKEN_AND},    {"||", PFA_TOKEN_OR},         {"!=", PFA_TOKEN_UNEQUAL},
             {"!~", PFA_TOKEN_UNLIKE}, {"<=", PFA_TOKEN_LESS_EQUAL}, {">=", PFA_TOKEN_MORE_EQUAL},
             {"==", PFA_TOKEN_EQUAL},  {"(", PFA_TOKEN_OPEN},        {")", PFA_TOKEN_CLOSE},
             {"|", PFA_TOKEN_PIPE},    {"!", PFA_TOKEN_NOT},         {"=", PFA_TOKEN_EQUAL},
             {"~", PFA_TOKEN_LIKE},    {"<", PFA_TOKEN_LESS},        {">", PFA_TOKEN_MORE}};

static bool is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

bool pfa_lex_is_of_word(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_' || byte == '-' || (unsigned char)byte >= 0x80;
}

static bool ends_value(char byte)
{
    return is_space(byte) || strchr("()|&\"", byte) != NULL; /* a zero, too */
}

size_t pfa_lex_skip(const pfa_lex_t *lex, size_t at)
{
    while (at < lex->end && (is_space(lex->text[at]) || lex->text[at] == '#')) {
        if (lex->text[at] == '#') {
            const char *line = memchr(lex->text + at, '\n', lex->end - at);
            at = line != NULL ? (size_t)(line - lex->text) : lex->end;
        } else {
            at++;
        }
    }
    return at;
}

static void take_quoted(pfa_lex_t *lex)
{
    size_t at = lex->at + 1;
    while (at < lex->end && lex->text[at] != '"') {
        at += lex->text[at] == '\\' && at + 1 < lex->end ? 2 : 1;
    }
    if (at >= lex->end) {
        pfa_lex_fail(lex, lex->at, "this quote is never closed");
        return;
    }
    lex->token = PFA_TOKEN_QUOTED;
    lex->next = at + 1;
}

static bool take_sign(pfa_lex_t *lex)
{
    const char *at = lex->text + lex->at;
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        size_t length = strlen(signs[i].sign);
        if (length <= lex->end - lex->at && memcmp(at, signs[i].sign, length) == 0) {
            lex->token = signs[i].token;
            lex->next = lex->at + length;
            return true;
        }
    }
    return false;
}

/* False: a word or a sign is still to be read. */
static bool take_common(pfa_lex_t *lex)
{
    if (lex->why != NULL) {
        lex->token = PFA_TOKEN_BAD;
        return true;
    }
    size_t at = pfa_lex_skip(lex, lex->next);
    if (at >= lex->end) { /* the mark of an error belongs behind the last word, not behind spaces and comments */
        lex->at = lex->next;
        lex->token = PFA_TOKEN_END;
        return true;
    }
    lex->at = at;
    lex->next = at;
    if (lex->text[lex->at] == '"') {
        take_quoted(lex);
        return true;
    }
    return false;
}

static void fail_at_byte(pfa_lex_t *lex)
{
    unsigned char byte = (unsigned char)lex->text[lex->at];
    if (isprint(byte)) {
        pfa_lex_fail(lex, lex->at, "'%c' is not expected here", byte);
    } else {
        pfa_lex_fail(lex, lex->at, "the byte 0x%02x is not expected here", byte);
    }
}

void pfa_lex_step(pfa_lex_t *lex)
{
    if (take_common(lex) || take_sign(lex)) {
        return;
    }
    while (lex->next < lex->end && pfa_lex_is_of_word(lex->text[lex->next])) {
        lex->next++;
    }
    lex->token = PFA_TOKEN_WORD;
    if (lex->next == lex->at) {
        fail_at_byte(lex);
    }
}

void pfa_lex_step_value(pfa_lex_t *lex)
{
    if (take_common(lex)) {
        return;
    }
    while (lex->next < lex->end && !ends_value(lex->text[lex->next])) {
        lex->next += lex->text[lex->next] == '\\' && lex->next + 1 < lex->end ? 2 : 1;
    }
    lex->token = PFA_TOKEN_WORD;
    if (lex->next == lex->at) {
        (void)take_sign(lex);
    }
    if (lex->next == lex->at) { /* a single & */
        fail_at_byte(lex);
    }
}

void pfa_lex_jump(pfa_lex_t *lex, size_t at)
{
    lex->next = at;
    pfa_lex_step(lex);
}

void pfa_lex_begin(pfa_lex_t *lex, size_t from, size_t to)
{
    lex->end = to;
    pfa_lex_jump(lex, from);
}

bool pfa_lex_is(const pfa_lex_t *lex, const char *word)
{
    size_t length = strlen(word);
    return lex->token == PFA_TOKEN_WORD && lex->next - lex->at == length &&
           memcmp(lex->text + lex->at, word, length) == 0;
}

const char *pfa_lex_content(const pfa_lex_t *lex, size_t *size)
{
    size_t quote = lex->token == PFA_TOKEN_QUOTED ? 1 : 0;
    *size = lex->next - lex->at - 2 * quote;
    return lex->text + lex->at + quote;
}
