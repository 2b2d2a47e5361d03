/* Words and signs of --where, and how errors in it are told: what is wrong, the line, and a mark below the character. */
#ifndef PFA_ANALYZE_QUERY_WHERE_LEX_H
#define PFA_ANALYZE_QUERY_WHERE_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum pfa_token {
    PFA_TOKEN_END,
    PFA_TOKEN_WORD,
    PFA_TOKEN_QUOTED,
    PFA_TOKEN_OPEN,
    PFA_TOKEN_CLOSE,
    PFA_TOKEN_PIPE,
    PFA_TOKEN_AND, /* &&; the words are words */
    PFA_TOKEN_OR,
    PFA_TOKEN_NOT,
    PFA_TOKEN_EQUAL,
    PFA_TOKEN_UNEQUAL,
    PFA_TOKEN_LIKE,
    PFA_TOKEN_UNLIKE,
    PFA_TOKEN_LESS,
    PFA_TOKEN_LESS_EQUAL,
    PFA_TOKEN_MORE,
    PFA_TOKEN_MORE_EQUAL,
    PFA_TOKEN_BAD /* an error was told */
} pfa_token_t;

typedef struct pfa_lex {
    const char *text; /* all of it: a file, or what was given */
    const char *path; /* NULL: it is no file */
    size_t end;       /* of what is to be read */
    size_t at;        /* where the token begins, */
    size_t next;      /* and where what follows it does */
    pfa_token_t token;
    char *why; /* the first error */
} pfa_lex_t;

/* Makes ready to read from `from` to `to`, and reads the first token. */
void pfa_lex_begin(pfa_lex_t *lex, size_t from, size_t to);
/* Goes on to the next token. */
void pfa_lex_step(pfa_lex_t *lex);
/* Reads the token that follows an operator as the value of a text: a word of all that is no space, bracket, quote, & or |. */
void pfa_lex_step_value(pfa_lex_t *lex);
/* Goes on behind what is not read by tokens. */
void pfa_lex_jump(pfa_lex_t *lex, size_t at);
/* Where the next token would begin. */
size_t pfa_lex_skip(const pfa_lex_t *lex, size_t at);

bool pfa_lex_is(const pfa_lex_t *lex, const char *word);
/* Whether a byte may be in the name of a field or of a query. */
bool pfa_lex_is_of_word(char byte);
/* What is between the quotes, or the word. */
const char *pfa_lex_content(const pfa_lex_t *lex, size_t *size);

/* Tells an error at a place, unless there was one already. */
__attribute__((format(printf, 3, 4))) void pfa_lex_fail(pfa_lex_t *lex, size_t at, const char *format, ...);
/* The token as it is told in errors: 'word', or "the end". It stays until the next call. */
enum { PFA_LEX_SHOWN = 80 };
const char *pfa_lex_show(const pfa_lex_t *lex, char shown[PFA_LEX_SHOWN]);
/* The number of the line that a place is in. */
size_t pfa_lex_line(const char *text, size_t at);

#endif
