/* The dynamic loader's list of modules, read in a way that neither a fork nor its child hangs.
 *
 *   1. dl_iterate_phdr takes a lock of the loader's that the C library does not set free in a fork child (2.36 does that with
 *      the loader's other locks). So no thread of ours is in there while the process forks, or the child's own calls would
 *      hang: pfa_loader_before_fork waits for it to come out, which takes microseconds, or for a moment if it is held up
 *      itself; and while somebody forks, none goes in.
 *   2. In a child of a process that had other threads dl_iterate_phdr is never called: one of them may have been in there. The
 *      list is walked without it, while the child has one thread beside ours: each link of it is one store, and nobody
 *      else is there to unload a module meanwhile.
 *   3. Nothing here takes a lock of ours. One thread at a time calls pfa_loader_walk (under PFA_LOCK_WRITER). */
#ifndef PFA_EXPORT_LOADER_H
#define PFA_EXPORT_LOADER_H

#include <stdbool.h>
#include <stddef.h>

struct dl_phdr_info; /* of <link.h>, which asks for _GNU_SOURCE */
typedef int pfa_loader_fn(struct dl_phdr_info *info, size_t size, void *context);

/* As dl_iterate_phdr; false if the list cannot be read just now. */
bool pfa_loader_walk(pfa_loader_fn *take, void *context);

/* Can it be read just now? */
bool pfa_loader_is_readable(void);

/* Fork handlers, in the thread that forks; the parent's is called also if fork fails. `counts`: is it worth a system call to
 * find out whether the child will be free to ask the loader? */
void pfa_loader_before_fork(bool counts);
void pfa_loader_after_fork_parent(void);
void pfa_loader_after_fork_child(void);

#endif
