/* Owns the making of classes. See analyze/query/where_classes.h. */
#include "analyze/query/where_classes.h"
#include "analyze/base/memory.h"

#include <math.h>
#include <stdlib.h>

static void add_bound(pfa_classes_t *classes, uint32_t field, double bound)
{
    classes->raw = pfa_memory_grow(classes->raw, &classes->raw_room, classes->raw_count + 1, sizeof *classes->raw);
    classes->raw[classes->raw_count++] = (pfa_bound_t){.field = field, .bound = bound};
}

void pfa_classes_add(pfa_classes_t *classes, const pfa_graph_node_t *number)
{
    if (!isinf(number->low)) {
        add_bound(classes, number->field, number->low);
    }
    if (!isinf(number->high)) {
        add_bound(classes, number->field, nextafter(number->high, INFINITY));
    }
}

static int compare_bounds(const void *one, const void *other)
{
    const pfa_bound_t *a = one;
    const pfa_bound_t *b = other;
    return a->field != b->field ? (a->field > b->field) - (a->field < b->field)
                                : (a->bound > b->bound) - (a->bound < b->bound);
}

static void set_strides(pfa_classes_t *classes)
{
    classes->total = 1;
    for (size_t i = 0; i < classes->axis_count; i++) {
        uint64_t count = (uint64_t)classes->axes[i].count + 2;
        classes->axes[i].stride = classes->total;
        classes->total = classes->total > (UINT64_MAX >> 1) / count ? UINT64_MAX : classes->total * count;
    }
}

void pfa_classes_finish(pfa_classes_t *classes)
{
    size_t axis_room = 0;
    size_t count = 0;
    if (classes->raw_count > 1) {
        qsort(classes->raw, classes->raw_count, sizeof *classes->raw, compare_bounds);
    }
    classes->bounds = pfa_memory_get(classes->raw_count, sizeof *classes->bounds);
    for (size_t i = 0; i < classes->raw_count; i++) {
        const pfa_bound_t *raw = &classes->raw[i];
        if (i > 0 && compare_bounds(raw, raw - 1) == 0) {
            continue;
        }
        if (i == 0 || raw->field != raw[-1].field) {
            classes->axes = pfa_memory_grow(classes->axes, &axis_room, classes->axis_count + 1, sizeof *classes->axes);
            classes->axes[classes->axis_count++] = (pfa_where_axis_t){.field = raw->field, .first = (uint32_t)count};
        }
        classes->axes[classes->axis_count - 1].count++;
        classes->bounds[count++] = raw->bound;
    }
    set_strides(classes);
    pfa_memory_free(classes->raw);
    classes->raw = NULL;
}

void pfa_classes_free(pfa_classes_t *classes)
{
    pfa_memory_free(classes->axes);
    pfa_memory_free(classes->bounds);
    pfa_memory_free(classes->raw);
    *classes = (pfa_classes_t){.axes = NULL};
}
