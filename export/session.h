/* A session: one trace with its live table, from its start to its end. The façade of export/ for the hooks.
 *
 * pfa_session_open and _end are called under PFA_LOCK_PROCESS, pfa_session_leave by the only thread of a fork child, the calls
 * that make its trace under PFA_LOCK_PROCESS and PFA_LOCK_WRITER; pfa_session_round, by the background thread, and the calls
 * for pictures take PFA_LOCK_WRITER. None of them allocates. */
#ifndef PFA_EXPORT_SESSION_H
#define PFA_EXPORT_SESSION_H

#include "export/format/trace.h"

#include <stdbool.h>
#include <stdint.h>

/* Fixes where traces go: a relative pattern is relative to the folder the process is in now. */
void pfa_session_init(const char *pattern);
/* Begins the first session: opens the trace, the live table and the depot. Whatever fails is said, and recording goes on
 * without a trace; 0 or an errno value when there is no memory to record at all. */
int pfa_session_open(uint64_t sample);
/* Is there a trace being written? */
bool pfa_session_is_open(void);
/* Is one to be, whenever there is something to write? */
bool pfa_session_wanted(void);
/* Writes what is pending, the live chunks and the end. What other threads do meanwhile may be in it or not. At the exit the
 * live table's file goes; else there may be another session. */
void pfa_session_end(pfa_end_t how);
/* At the exit: there was none. */
void pfa_session_forget(void);
/* Leaves all of it to the live table, where locks cannot be had. */
void pfa_session_abandon(void);
/* Writes what is pending and leaves the rest to the live table, for a process that is about to go. */
void pfa_session_flush(void);

/* One round of the writer's work. */
void pfa_session_round(void);
/* The same if nobody else is at it; false if somebody is. */
bool pfa_session_try_round(void);
/* Once: removes live tables that were left in memory and are nobody's. By the background thread alone, which may be long at it. */
void pfa_session_remove_orphans(void);
/* A picture of the live chunks under a name; 0 or an errno value. */
int pfa_session_picture(const char *name);
/* Pictures after every so many allocations from now on; 0: no more of them once this returns. */
void pfa_session_pictures_every(uint64_t allocations);
/* The modules may have changed, or will. Does not wait for whoever writes the trace, where that is the background thread and is
 * not far behind. */
void pfa_session_modules(void);
/* A module is gone, and the list of modules cannot be read: the trace says that names may be wrong. */
void pfa_session_unloaded(void);
/* Recording was started or stopped. Under PFA_LOCK_PROCESS; does not wait for the writer, unless it is far behind. */
void pfa_session_mark(pfa_mark_t what);
/* Something is missing in this trace, from now on: a text that stays. Of several, the first is told. */
void pfa_session_lost(const char *text);

/* Another session after the end of one: is that so? It begins while threads go on. The live table stays as it is, under
 * another name; its records of chunks from before are not of this session. */
bool pfa_session_may_reopen(void);
void pfa_session_reopen(uint64_t sample);

/* In a fork child: the session is the parent's and goes on without us. Was there one? That rings are closed the caller says,
 * when the records are the child's own. */
bool pfa_session_leave(void);
/* Later, to have its own: the name of its live table, to be made before the rest, or NULL (that was said); then the rest, or
 * what making the table failed with. */
const char *pfa_session_new_path(void);
void pfa_session_after_fork(int err, uint64_t sample);

#endif
