/* Allocation objects, EMAD's unit: (caller, size, destroyer) with how often it came about and how long it lived on average.
 *
 * While chunks go by, sums are kept by (stack, size, destroyer): cells. They are what the call trees of objects are made of,
 * and there are no more of them than allocation points have sizes and destroyers. When all have gone by, the cells of one
 * caller, size and destroyer are an object. */
#ifndef PFA_ANALYZE_EXCESS_OBJECTS_H
#define PFA_ANALYZE_EXCESS_OBJECTS_H

#include "analyze/excess/routines.h"

#define PFA_CELL_NONE UINT32_MAX

typedef struct pfa_cell {
    uint64_t size;
    uint32_t from; /* a stack; of objects, a routine */
    uint32_t to;   /* a routine */
    uint32_t next; /* of the same object; of an object, its first. PFA_CELL_NONE: no more */
    float step;    /* nanoseconds: what the times of some of its chunks were cut to; 0: to nothing */
    double chunks;
    double life;     /* nanoseconds of all together */
    double variance; /* of chunks: the sum of w (w - 1) over sampled ones, each of which stands for w */
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
    double frequency;
    double variance; /* of the frequency; 0 unless sampled */
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
} pfa_objects_t;

/* A chunk that stands for `weight` chunks. Its times were cut to multiples of `step`: a lifetime then is off by up to that,
 * and the mean of many is right nevertheless. */
typedef struct pfa_taken {
    uint32_t stack;
    uint32_t destroyer;
    uint64_t size;
    double weight;
    double life;
    double step;
} pfa_taken_t;

void pfa_objects_take(pfa_objects_t *objects, const pfa_taken_t *taken);
/* Makes the list of the cells. Lifetimes are not below `least`, what the clock can tell apart; and where times were cut,
 * those of all chunks together not below one step. */
void pfa_objects_finish(pfa_objects_t *objects, pfa_routines_t *routines, double least);
void pfa_objects_free(pfa_objects_t *objects);

#endif
