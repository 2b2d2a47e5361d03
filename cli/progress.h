/* A line on standard error that says how far the work is, from a second on and only on a terminal. */
#ifndef PFA_CLI_PROGRESS_H
#define PFA_CLI_PROGRESS_H

#include "analyze/base/progress.h"

/* The commands have one: they do one thing at a time. */
extern const pfa_watch_t pfa_cli_watch;

#endif
