/* What repeats in a call stack: the same frame, or the same few in turn, again and again. It is told once, with how often. */
#ifndef PFA_ANALYZE_BASE_REPEATS_H
#define PFA_ANALYZE_BASE_REPEATS_H

#include <stdbool.h>
#include <stddef.h>

/* Python's import is a cycle of 17 frames. Fewer repetitions are read more easily as they are. */
enum { PFA_REPEATS_PERIOD = 24, PFA_REPEATS_LEAST = 4 };

/* Whether two frames of a path are the same. */
typedef bool pfa_repeats_same_t(const void *path, size_t left, size_t right);

/* How many frames from `from` on repeat in turn: those whose repetitions reach furthest; of those that reach as far, the
 * fewest. *repeats is 1 if nothing repeats, then it is one frame. Looking at all of a path so takes a time that grows as the
 * path does. */
size_t pfa_repeats_find(const void *path, size_t from, size_t count, pfa_repeats_same_t *same, size_t *repeats);

#endif
