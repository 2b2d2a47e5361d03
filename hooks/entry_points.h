/* The list of hooks/entry_points.def as data. */
#ifndef PFA_HOOKS_ENTRY_POINTS_H
#define PFA_HOOKS_ENTRY_POINTS_H

#include <stddef.h>

typedef struct pfa_entry_point {
    const char *name;
    const void *address;
} pfa_entry_point_t;

extern const pfa_entry_point_t pfa_entry_points[]; /* ends with a NULL name */

#endif
