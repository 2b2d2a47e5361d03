/* The parts of `profalloc run`: the command line and the environment (run.c), the child (run_child.c), and the traces that
 * it leaves (run_traces.c). */
#ifndef PFA_CLI_RUN_H
#define PFA_CLI_RUN_H

#include "export/format/trace.h"

#include <stdbool.h>
#include <sys/types.h>

enum { PFA_RUN_NOT_EXECUTABLE = 126, PFA_RUN_NOT_FOUND = 127, PFA_RUN_SIGNAL = 128 };

/* The library to preload, or NULL. The caller frees it. */
char *pfa_run_library(void);

/* Runs the command to its end, forwarding signals; `alone`: what it executes in turn is not recorded. Calls `tend`
 * every second meanwhile. The exit status for the shell; *pid is 0 if it could not be begun. */
int pfa_run_child(char **command, bool alone, void (*tend)(void *to), void *to, pid_t *pid);

/* Ends the traces of this run whose processes are gone while others go on: their live tables take memory. */
void pfa_run_seal_ended(const char *pattern, uint64_t number);
/* Finds the traces under the pattern that have this number of a run, seals those whose process is gone, and
 * tells on standard error where they are and what is in the one of `pid`. Their names go to the file `list`, if any. */
void pfa_run_tell(const char *pattern, pid_t pid, uint64_t number, const char *program, const char *list);

#endif
