/* Flame graphs: amounts by call path, as an interactive SVG and as folded stacks.
 *
 * Paths may be of any depth and come from hostile traces: nothing here recurses. What repeats is folded: a run of the same
 * frames, or of the same up to 24 frames in turn, that comes at least 4 times is told once, as "f (x1000)"; paths that differ
 * only in how often they repeat fall together, as "f (x4-1000)". */
#ifndef PFA_ANALYZE_DRAW_FLAME_H
#define PFA_ANALYZE_DRAW_FLAME_H

#include "analyze/draw/chart.h"
#include "analyze/flame/path.h"

#include <stdio.h>

typedef struct pfa_flame pfa_flame_t;

typedef struct pfa_flame_look {
    const char *title;
    const char *note; /* a line below; NULL: none */
    pfa_unit_t unit;
    bool downwards; /* the root is at the top: an icicle graph */
} pfa_flame_look_t;

pfa_flame_t *pfa_flame_new(void);
void pfa_flame_free(pfa_flame_t *flame);
/* Adds an amount to the path of these steps, the root's child first; of an estimate, with its variance. Texts are copied. What is
 * not above 0 adds nothing. */
void pfa_flame_add(pfa_flame_t *flame, const pfa_flame_step_t *path, size_t count, double value, double variance);
/* Frames on the same one are in the order of their names, not of their amounts. */
void pfa_flame_by_name(pfa_flame_t *flame);
double pfa_flame_total(const pfa_flame_t *flame);

/* Frames that are too narrow or too deep to be seen are left out, and their number is said: so are the last levels, if there
 * are only a few narrow ones in them. */
void pfa_flame_svg(const pfa_flame_t *flame, FILE *to, const pfa_flame_look_t *look);
/* "a;b;c 123", the largest first at each level, or by name. In names a semicolon becomes a colon, a space an underscore, and what cannot
 * be shown a question mark; amounts are rounded, and paths that then have none are left out. */
void pfa_flame_folded(const pfa_flame_t *flame, FILE *to);

#endif
