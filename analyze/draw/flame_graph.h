/* Flame graphs of amounts (analyze/flame/flame.h). */
#ifndef PFA_ANALYZE_DRAW_FLAME_GRAPH_H
#define PFA_ANALYZE_DRAW_FLAME_GRAPH_H

#include "analyze/draw/flame.h"

#include <stdio.h>

typedef struct pfa_graph_look {
    bool inverted; /* from the function that allocates to those that called it */
    bool by_name;  /* the order of frames on the same one; else by amount */
} pfa_graph_look_t;

/* As a picture, and as folded stacks; then, unless `notes` is NULL, their sum, what is missing, and remarks go there. 0 or an error number, as of
 * pfa_answer_write. */
int pfa_amounts_svg(pfa_amounts_t *amounts, const pfa_graph_look_t *look, FILE *to, FILE *notes);
int pfa_amounts_folded(pfa_amounts_t *amounts, const pfa_graph_look_t *look, FILE *to, FILE *notes);

#endif
