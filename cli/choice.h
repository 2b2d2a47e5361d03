/* Options that take one of a few words. */
#ifndef PFA_CLI_CHOICE_H
#define PFA_CLI_CHOICE_H

#include <stddef.h>

typedef struct pfa_choice {
    const char *name;
    const char *meaning;
} pfa_choice_t;

/* The number of a word among `choices`, of an option such as "--sort". -1: it is none of them; that is said, with all that
 * there are. */
int pfa_choice_find(const char *command, const char *option, const pfa_choice_t *choices, size_t count,
                    const char *word);

#endif
