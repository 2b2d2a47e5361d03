/* The tool, for many command lines in one process: under AddressSanitizer, the search for leaks at its end takes seconds of processor
 * time on some machines, whatever it ran. For tests/analyze/support.py.
 *
 * Commands come from standard input: a folder to go to, a number, and so many words, each ended by a zero. What they print goes to
 * /dev/null; for each a line with its exit status goes to standard output. */
int pfa_tool_main(int argc, char **argv);
#define main pfa_tool_main
#include "analyze/tool/main.c"
#undef main

#include <getopt.h>
#include <stdlib.h>
#include <unistd.h>

enum { WORDS = 64 };

/* The next word; NULL at the end. The caller frees it. */
static char *read_word(void)
{
    char *word = NULL;
    size_t room = 0;
    if (getdelim(&word, &room, '\0', stdin) < 0) {
        free(word);
        return NULL;
    }
    return word;
}

int main(void)
{
    int answers = dup(1);
    if (answers < 0 || freopen("/dev/null", "w", stdout) == NULL) {
        return 1;
    }
    for (char *folder; (folder = read_word()) != NULL;) {
        char *words[WORDS + 2] = {(char[]){"profalloc"}};
        char *given[WORDS + 2];
        char *number = read_word();
        int count = number != NULL ? atoi(number) : 0;
        free(number);
        if (count < 1 || count > WORDS || chdir(folder) != 0) {
            return 1;
        }
        for (int i = 1; i <= count; i++) {
            given[i] = words[i] = read_word();
        }
        optind = 0; /* getopt begins anew */
        int status = pfa_tool_main(count + 1, words);
        if (dprintf(answers, "%d\n", status) < 0) {
            return 1;
        }
        for (int i = 1; i <= count; i++) {
            free(given[i]); /* the tool may have put others in their place */
        }
        free(folder);
    }
    return 0;
}
