/* Cells: where the map nodes of large chunks lie, so that their records are in the live table.
 *
 * Any thread takes and gives back cells, without a lock; a cell's memory stays a cell for as
 * long as the process lives. */
#ifndef PFA_ALLOC_CELLS_H
#define PFA_ALLOC_CELLS_H

#include "alloc/intervalmap.h"

/* NULL if there is no room for another. */
pfa_large_t *pfa_cells_take(void);
/* Its record is not live any more. */
void pfa_cells_give(void *cell);
/* In a fork child: those that are free now are not used again, since another thread may have been at it. */
void pfa_cells_after_fork(void);

#endif
