/* The peak of several traces together: when the sum of all their live bytes was largest, which is less than the sum of their
 * peaks unless all have them at once. The chunks of a trace count until it ends.
 *
 * Times of different traces are compared by the clock of their machine since it booted, or by the time of day, if they are of
 * different boots or machines. As with one trace's peak (analyze/points/peak.h), memory does not grow with the number of chunks; it
 * takes one walk through the rows of all traces, and a second one if that was not enough. */
#ifndef PFA_ANALYZE_POINTS_TOGETHER_H
#define PFA_ANALYZE_POINTS_TOGETHER_H

#include "analyze/points/peak.h"
#include "analyze/trace/trace.h"

typedef struct pfa_together pfa_together_t;

/* For traces with these starts, which are called by their numbers from now on. NULL: years lie between them. */
pfa_together_t *pfa_together_new(const pfa_trace_start_t *starts, size_t count);
void pfa_together_free(pfa_together_t *together);

/* One walk through a trace: its beginning, each chunk (free time UINT64_MAX: alive), its end. */
void pfa_together_begin(pfa_together_t *together, size_t number, const pfa_trace_t *trace);
void pfa_together_add(pfa_together_t *together, uint64_t alloc_time, uint64_t free_time, double bytes);
/* `last_time`: the last that is known of the trace. */
void pfa_together_end(pfa_together_t *together, uint64_t last_time);

/* After the first walk through all: whether there is to be a second. */
bool pfa_together_again(pfa_together_t *together);
/* After the last: the peak; its time means something to this file only. */
pfa_peak_result_t pfa_together_finish(pfa_together_t *together);
/* Then: whether a chunk of that trace was alive at the peak, and when that was, in seconds since the first trace began. */
bool pfa_together_alive(const pfa_together_t *together, size_t number, uint64_t alloc_time, uint64_t free_time);
double pfa_together_seconds(const pfa_together_t *together);

#endif
