/* What charts are drawn on as characters: a terminal, or a file. */
#ifndef PFA_CLI_TERM_H
#define PFA_CLI_TERM_H

#include "analyze/draw/term.h"
#include "analyze/excess/excess.h"

#include <stdio.h>

/* What a file is: a terminal with its width and colours (unless NO_COLOR is set), or 80 columns without. The locale tells
 * whether it takes UTF-8. */
pfa_term_t pfa_cli_term(FILE *to);

/* For pfa_excess_text. */
void pfa_excess_charts(FILE *to, const pfa_excess_t *excess);

#endif
