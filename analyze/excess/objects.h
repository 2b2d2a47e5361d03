/* Allocation objects, EMAD's unit: (caller, size, destroyer) with how often it came about and how long it lived on average.
 *
 * While chunks go by, sums are kept by (stack, size, destroyer, trace): cells (cells.h). They are what the call trees of objects are
 * made of. When all have gone by, the cells of one caller, size and destroyer are an object.
 *
 * A program may ask for any number of sizes. When there are too many cells, sizes are put into classes, and if that does not do,
 * into wider ones: then there are no more cells than stacks have destroyers and classes. */
#ifndef PFA_ANALYZE_EXCESS_OBJECTS_H
#define PFA_ANALYZE_EXCESS_OBJECTS_H

#include "analyze/excess/callers.h"

typedef enum pfa_object_sizes {
    PFA_SIZE_EXACT,
    PFA_SIZE_EIGHTHS, /* as --by size has them: above 1024 bytes by eighths of a power of two */
    PFA_SIZE_POWERS,  /* of two */
} pfa_object_sizes_t;

typedef struct pfa_object {
    uint64_t low; /* sizes; the same unless they are in classes */
    uint64_t high;
    uint32_t caller;    /* callers.h */
    uint32_t destroyer; /* a routine; PFA_ROUTINE_NEVER: its chunks are alive at the end */
    uint32_t cells;     /* the first of its cells */
    uint32_t cluster;
    pfa_object_sum_t sum; /* its chunks are its frequency */
    double lifetime;      /* the mean, nanoseconds */
    double ratio;         /* frequency / lifetime, by nanoseconds */
} pfa_object_t;

typedef struct pfa_objects {
    pfa_object_t *list; /* those that were freed, the most frequent first; then those that never were, likewise */
    size_t count;
    size_t freed; /* so many were */
    pfa_cells_t cells;
    double chunks; /* of all objects */
    double live;   /* of those that were never freed */
    double least;
    pfa_object_sizes_t classes;
    size_t most; /* cells; of more, sizes are put into wider classes */
} pfa_objects_t;

/* A chunk that stands for `weight` chunks. Its times were cut to multiples of `step`. */
typedef struct pfa_object_chunk {
    pfa_cell_key_t key; /* with its own size */
    double weight;
    double born;
    double died;
    double life;
    double step;
    double run; /* of its recording */
    bool moved;
} pfa_object_chunk_t;

void pfa_objects_take(pfa_objects_t *objects, pfa_query_t *query, const pfa_object_chunk_t *taken);
/* Makes the list of the cells; `least` as above. */
void pfa_objects_finish(pfa_objects_t *objects, pfa_callers_t *callers, double least);
void pfa_objects_free(pfa_objects_t *objects);

#endif
