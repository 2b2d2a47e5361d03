/* Where the records of regions lie: in units of 16 slices, many of which are one extent of the live table (a group). A group
 * is mapped as a whole when the first of its regions needs records; where memory is short (meta/extents.h) its units from
 * then on lie in the twin of that extent.
 *
 *   unit:  gap | shared part: descriptions of 16 regions, then places, one behind the other | gap, home of slice 0 | ... |
 *          gap, home of slice 15
 *
 * A home has a record for every slot that a slice can have, which is much address space and no memory. But memory comes
 * in pages, and the records of a region end somewhere in one. So regions of few slots get a place of just their size in
 * the shared part, where the next begins in the page that the last ended in; the others, and those that come when the
 * shared part is full, live at home.
 *
 *   1. Before and behind each place there are accessible records, as far as any word reaches. So whoever sees the word
 *      of one region and the records of another (alloc/region.h) finds a record, which in the shared part may be a
 *      stranger's. Only a program that uses a chunk while it is freed gets there.
 *   2. A slice keeps its place while its regions fit in.
 *   3. Records are of one slice for good, and of the region that begins there. The slice's description says which that is, before
 *      the first of its chunks is born (PFA_RECORD_REGION of export/format/live.h): from it, readers know where chunks lie.
 *   4. Nothing here waits, but for a thread that makes the same unit accessible. */
#ifndef PFA_ALLOC_PLACES_H
#define PFA_ALLOC_PLACES_H

#include "alloc/range.h"

#include <stdint.h>

/* The records a region needs: `before` for what lies before its first slot, which are never live, and `count` for its
 * slots and what lies behind the last. */
typedef struct pfa_need {
    uint64_t before;
    uint64_t count;
} pfa_need_t;

/* What the table of units takes for so much of R, and how many units are a group: so many that `full` bytes of R
 * have few groups. (A group is mapped as a whole, so it should not be larger than it has to be.) */
uint64_t pfa_places_units_size(uint64_t span);
uint64_t pfa_places_group(uint64_t full);

/* A region that goes leaves records behind: if the next one there does not use so many bytes of them, their memory is given back. */
enum { PFA_RECORDS_DROPPED = 32 * 1024 };

/* Records for the region that begins with that slice, accessible and with room on the disk. *records is that of its
 * first slot. By the thread that owns the slice. 0 or an errno value. */
int pfa_places_get(uint64_t slice, pfa_need_t need, pfa_record_t **records);

/* Describes the region that begins with that slice, whose first slot has that address; its records are there. By the thread that
 * owns the slice, before the first chunk is born. */
typedef struct pfa_description {
    uintptr_t start;
    uint64_t slot_size;
    uint64_t slots;
    pfa_record_t *records;
} pfa_description_t;
void pfa_places_describe(uint64_t slice, pfa_description_t region);

/* The place of a slice in the shared part, for pfa_places_leave: which gives its memory back if the slice has another by now. When
 * its region has been published, since until then others look for records there: reading what has no memory makes some, and
 * is SIGBUS where the file system of the live table is full. By the thread that owns the slice. */
pfa_record_place_t pfa_places_of(uint64_t slice);
void pfa_places_leave(uint64_t slice, pfa_record_place_t place);

/* In a fork child: room for the records of all regions of a group, in its extent made anew. 0 or an errno value. */
int pfa_places_make_room(uint32_t extent, uint64_t group);

#endif
