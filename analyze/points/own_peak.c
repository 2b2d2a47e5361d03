/* Owns the peaks of single points. See analyze/points/own_peak.h. */
#include "analyze/points/own_peak.h"
#include "analyze/base/memory.h"

#include <math.h>
#include <stdlib.h>

static size_t part_of(double end_ns, double time)
{
    double part = end_ns > 0 ? time / end_ns * PFA_CURVE : 0;
    return part <= 0 ? 0 : part >= PFA_CURVE - 1 ? PFA_CURVE - 1 : (size_t)part;
}

static void add_change(pfa_curve_t *part, double bytes)
{
    part->change += bytes;
    part->events += part->events != UINT32_MAX;
}

void pfa_own_peak_add(pfa_own_peak_t *own, double end_ns, const pfa_chunk_t *chunk, bool live, double bytes,
                      uint32_t batch)
{
    own->curve = own->curve != NULL ? own->curve : pfa_memory_get(PFA_CURVE, sizeof *own->curve);
    pfa_curve_t *born = &own->curve[part_of(end_ns, chunk->born)];
    born->births += bytes;
    born->latest = batch;
    add_change(born, bytes);
    if (!live) {
        add_change(&own->curve[part_of(end_ns, chunk->died)], -bytes);
    }
}

bool pfa_own_peak_is_over(const pfa_own_peak_t *own, double end_ns, double from, double until, uint32_t batch)
{
    size_t last = part_of(end_ns, until);
    if (own->curve == NULL) { /* the first walk had none of its chunks: the file changed */
        return false;
    }
    for (size_t i = part_of(end_ns, from); i <= last; i++) {
        if (own->curve[i].latest > batch) {
            return false;
        }
    }
    return true;
}

static bool is_wanted(const pfa_own_peak_t *own, size_t part)
{
    return (own->wanted[part / 64] >> part % 64 & 1) != 0;
}

void pfa_own_peak_bound(pfa_own_peak_t *own, double largest)
{
    double live = 0;
    own->least = largest;
    for (size_t i = 0; own->curve != NULL && i < PFA_CURVE; i++) {
        own->most = fmax(own->most, live + own->curve[i].births);
        live += own->curve[i].change;
        own->least = fmax(own->least, live);
    }
    own->most = fmax(own->most, own->least);
    live = 0;
    for (size_t i = 0; own->curve != NULL && i < PFA_CURVE; i++) {
        if (live + own->curve[i].births > own->least) {
            own->wanted[i / 64] |= (uint64_t)1 << i % 64;
            own->event_count += own->curve[i].events;
        }
        live += own->curve[i].change;
    }
}

void pfa_own_peak_want(pfa_own_peak_t *own)
{
    own->events = pfa_memory_get(own->event_count, sizeof *own->events);
}

/* Of a process that goes on, the second walk may see more than the first. */
static void keep(pfa_own_peak_t *own, double end_ns, double time, double bytes)
{
    if (!is_wanted(own, part_of(end_ns, time))) {
        return;
    }
    if (own->kept < own->event_count) {
        own->events[own->kept] = (pfa_own_event_t){time, bytes};
    }
    own->kept++;
}

void pfa_own_peak_add_again(pfa_own_peak_t *own, double end_ns, const pfa_chunk_t *chunk, bool live, double bytes)
{
    keep(own, end_ns, chunk->born, bytes);
    if (!live) {
        keep(own, end_ns, chunk->died, -bytes);
    }
}

static int compare_events(const void *a, const void *b)
{
    const pfa_own_event_t *left = a;
    const pfa_own_event_t *right = b;
    if (left->time != right->time) {
        return left->time < right->time ? -1 : 1;
    }
    return left->bytes < right->bytes ? -1 : left->bytes > right->bytes;
}

/* Parts are in the order of time, and so are the sorted events of those that are wanted. */
static double find_exact(const pfa_own_peak_t *own)
{
    const pfa_own_event_t *event = own->events;
    double before = 0;
    double most = own->least;
    for (size_t i = 0; i < PFA_CURVE; i++) {
        double live = before;
        for (uint32_t j = 0; is_wanted(own, i) && j < own->curve[i].events; j++) {
            live += event++->bytes;
            most = fmax(most, live);
        }
        before += own->curve[i].change;
    }
    return most;
}

void pfa_own_peak_settle(pfa_own_peak_t *own)
{
    if (own->events != NULL && own->kept == own->event_count) {
        qsort(own->events, own->kept, sizeof *own->events, compare_events);
        own->least = own->most = find_exact(own);
    }
    pfa_memory_free(own->events);
    own->events = NULL;
}

void pfa_own_peak_free(pfa_own_peak_t *own)
{
    pfa_memory_free(own->curve);
    pfa_memory_free(own->events);
}
