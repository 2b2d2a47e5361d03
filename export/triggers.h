/* What makes the writer take a picture of the live heap: the options dump_* and a number of allocations. Under PFA_LOCK_WRITER, but for
 * pfa_triggers_ask. */
#ifndef PFA_EXPORT_TRIGGERS_H
#define PFA_EXPORT_TRIGGERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A new trace begins. */
void pfa_triggers_reset(void);
/* The name of a picture that is due, or NULL. */
const char *pfa_triggers_due(void);
/* A picture after every so many allocations from now on; 0: none. */
void pfa_triggers_every(uint64_t allocations);
/* Are there to be any of these? */
bool pfa_triggers_by_number(void);
/* From a signal handler: a picture is wanted. */
void pfa_triggers_ask(void);

#endif
