/* The modules that code may lie in: the program, its libraries, the vdso.
 *
 * Under PFA_LOCK_WRITER. How the loader's list is read around fork, export/loader.h says. */
#ifndef PFA_EXPORT_MODULES_H
#define PFA_EXPORT_MODULES_H

#include "meta/depot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PFA_MODULES_GONE 32

/* Where modules were that are no longer there. */
typedef struct pfa_modules_gone {
    pfa_depot_range_t ranges[PFA_MODULES_GONE];
    size_t count;
} pfa_modules_gone_t;

/* Has the list changed since pfa_modules_write? False also if that cannot be told just now. */
bool pfa_modules_changed(void);
/* Writes a MODULES payload, for all nodes; returns its length. What does not fit is left out. Also tells what is gone since
 * the last one. 0 if the list cannot be read just now. */
size_t pfa_modules_write(void *payload, size_t size, pfa_modules_gone_t *gone);
/* What was written last, for a trace of a fork child: there the loader's lock may be nobody's. */
size_t pfa_modules_write_again(void *payload, size_t size, uint32_t first_node);
/* Before a new trace: the next pfa_modules_changed says yes. */
void pfa_modules_reset(void);

#endif
