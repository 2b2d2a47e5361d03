/* Owns the peak of a query. See analyze/points/summit.h. One walk at a time. */
#include "analyze/points/summit.h"
#include "analyze/base/memory.h"
#include "analyze/points/together.h"

/* A trace by itself. */
typedef struct own {
    pfa_peak_t *finder; /* NULL: it is found, or not looked for */
    bool again;         /* it takes the second walk */
    pfa_peak_result_t result;
} own_t;

struct pfa_summit {
    const pfa_query_t *query;
    pfa_together_t *together; /* NULL: there is no common time, or one trace */
    bool each;                /* traces are looked at by themselves */
    own_t *own;               /* by source */
    size_t count;
    bool all_again; /* the peak of all takes the second walk */
    bool second;    /* walk */
};

pfa_summit_t *pfa_summit_new(const pfa_query_t *query, bool each)
{
    pfa_summit_t *summit = pfa_memory_get(1, sizeof *summit);
    pfa_trace_start_t *starts = pfa_memory_get(query->source_count, sizeof *starts);
    summit->query = query;
    summit->count = query->source_count;
    summit->own = pfa_memory_get(summit->count, sizeof *summit->own);
    for (size_t i = 0; i < summit->count; i++) {
        starts[i] = query->sources[i].start;
    }
    if (summit->count > 1 && query->comparable) {
        summit->together = pfa_together_new(starts, summit->count);
    }
    summit->each = each || summit->together == NULL;
    pfa_memory_free(starts);
    return summit;
}

void pfa_summit_free(pfa_summit_t *summit)
{
    if (summit == NULL) {
        return;
    }
    for (size_t i = 0; i < summit->count; i++) {
        if (summit->own[i].finder != NULL) {
            pfa_peak_free(summit->own[i].finder);
        }
    }
    pfa_together_free(summit->together);
    pfa_memory_free(summit->own);
    pfa_memory_free(summit);
}

static void end_own(own_t *own)
{
    own->result = pfa_peak_finish(own->finder);
    pfa_peak_free(own->finder);
    own->finder = NULL;
}

/* The beginning and end of a trace by itself. */
static void see_own(const pfa_summit_t *summit, const pfa_source_t *source, bool begins)
{
    own_t *own = &summit->own[source->number];
    if (begins && !summit->second) {
        own->finder = pfa_peak_new(source->start.counter, source->end);
    } else if (!begins && !summit->second) {
        own->again = pfa_peak_again(own->finder);
        if (!own->again) {
            end_own(own);
        }
    } else if (!begins && own->again) {
        end_own(own);
    }
}

void pfa_summit_source(pfa_summit_t *summit, const pfa_source_t *source, const pfa_trace_t *trace, bool begins)
{
    if (summit->each) {
        see_own(summit, source, begins);
    }
    bool together = summit->together != NULL && (!summit->second || summit->all_again);
    if (together && begins) {
        pfa_together_begin(summit->together, source->number, trace);
    } else if (together) {
        pfa_together_end(summit->together, source->end);
    }
}

void pfa_summit_add(pfa_summit_t *summit, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    double bytes = kind->weight * (double)kind->size;
    pfa_peak_t *finder = summit->own[kind->source->number].finder;
    if (summit->together != NULL && (!summit->second || summit->all_again)) {
        pfa_together_add(summit->together, chunk->row->alloc_time, chunk->row->free_time, bytes);
    }
    if (finder != NULL) {
        pfa_peak_add(finder, chunk->row->alloc_time, chunk->row->free_time, bytes);
    }
}

bool pfa_summit_again(pfa_summit_t *summit)
{
    summit->all_again = summit->together != NULL && pfa_together_again(summit->together);
    summit->second = summit->all_again;
    for (size_t i = 0; i < summit->count; i++) {
        summit->second = summit->second || summit->own[i].again;
    }
    return summit->second;
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
        pfa_peak_result_t result = pfa_summit_of(summit, i, &all.seconds);
        all.bytes += result.bytes;
        all.at_most += result.at_most;
    }
    return all;
}

/* No later than the end: the last bucket of a search has no end of its own. */
pfa_peak_result_t pfa_summit_of(const pfa_summit_t *summit, size_t number, double *seconds)
{
    const pfa_source_t *source = &summit->query->sources[number];
    pfa_peak_result_t result = summit->own[number].result;
    double since = (double)(int64_t)(result.time - source->start.counter) * source->ns_per_tick * 1e-9;
    double all = (source->end_ns - source->start_ns) * 1e-9;
    *seconds = result.bytes <= 0 ? 0 : since < all ? since : all;
    return result;
}

bool pfa_summit_within(const pfa_summit_t *summit, size_t number, uint64_t from, uint64_t end)
{
    uint64_t time = summit->own[number].result.time;
    return summit->together != NULL ? pfa_together_alive(summit->together, number, from, end)
                                    : from <= time && time < end;
}

bool pfa_summit_alive(const pfa_summit_t *summit, const pfa_kind_t *kind, const pfa_chunk_t *chunk)
{
    return pfa_summit_within(summit, kind->source->number, chunk->row->alloc_time, chunk->row->free_time);
}
