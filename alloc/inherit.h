/* What becomes of the records in a fork child: they lie in memory that both processes would share, so the child gets empty
 * ones in their place. Chunks of before are there all the same; that they are chunks is taken on trust from then on, since
 * their records say nothing (pfa_range.inherited), and their lives are the parent's to tell. Where not even memory for empty
 * ones can be had, the parent's stay where they are and are not looked at any more (pfa_range.blind): every place where a
 * chunk can begin is taken for one. In both cases a misuse may pass unseen; none is reported that was not one. */
#ifndef PFA_ALLOC_INHERIT_H
#define PFA_ALLOC_INHERIT_H

/* In the child, as its only thread or with PFA_LOCK_WRITER held: makes the extents anew, in a file of that name unless it is
 * NULL. Returns 0 or an errno value: there is no file then, and with ENOMEM there are no records either. */
int pfa_inherit(const char *path);

#endif
