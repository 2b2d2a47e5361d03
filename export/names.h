/* Names of files and of the program. */
#ifndef PFA_EXPORT_NAMES_H
#define PFA_EXPORT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#define PFA_NAMES_SIZE 4096

/* The pattern of traces, and the folder it is relative to. Once. */
void pfa_names_init(const char *pattern);
/* Is a trace to be written? Not by set-uid programs, nor where the pattern says none. */
bool pfa_names_wanted(void);
/* The name of a trace of this process, PFA_NAMES_SIZE bytes; a later attempt is another name. 0 or an errno value. */
int pfa_names_expand(char *path, unsigned attempt);

/* The program's path and its arguments with a 0 behind each; both return the number of bytes. */
size_t pfa_names_program(char *buf, size_t size);
size_t pfa_names_command(char *buf, size_t size);

#endif
