/* What expressions said of the kinds of a trace's blocks. The first walk of a query that asks remembers it, so that the next walks need not ask
 * again, in order, what they can do on all cores. Blocks in which single chunks were asked are not remembered. For analyze/query alone. */
#ifndef PFA_ANALYZE_QUERY_REMEMBERED_H
#define PFA_ANALYZE_QUERY_REMEMBERED_H

#include "analyze/query/slab.h"

/* Takes what is known of a slab that has the kinds of the block of this number. */
void pfa_remembered_put(pfa_remembered_t *remembered, size_t number, const pfa_block_t *block, const pfa_slab_t *slab);
/* Gives a slab that is about to be filled from the block what is known of its kinds, if that was put for the same block. */
void pfa_remembered_give(const pfa_remembered_t *remembered, size_t number, const pfa_block_t *block, pfa_slab_t *slab);
void pfa_remembered_free(pfa_remembered_t *remembered);

#endif
