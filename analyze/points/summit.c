/* Owns the peak of a query. See analyze/points/summit.h. One walk at a time. */
#include "analyze/points/summit.h"
#include "analyze/base/memory.h"
#include "analyze/points/together.h"

#include <stdlib.h>

struct pfa_summit {
    const pfa_query_t *query;
    pfa_together_t *together; /* NULL: each source by itself */
    pfa_peak_t **peaks;       /* then: by source, */
    pfa_peak_result_t *results;
    bool *again;
    size_t count;
    bool second; /* walk */
};

pfa_summit_t *pfa_summit_new(const pfa_query_t *query)
{
    pfa_summit_t *summit = pfa_memory_get(1, sizeof *summit);
    pfa_trace_start_t *starts = pfa_memory_get(query->source_count, sizeof *starts);
    summit->query = query;
    summit->count = query->source_count;
    summit->peaks = pfa_memory_get(summit->count, sizeof *summit->peaks);
    summit->results = pfa_memory_get(summit->count, sizeof *summit->results);
    summit->again = pfa_memory_get(summit->count, sizeof *summit->again);
    for (size_t i = 0; i < summit->count; i++) {
        starts[i] = query->sources[i].start;
    }
    if (summit->count > 1 && query->comparable) {
        summit->together = pfa_together_new(starts, summit->count);
    }
    for (size_t i = 0; i < summit->count && summit->together == NULL; i++) {
        summit->peaks[i] = pfa_peak_new(query->sources[i].start.counter, query->sources[i].end);
    }
    pfa_memory_free(starts);
    return summit;
}

void pfa_summit_free(pfa_summit_t *summit)
{
    for (size_t i = 0; i < summit->count; i++) {
        if (summit->peaks[i] != NULL) {
            pfa_peak_free(summit->peaks[i]);
        }
    }
    pfa_together_free(summit->together);
    pfa_memory_free(summit->peaks);
    pfa_memory_free(summit->results);
    pfa_memory_free(summit->again);
    pfa_memory_free(summit);
}

void pfa_summit_source(pfa_summit_t *summit, const pfa_source_t *source, const pfa_trace_t *trace, bool begins)
{
    if (summit->together != NULL && begins) {
        pfa_together_begin(summit->together, source->number, trace);
    } else if (summit->together != NULL) {
        pfa_together_end(summit->together, source->end);
    }
}

void pfa_summit_add(pfa_summit_t *summit, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    double bytes = kind->weight * (double)kind->size;
    uint32_t number = kind->source->number;
    if (summit->together != NULL) {
        pfa_together_add(summit->together, chunk->event->alloc_time, chunk->event->free_time, bytes);
    } else if (!summit->second || summit->again[number]) {
        pfa_peak_add(summit->peaks[number], chunk->event->alloc_time, chunk->event->free_time, bytes);
    }
}

bool pfa_summit_again(pfa_summit_t *summit)
{
    summit->second = summit->together != NULL && pfa_together_again(summit->together);
    for (size_t i = 0; i < summit->count && summit->together == NULL; i++) {
        summit->again[i] = pfa_peak_again(summit->peaks[i]);
        summit->second = summit->second || summit->again[i];
    }
    return summit->second;
}

/* No later than the end: the last bucket of a search has no end of its own. */
static double seconds_of(const pfa_source_t *source, const pfa_peak_result_t *result)
{
    double seconds = (double)(int64_t)(result->time - source->start.counter) * source->ns_per_tick * 1e-9;
    double all = (source->end_ns - source->start_ns) * 1e-9;
    return result->bytes <= 0 ? 0 : seconds < all ? seconds : all;
}

pfa_summit_result_t pfa_summit_finish(pfa_summit_t *summit)
{
    pfa_summit_result_t all = {.one = summit->together != NULL || summit->count == 1};
    if (summit->together != NULL) {
        pfa_peak_result_t result = pfa_together_finish(summit->together);
        all.bytes = result.bytes;
        all.at_most = result.at_most;
        all.seconds = pfa_together_seconds(summit->together);
        return all;
    }
    for (size_t i = 0; i < summit->count; i++) {
        summit->results[i] = pfa_peak_finish(summit->peaks[i]);
        all.bytes += summit->results[i].bytes;
        all.at_most += summit->results[i].at_most;
        all.seconds = seconds_of(&summit->query->sources[i], &summit->results[i]);
    }
    return all;
}

bool pfa_summit_alive(const pfa_summit_t *summit, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    uint32_t number = kind->source->number;
    uint64_t born = chunk->event->alloc_time;
    uint64_t died = chunk->event->free_time;
    if (summit->together != NULL) {
        return pfa_together_alive(summit->together, number, born, died);
    }
    return born <= summit->results[number].time && summit->results[number].time < died;
}
