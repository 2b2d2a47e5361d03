/* Numbers, told apart only as far as comparisons do: all that lie between the same bounds are of one class, of each field, and
 * those that are not known are another. One number stands for the classes of all fields together. */
#ifndef PFA_ANALYZE_QUERY_WHERE_CLASSES_H
#define PFA_ANALYZE_QUERY_WHERE_CLASSES_H

#include "analyze/query/where_graph.h"

typedef struct pfa_where_axis {
    uint32_t field;
    uint32_t count;
    uint32_t first; /* in bounds */
    uint64_t stride;
} pfa_where_axis_t;

typedef struct pfa_bound {
    uint32_t field;
    double bound; /* the first number of a class */
} pfa_bound_t;

typedef struct pfa_classes {
    pfa_where_axis_t *axes;
    size_t axis_count;
    double *bounds;
    uint64_t total; /* how many there are; UINT64_MAX: too many to count */
    pfa_bound_t *raw;
    size_t raw_count;
    size_t raw_room;
} pfa_classes_t;

/* A comparison: from `low` to `high`. */
void pfa_classes_add(pfa_classes_t *classes, const pfa_graph_node_t *number);
/* All were added. */
void pfa_classes_finish(pfa_classes_t *classes);
void pfa_classes_free(pfa_classes_t *classes);

/* How many bounds are not above a number; one more than all if it is not known. */
static inline uint32_t pfa_classes_place(const double *bounds, uint32_t count, double number)
{
    uint32_t from = 0;
    if (number != number) {
        return count + 1;
    }
    for (uint32_t left = count; left > 0;) {
        uint32_t half = left - left / 2;
        from += bounds[from + half - 1] <= number ? half : 0;
        left -= half;
    }
    return from;
}

static inline uint64_t pfa_classes_find(const pfa_classes_t *classes, const double *numbers)
{
    uint64_t found = 0;
    for (size_t i = 0; i < classes->axis_count; i++) {
        const pfa_where_axis_t *axis = &classes->axes[i];
        found += axis->stride * pfa_classes_place(classes->bounds + axis->first, axis->count, numbers[axis->field]);
    }
    return found;
}

#endif
