/* Flame graphs of amounts (analyze/flame/flame.h). */
#ifndef PFA_ANALYZE_DRAW_FLAME_GRAPH_H
#define PFA_ANALYZE_DRAW_FLAME_GRAPH_H

#include "analyze/draw/flame.h"

#include <stdio.h>

typedef enum pfa_frame_order {
#define PFA_FRAME_ORDER(id, name, meaning) PFA_FRAMES_BY_##id,
#include "analyze/draw/frame_orders.def"
#undef PFA_FRAME_ORDER
    PFA_FRAME_ORDERS
} pfa_frame_order_t;

typedef struct pfa_graph_look {
    bool inverted; /* from the function that allocates to those that called it */
    pfa_frame_order_t order;
} pfa_graph_look_t;

/* As a picture, and as folded stacks; then, unless `notes` is NULL, their sum, what is missing, and remarks go there. 0 or an error number, as of
 * pfa_answer_write. */
int pfa_amounts_svg(pfa_amounts_t *amounts, const pfa_graph_look_t *look, FILE *to, FILE *notes);
int pfa_amounts_folded(pfa_amounts_t *amounts, const pfa_graph_look_t *look, FILE *to, FILE *notes);

#endif
