/* Live tables in memory that nobody will ask for any more: of processes that are gone and whose trace was deleted. They are
 * removed by the next process of the same user that records, from its background thread, which holds no lock meanwhile: a trace may
 * be on a file system that does not answer. */
#ifndef PFA_META_ORPHANS_H
#define PFA_META_ORPHANS_H

/* In the folder of `path`, which is our own live table's. Only what is a day old: a trace may have been moved, and its live
 * table be wanted yet. */
void pfa_orphans_remove(const char *path);

#endif
