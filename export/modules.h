/* The modules that code may lie in: the program, its libraries, the vdso.
 *
 * A list is taken whenever the loader's has changed, and holds from a node of the depot on; so lists are written in the order in
 * which they are taken, and may be written later. Who unloads a module takes one before and one after that, without waiting for
 * whoever writes the trace: those that are not written yet are kept here.
 *
 * Any thread may call pfa_modules_note at any time; the others are called under PFA_LOCK_WRITER. How the loader's list is
 * read around fork, export/loader.h says. */
#ifndef PFA_EXPORT_MODULES_H
#define PFA_EXPORT_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Takes a list, if the loader's has changed, for pfa_modules_next to give out. False: there is no room for another. */
bool pfa_modules_note(void);
/* The next list to be written, as the payload of a block, and its length; 0 if the last one still holds, or cannot be read just
 * now. What does not fit is left out. */
size_t pfa_modules_next(void *payload, size_t size);
/* The same of those alone that were noted. */
size_t pfa_modules_next_noted(void *payload, size_t size);
/* What was written last, for a trace of a fork child: there the loader's lock may be nobody's. */
size_t pfa_modules_write_again(void *payload, size_t size, uint32_t first_node);
/* Before a new trace, in a fork child too: nothing is noted, and the next list is a new one. */
void pfa_modules_reset(void);

#endif
