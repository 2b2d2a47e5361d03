/* The modules that code may lie in: the program, its libraries, the vdso.
 *
 * Under PFA_LOCK_WRITER. Reads the loader's list under PFA_LOCK_MODULES, so that no fork falls into that. */
#ifndef PFA_EXPORT_MODULES_H
#define PFA_EXPORT_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Has the list changed since pfa_modules_write? *unloaded: something was taken out of it. */
bool pfa_modules_changed(bool *unloaded);
/* Writes a MODULES payload for nodes from first_node on; returns its length. What does not fit is left out. */
size_t pfa_modules_write(void *payload, size_t size, uint32_t first_node);
/* What was written last, for a trace of a fork child: there the loader's lock may be nobody's. */
size_t pfa_modules_write_again(void *payload, size_t size, uint32_t first_node);
/* Before a new trace: the next pfa_modules_changed says yes. */
void pfa_modules_reset(void);

#endif
