/* Owns the words of lines in files of summaries. See analyze/diff/words.h. */
#include "analyze/diff/words.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

char *pfa_words_next(char **rest)
{
    return *rest != NULL && **rest != '\0' ? strsep(rest, " ") : NULL;
}

/* strtoull alone takes signs and leading space. */
bool pfa_words_whole(const char *word, int base, uint64_t most, uint64_t *value)
{
    char *end = NULL;
    if (word == NULL || word[0] == '\0' || strspn(word, "0123456789abcdef") != strlen(word)) {
        return false;
    }
    errno = 0;
    *value = strtoull(word, &end, base);
    return errno == 0 && *end == '\0' && *value <= most;
}

bool pfa_words_number(const char *word, double *value)
{
    static const double most = 1e30; /* squares and sums of such are numbers still */
    char *end = NULL;
    if (word == NULL || word[0] == '\0' || strspn(word, "0123456789.e+-") != strlen(word)) {
        return false;
    }
    *value = strtod(word, &end);
    return *end == '\0' && isfinite(*value) && *value >= 0 && *value <= most;
}

bool pfa_words_unescape(char *text)
{
    char *to = text;
    for (const char *at = text; *at != '\0'; to++) {
        uint64_t byte = 0;
        if (*at != '\\') {
            *to = *at++;
            continue;
        }
        if (at[1] != 'x' || at[2] == '\0' || at[3] == '\0') {
            return false;
        }
        const char digits[] = {at[2], at[3], '\0'};
        if (!pfa_words_whole(digits, 16, UINT8_MAX, &byte) || byte == 0) {
            return false;
        }
        *to = (char)byte;
        at += 4;
    }
    *to = '\0';
    return true;
}
