/* Cells: where the records of large chunks lie, in the live table.
 *
 * Any thread takes and gives back cells, without a lock; a cell's memory stays a cell for as long as the process lives. */
#ifndef PFA_ALLOC_CELLS_H
#define PFA_ALLOC_CELLS_H

#include "meta/record.h"

/* NULL if there is no room for another. */
pfa_wide_record_t *pfa_cells_take(uint32_t *number);
/* Where the chunk lies whose record begins in that cell next. */
void pfa_cells_place(uint32_t number, uintptr_t address);
/* Its record is not live any more. */
void pfa_cells_give(uint32_t number);

#endif
