/* The names of threads and of tags, in the live table.
 *
 * A thread's entry is written by the thread itself, its name also by the writer now and then; tags are added under
 * PFA_LOCK_TAGS and never change. */
#ifndef PFA_META_NAMES_H
#define PFA_META_NAMES_H

#include "export/format/live.h"
#include "export/format/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The calling thread's entry, under its number. */
void pfa_names_thread(uint16_t number, uint64_t start);
/* At the calling thread's end: reads its name again, which may be another by now. */
void pfa_names_thread_again(uint16_t number);
/* Has that been? Then its name can be had nowhere else. */
bool pfa_names_has_ended(uint16_t number);
/* The entry of a number, or NULL. */
pfa_trace_thread_t *pfa_names_thread_at(uint32_t number);

/* The number of a tag of this name, 1 and up; 0 if there is no room for it, or for an empty name. */
uint16_t pfa_names_tag(const char *name);
uint32_t pfa_names_tag_count(void);
/* Of the numbers from 1 to pfa_names_tag_count. */
const char *pfa_names_tag_at(uint32_t number);

/* In a fork child: threads are named anew; or nothing is named any more, where the table is the parent's. */
void pfa_names_after_fork(void);
void pfa_names_forget(void);

#endif
