/* The options of the library, read once at start. Order of precedence, highest first: the environment variable
 * PROFALLOC_CONF (ignored in set-uid and set-gid programs), the file /etc/profalloc.conf, the string profalloc_conf
 * that the program may define. */
#ifndef PFA_BASE_OPTIONS_H
#define PFA_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A text with its terminating 0. */
#define PFA_OPTION_TEXT_SIZE 1024

typedef struct pfa_options {
#define PFA_OPTION(name, kind, standard, minimum, maximum, meaning) uint64_t name;
#define PFA_OPTION_TEXT(name, standard, meaning) char name[PFA_OPTION_TEXT_SIZE];
#include "export/format/options.def"
} pfa_options_t;

extern pfa_options_t pfa_options;

#define PFA_CONF_FILE "/etc/profalloc.conf"

void pfa_options_default(pfa_options_t *options);

/* Reads "key:value,key:value" (commas or new lines between, blanks around, # to the end of a line) into *options.
 * Each fault is said in one line that names `source`, the key and what would be accepted, and leaves that option as it
 * was. Returns the number of faults. */
unsigned pfa_options_parse(pfa_options_t *options, const char *source, const char *text, size_t length);

/* All options as "key:value,key:value", for the record; returns the number of bytes, at most size. */
size_t pfa_options_text(char *buf, size_t size);

/* Reads all sources in order into pfa_options. `environment` may be NULL. With strict:true a fault ends the process. */
void pfa_options_load(const char *program_conf, const char *environment);

#endif
