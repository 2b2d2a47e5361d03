/* Included before every file of a test build of the callbacks: at each access to a chunk, same_run.py's oracle is told of it first. */
#ifndef PFA_TESTS_ACCESS_SEEN_H
#define PFA_TESTS_ACCESS_SEEN_H

#include <stdint.h>

void seen_access(const void *record);
#define PFA_ACCESS_SEEN(wide) seen_access(wide)

#endif
