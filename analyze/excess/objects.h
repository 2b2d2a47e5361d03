/* Allocation objects, EMAD's unit: (caller, size, destroyer) with how often it came about and how long it lived on average.
 *
 * While chunks go by, sums are kept by (stack, size, destroyer): cells. They are what the call trees of objects are made of,
 * and there are no more of them than allocation points have sizes and destroyers. When all have gone by, the cells of one
 * caller, size and destroyer are an object. */
#ifndef PFA_ANALYZE_EXCESS_OBJECTS_H
#define PFA_ANALYZE_EXCESS_OBJECTS_H

#include "analyze/excess/routines.h"

#define PFA_CELL_NONE UINT32_MAX

/* What is summed of chunks.
 *
 * Times that were cut to a step make each lifetime off by up to one, up or down; as births and deaths are cut alike, it is
 * right on average. A chunk that lives for a part f of a step is told 0 or a step, with a variance of f (1 - f) steps squared:
 * no more than its life times the step, nor than a quarter of a step squared. */
typedef struct pfa_sum {
    double chunks;
    double variance; /* of chunks: the sum of w (w - 1) over sampled ones, each of which stands for w */
    double life;     /* nanoseconds of all together, as they were written */
    double step;     /* nanoseconds: what the times of some were cut to; 0: to nothing */
} pfa_sum_t;

void pfa_sum_add(pfa_sum_t *sum, const pfa_sum_t *other);
/* The mean, nanoseconds. It is not below `least`, what the clock can tell apart; and if all lifetimes were cut to 0, those of all
 * chunks together are one step. */
double pfa_sum_lifetime(const pfa_sum_t *sum, double least);
/* Half the width of the interval that has the true mean with 95 %, as far as steps are to blame: not above one. */
double pfa_sum_lifetime_spread(const pfa_sum_t *sum);
/* Likewise of the true number of chunks; 0 unless sampled. */
double pfa_sum_spread(const pfa_sum_t *sum);

typedef struct pfa_cell {
    uint64_t size;
    uint32_t from; /* a stack; of objects, a routine */
    uint32_t to;   /* a routine */
    uint32_t next; /* of the same object; of an object, its first. PFA_CELL_NONE: no more */
    pfa_sum_t sum;
} pfa_cell_t;

/* A table of cells by from, size and to. */
typedef struct pfa_cells {
    pfa_cell_t *list;
    size_t count;
    size_t room;
    uint32_t *slots; /* number + 1 */
    size_t slot_count;
} pfa_cells_t;

/* That with these keys, a new one if there is none; until the next is asked for. */
pfa_cell_t *pfa_cells_get(pfa_cells_t *cells, uint32_t from, uint64_t size, uint32_t to);
void pfa_cells_free(pfa_cells_t *cells);

typedef struct pfa_object {
    uint64_t size;
    uint32_t caller;    /* routines */
    uint32_t destroyer; /* PFA_ROUTINE_NEVER: its chunks are alive at the end */
    uint32_t cells;     /* the first of its cells */
    uint32_t cluster;
    pfa_sum_t sum;   /* its chunks are its frequency */
    double lifetime; /* the mean, nanoseconds */
    double ratio;    /* frequency / lifetime, by nanoseconds */
} pfa_object_t;

typedef struct pfa_objects {
    pfa_object_t *list; /* those that were freed, the most frequent first; then those that never were, likewise */
    size_t count;
    size_t freed; /* so many were */
    pfa_cells_t cells;
    double chunks; /* of all objects */
    double live;   /* of those that were never freed */
    double bytes;
    double least;
} pfa_objects_t;

/* A chunk that stands for `weight` chunks. Its times were cut to multiples of `step`. */
typedef struct pfa_taken {
    uint32_t stack;
    uint32_t destroyer;
    uint64_t size;
    double weight;
    double life;
    double step;
} pfa_taken_t;

void pfa_objects_take(pfa_objects_t *objects, const pfa_taken_t *taken);
/* Makes the list of the cells; `least` as above. */
void pfa_objects_finish(pfa_objects_t *objects, pfa_routines_t *routines, double least);
void pfa_objects_free(pfa_objects_t *objects);

#endif
