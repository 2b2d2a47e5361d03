/* When the live heap was largest, and how large, in memory that does not grow with the number of chunks.
 *
 * Births and deaths are summed in buckets of time. Between buckets the live heap is known exactly; inside one it is at
 * most what was there before and all that was born in it. The buckets in which the peak can be are then looked at event
 * by event, in a second walk, as long as they are not too many: then the peak is exact. A heap of few chunks is sorted
 * in the first place.
 *
 * Of what happens at the same tick, deaths come first: the heap at a time t is all with allocation <= t < free. */
#ifndef PFA_ANALYZE_POINTS_PEAK_H
#define PFA_ANALYZE_POINTS_PEAK_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pfa_peak pfa_peak_t;

typedef struct pfa_peak_result {
    uint64_t time;
    double bytes;
    double at_most; /* the same if exact */
} pfa_peak_result_t;

/* Times are expected between first and last, and buckets are made for that; for later ones they are widened. */
pfa_peak_t *pfa_peak_new(uint64_t first, uint64_t last);
void pfa_peak_free(pfa_peak_t *peak);
/* A chunk, free time UINT64_MAX for one that is alive; in the first walk and, once it was asked for, in the second. */
void pfa_peak_add(pfa_peak_t *peak, uint64_t alloc_time, uint64_t free_time, double bytes);
/* The end of many that were added as alive: so many bytes in all. */
void pfa_peak_take(pfa_peak_t *peak, uint64_t time, double bytes);
/* After the first walk: whether all chunks are to be added again. */
bool pfa_peak_again(pfa_peak_t *peak);
pfa_peak_result_t pfa_peak_finish(pfa_peak_t *peak);

#endif
