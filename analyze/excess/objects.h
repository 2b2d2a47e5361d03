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
    pfa_query_t *query;
    pfa_cells_t *lanes; /* PFA_LANES of them, while chunks go by */
    pfa_cells_t cells;  /* all of these, once they have */
    double chunks;      /* of all objects */
    double live;        /* of those that were never freed */
    double least;
    pfa_object_sizes_t classes;
    size_t most; /* cells; of more, sizes are put into wider classes */
} pfa_objects_t;

/* Of a walk, by lanes: so many chunks of a kind, with the kind's own size in the key; the number of their cell until the lane settles. */
uint32_t pfa_objects_kind(pfa_objects_t *objects, const pfa_kind_t *kind, const pfa_cell_key_t *key, double rows);
/* One of them, with that number as the kind's note. Its times were cut to multiples of `step`. */
static inline void pfa_objects_chunk(const pfa_objects_t *objects, const pfa_kind_t *kind, const pfa_chunk_t *chunk,
                                     double step)
{
    pfa_object_cell_t *cell = &objects->lanes[pfa_lane_of(kind->group)].list[kind->note];
    cell->sum.life += kind->weight * chunk->life;
    cell->sum.step = step > cell->sum.step ? step : cell->sum.step;
    cell->first = chunk->born < cell->first ? chunk->born : cell->first;
    cell->last = chunk->died > cell->last ? chunk->died : cell->last;
}
/* After the lanes: puts sizes into wider classes if there are too many cells. */
void pfa_objects_settle(pfa_objects_t *objects);
/* Makes the list of the cells; `least` as above. */
void pfa_objects_finish(pfa_objects_t *objects, pfa_callers_t *callers, double least);
void pfa_objects_begin(pfa_objects_t *objects, pfa_query_t *query, size_t most);
void pfa_objects_free(pfa_objects_t *objects);

#endif
