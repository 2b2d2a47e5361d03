/* Sums of chunks, and a table of them by (from, group, size, to, source). For allocation objects and what is made of them. */
#ifndef PFA_ANALYZE_EXCESS_CELLS_H
#define PFA_ANALYZE_EXCESS_CELLS_H

#include <stddef.h>
#include <stdint.h>

/* What is summed of chunks.
 *
 * Times that were cut to a step make each lifetime off by up to one, up or down; as births and deaths are cut alike, it is
 * right on average. A chunk that lives for a part f of a step is told 0 or a step, with a variance of f (1 - f) steps squared:
 * no more than its life times the step, nor than a quarter of a step squared. */
typedef struct pfa_object_sum {
    double chunks;
    double variance; /* of chunks: the sum of w (w - 1) over sampled ones, each of which stands for w */
    double life;     /* nanoseconds of all together, as they were written */
    double step;     /* nanoseconds: what the times of some were cut to; 0: to nothing */
    double run;      /* nanoseconds: how long their recordings are, of each chunk its own, all together */
    double bytes;
    double moved; /* chunks that realloc ended: what was in them went on in others */
} pfa_object_sum_t;

void pfa_object_sum_add(pfa_object_sum_t *sum, const pfa_object_sum_t *other);
/* The mean, nanoseconds. It is not below `least`, what the clock can tell apart; and if all lifetimes were cut to 0, those of all
 * chunks together are one step. */
double pfa_object_sum_lifetime(const pfa_object_sum_t *sum, double least);
/* Half the width of the interval that has the true mean with 95 %, as far as steps are to blame: not above one. */
double pfa_object_sum_lifetime_within(const pfa_object_sum_t *sum);
/* Likewise of the true number of chunks; 0 unless sampled. */
double pfa_object_sum_within(const pfa_object_sum_t *sum);

#define PFA_CELL_NONE UINT32_MAX

typedef struct pfa_cell_key {
    uint64_t size;   /* of a class, the largest that it may have */
    uint32_t from;   /* a stack; of objects, a caller */
    uint32_t group;  /* what --by tells chunks of a stack apart by; else 0 */
    uint32_t to;     /* a routine */
    uint32_t source; /* number of the trace; of objects 0 */
} pfa_cell_key_t;

typedef struct pfa_object_cell {
    pfa_cell_key_t key;
    uint64_t low; /* the smallest and the largest size that came about */
    uint64_t high;
    double
        first; /* when the first was born and the last died; of objects, which may be in several traces, it means nothing */
    double last;
    pfa_object_sum_t sum;
    uint32_t next; /* of the same object; of an object, its first. PFA_CELL_NONE: no more */
} pfa_object_cell_t;

/* A table of cells by their keys. */
typedef struct pfa_cells {
    pfa_object_cell_t *list;
    size_t count;
    size_t room;
    uint32_t *slots; /* number + 1 */
    size_t slot_count;
} pfa_cells_t;

/* That with this key, a new one if there is none; until the next is asked for. */
pfa_object_cell_t *pfa_cells_get(pfa_cells_t *cells, const pfa_cell_key_t *key);
/* Adds what is in another one. */
void pfa_cell_join(pfa_object_cell_t *cell, const pfa_object_cell_t *other);
/* Puts those into one of which `size_of` makes the same size. */
void pfa_cells_coarsen(pfa_cells_t *cells, uint64_t (*size_of)(void *to, uint64_t size), void *to);
void pfa_cells_free(pfa_cells_t *cells);

#endif
