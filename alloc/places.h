/* Where the records of regions lie: the record area M, in units of 16 slices that are made accessible as a whole when the
 * first of their regions needs records.
 *
 *   unit:  gap | shared part: places of regions, one behind the other | gap, home of slice 0 | ... | gap, home of slice 15
 *
 * A home has a record for every slot that a slice can have, which is much address space and no memory. But memory comes
 * in pages, and the records of a region end somewhere in one. So regions of few slots get a place of just their size in
 * the shared part, where the next begins in the page that the last ended in; the others, and those that come when the
 * shared part is full, live at home.
 *
 *   1. Before a place and behind it there are as many accessible records as any region can have. So whoever sees the word
 *      of one region and the records of another (alloc/region.h) finds a record, if not the right one.
 *   2. A slice keeps the place it has while its regions fit in.
 *   3. Nothing here waits, but for a thread that makes the same unit accessible. */
#ifndef PFA_ALLOC_PLACES_H
#define PFA_ALLOC_PLACES_H

#include "alloc/range.h"

#include <stdint.h>

/* What M and the table of its units take for the slices of R. */
uint64_t pfa_places_size(const pfa_range_t *range);
uint64_t pfa_places_units_size(const pfa_range_t *range);

/* Records for the region that begins with that slice: `before` that are never live and `count` behind them, accessible and
 * with room on the disk. *records is the first of the latter. By the thread that owns the slice. 0 or an errno value. */
int pfa_places_get(uint64_t slice, uint64_t before, uint64_t count, pfa_record_t **records);

/* Room on the disk for all places of a unit that are in use, in its extent made anew. 0 or an errno value. */
int pfa_places_make_room(uint32_t extent, uint64_t unit);

#endif
