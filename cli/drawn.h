/* What commands have in common whose answer is a picture (--svg OUT) or, in another form, for programs: the command line, the way
 * through it, and what is said of all of them. */
#ifndef PFA_CLI_DRAWN_H
#define PFA_CLI_DRAWN_H

#include "cli/request.h"
#include "cli/choice.h"

#include <stdio.h>

/* What was asked for. */
typedef struct pfa_drawn {
    pfa_request_t request;
    const char *svg; /* NULL: no picture */
    bool form;       /* the command's other form */
    int sort;        /* by the number of the choice; the first if it was not said */
} pfa_drawn_t;

/* In tables of options: --svg, and the other form. */
enum { PFA_DRAWN_SVG = 1, PFA_DRAWN_FORM = 2 };

typedef struct pfa_drawn_command {
    const char *name;
    const char *usage;
    const char *form; /* "--csv" */
    const struct option *options;
    pfa_request_take_t *take; /* options of its own */
    const pfa_choice_t *sorts;
    size_t sort_count;
    /* What else the command line must be like; false: it is not, which was said. */
    bool (*check)(void *to, const pfa_drawn_t *drawn);
    /* Collects, tells, and frees the answer; the status to end with. */
    int (*tell)(void *to, const pfa_drawn_t *drawn);
} pfa_drawn_command_t;

/* All of it, from the command line to the exit status. `to` is what the command's functions are called with. */
int pfa_drawn_run(const pfa_drawn_command_t *command, int argc, char **argv, void *to);

/* Has a picture written to the file that was named. The status: 0, or failed, which was said. *error is what `put` returned. */
int pfa_drawn_svg(const pfa_drawn_t *drawn, int (*put)(void *what, FILE *file), void *what, int *error);
#endif
