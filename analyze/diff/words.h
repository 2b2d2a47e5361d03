/* The words of a line in a file of summaries, each checked for what it has to be: they come from anywhere. */
#ifndef PFA_ANALYZE_DIFF_WORDS_H
#define PFA_ANALYZE_DIFF_WORDS_H

#include <stdbool.h>
#include <stdint.h>

/* The next word of a line; NULL: there is none. */
char *pfa_words_next(char **rest);
/* A whole number, of digits alone; false: it is none, or more than `most`. The word may be NULL, which is none. */
bool pfa_words_whole(const char *word, int base, uint64_t most, uint64_t *value);
/* A number from 0 on. */
bool pfa_words_number(const char *word, double *value);
/* Puts bytes in the places of \xNN. False: there is another backslash, or a byte that ends texts. */
bool pfa_words_unescape(char *text);

#endif
