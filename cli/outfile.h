/* Pictures: as files that the user named, and as characters (cli/term.h). */
#ifndef PFA_CLI_OUTFILE_H
#define PFA_CLI_OUTFILE_H

#include "cli/term.h"

#include <stdbool.h>
#include <stdio.h>

/* Whether a file of this name may be written: one that is called like a trace is left alone, since it is most likely one that
 * was meant to be read. If not, that was said. */
bool pfa_outfile_check(const char *command, const char *path);
/* "-" is standard output. NULL: it cannot be written, which was said. */
FILE *pfa_outfile_open(const char *command, const char *path);
/* False: not all could be written, which was said. */
bool pfa_outfile_close(const char *command, const char *path, FILE *file);

#endif
