/* The types that the program says its chunks hold, in the live table.
 *
 * Types are numbered from 1 on, added under PFA_LOCK_TAGS and never changed. Any thread may read them without a lock. */
#ifndef PFA_META_TYPES_H
#define PFA_META_TYPES_H

#include "export/format/live.h"

#include <stddef.h>
#include <stdint.h>

/* The number of the type of this name and size; 0 if there is no room for it, or for an empty name. Of a long name the first bytes
 * count. */
uint32_t pfa_types_number(const char *name, uint64_t size);
/* Types are numbered from 1 to this. */
uint32_t pfa_types_count(void);
/* Of one of these numbers. */
const pfa_live_type_t *pfa_types_at(uint32_t number);

/* In a fork child whose table is the parent's: there are none. */
void pfa_types_forget(void);

#endif
