/* What becomes of the records in a fork child: they lie in memory that both processes would share, so the child gets empty
 * ones in their place. Chunks of before are there all the same; that they are chunks is taken on trust from then on, since
 * their records say nothing (pfa_range.inherited), and their lives are the parent's to tell. */
#ifndef PFA_ALLOC_INHERIT_H
#define PFA_ALLOC_INHERIT_H

/* In the child, with all locks held or as its only thread: makes the extents anew, in a file of that name unless it is NULL. Returns 0 or an errno
 * value: there is no file then. */
int pfa_inherit(const char *path);

#endif
