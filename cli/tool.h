/* What all commands share: what they say on standard error, and how they end. */
#ifndef PFA_CLI_TOOL_H
#define PFA_CLI_TOOL_H

#include <stdio.h>

/* "profalloc COMMAND: ..." on standard error, cleaned but for ends of lines. */
__attribute__((format(printf, 2, 3))) void pfa_tool_say(const char *command, const char *format, ...);
/* The path of a file that was made, on a line of standard output: cleaned if a terminal shows it, and as it is for programs. */
void pfa_tool_made(const char *path);
/* Of a command that has no option but --help and takes files: the index of the first of them. 0: *status is what to end
 * with. */
int pfa_tool_files(int argc, char **argv, const char *usage, int *status);
/* Flushes standard output; the exit status: `status`, or failed if not all could be written. */
int pfa_tool_finish(const char *command, int status);

#endif
