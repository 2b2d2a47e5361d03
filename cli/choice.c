/* Owns options that take one of a few words. See cli/choice.h. */
#include "cli/choice.h"
#include "cli/tool.h"

#include <stdio.h>
#include <string.h>

int pfa_choice_find(const char *command, const char *option, const pfa_choice_t *choices, size_t count,
                    const char *word)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(choices[i].name, word) == 0) {
            return (int)i;
        }
    }
    pfa_tool_say(command, "%s takes one of these, not '%s':", option, word);
    for (size_t i = 0; i < count; i++) {
        fprintf(stderr, "  %-10s %s\n", choices[i].name, choices[i].meaning);
    }
    return -1;
}
