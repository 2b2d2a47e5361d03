/* Who calls the functions that allocate a hit's chunks, and who calls that, with how many of these chunks came that way: the
 * paper's call tree. The heaviest way comes first. */
#ifndef PFA_ANALYZE_EXCESS_CALLTREE_H
#define PFA_ANALYZE_EXCESS_CALLTREE_H

#include "analyze/excess/excess.h"

#define PFA_CALL_NONE UINT32_MAX

typedef struct pfa_call {
    double chunks;
    uint32_t routine;
    uint32_t child; /* the heaviest of its callers */
    uint32_t next;  /* a lighter caller of the same */
} pfa_call_t;

typedef struct pfa_calltree {
    pfa_call_t *list; /* the first stands for the hit: its callers are the functions that allocate, mostly one */
    size_t count;
} pfa_calltree_t;

/* Makes the tree of a hit, no deeper than the lines that are to be told of it. Calls of a function by itself are one. */
void pfa_calltree_make(pfa_calltree_t *tree, pfa_excess_t *excess, const pfa_hit_t *hit);
void pfa_calltree_free(pfa_calltree_t *tree);

/* Calls `tell` with at most `lines` calls, each caller below what it calls; `level` grows where a function has several
 * callers. Returns how many calls were left out. */
typedef void pfa_calltree_tell_t(void *to, const pfa_call_t *call, size_t level);
size_t pfa_calltree_walk(const pfa_calltree_t *tree, size_t lines, pfa_calltree_tell_t *tell, void *to);

#endif
