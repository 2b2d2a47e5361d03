/* The sub-commands. Each gets its name and arguments as main does and returns the exit status. */
#ifndef PFA_CLI_COMMANDS_H
#define PFA_CLI_COMMANDS_H

#include <stdbool.h>
#include <stdint.h>

enum { PFA_EXIT_FAILED = 1, PFA_EXIT_USAGE = 2 };

#define PFA_COMMAND(name, synopsis, meaning) int pfa_command_##name(int argc, char **argv);
#include "cli/commands.def"
#undef PFA_COMMAND

/* The least and the most that an option of the library takes, if its value is a size. (cli/options.c) */
bool pfa_option_limits(const char *name, uint64_t *minimum, uint64_t *maximum);

#endif
