/* What a fork child keeps of the records: they lie in memory that both processes would share, so the parent copies them
 * before the fork, and the child puts them into memory of its own. There the chunks are known but silent: their lives are
 * the parent's to tell.
 *
 * Called with all locks held. Another thread of the parent that allocates between the copy and the fork may leave chunks
 * that the child knows nothing of; only code that uses another thread's chunks in the child could meet one. */
#ifndef PFA_ALLOC_INHERIT_H
#define PFA_ALLOC_INHERIT_H

#include <stdbool.h>

/* In the parent, before. False: no memory for the copy. */
bool pfa_inherit_save(void);
/* In the parent, after. */
void pfa_inherit_drop(void);
/* In the child: makes the extents anew, in a file of that name unless it is NULL. Returns 0 or an errno value: there is
 * no file then. */
int pfa_inherit_restore(const char *path);

#endif
