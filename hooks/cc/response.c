/* Owns response files: @FILE among the arguments stands for the words in FILE. The rules are those of libiberty's
 * expandargv, which clang follows too: blanks separate; quotes of both kinds group; a backslash takes the next character as
 * it is, inside quotes as well; a file may name others; @NAME of a file that does not exist is an argument like any
 * other. We only look into them: the compiler gets the arguments as they were given. */
#include "hooks/cc/cc.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A file that names itself is the compiler's to report: it has the same limit. */
#define DEEPEST 100

static void expand(pfa_words_t *words, const char *word, int depth);

/* The next word of `text`, unquoted, in place; moves *text behind it. NULL at the end. */
static char *next_word(char **text)
{
    char *from = *text;
    while (isspace((unsigned char)*from)) {
        from++;
    }
    if (*from == 0) {
        return NULL;
    }
    char *word = from;
    char *to = from;
    char quote = 0;
    for (; *from != 0; from++) {
        if (*from == '\\' && from[1] != 0) {
            *to++ = *++from;
        } else if (quote != 0) {
            if (*from == quote) {
                quote = 0;
            } else {
                *to++ = *from;
            }
        } else if (*from == '\'' || *from == '"') {
            quote = *from;
        } else if (isspace((unsigned char)*from)) {
            from++;
            break;
        } else {
            *to++ = *from;
        }
    }
    *text = from;
    *to = 0;
    return word;
}

static void expand(pfa_words_t *words, const char *word, int depth)
{
    struct stat about;
    if (word[0] != '@' || depth > DEEPEST || stat(word + 1, &about) != 0 || !S_ISREG(about.st_mode)) {
        pfa_words_add(words, word);
        return;
    }
    char *content = pfa_file_read(word + 1);
    if (content == NULL) {
        pfa_words_add(words, word);
        return;
    }
    char *rest = content;
    for (char *inner; (inner = next_word(&rest)) != NULL;) {
        expand(words, inner, depth + 1);
    }
    free(content);
}

void pfa_response_expand(pfa_words_t *words, const char *word)
{
    expand(words, word, 0);
}
