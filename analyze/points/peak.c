/* Owns the search for the peak. See analyze/points/peak.h. */
#include "analyze/points/peak.h"
#include "analyze/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1 << 20, FEW = 2 << 20, EVENTS_MAX = 4 << 20 };

typedef struct bucket {
    double births;
    double deaths;
    uint32_t events;
} bucket_t;

/* One in which the peak can be. */
typedef struct chosen {
    uint32_t bucket;
    double live; /* when it begins */
} chosen_t;

typedef struct event {
    uint64_t time;
    double change;
} event_t;

struct pfa_peak {
    uint64_t first;
    unsigned shift;
    bucket_t *buckets; /* of the first walk; NULL: there are few events */
    chosen_t *chosen;  /* for the second, in order */
    size_t chosen_count;
    uint8_t *is_chosen; /* a bit for each bucket */
    event_t *events;    /* all, while they are few; then those of the chosen buckets */
    size_t count;
    size_t room;
    bool all;    /* events has all of them */
    bool second; /* the second walk */
    pfa_peak_result_t best;
};

pfa_peak_t *pfa_peak_new(uint64_t first, uint64_t last)
{
    pfa_peak_t *peak = pfa_memory_get(1, sizeof *peak);
    peak->first = first;
    peak->all = true;
    while (last > first && (last - first) >> peak->shift >= BUCKETS) {
        peak->shift++;
    }
    return peak;
}

void pfa_peak_free(pfa_peak_t *peak)
{
    pfa_memory_free(peak->buckets);
    pfa_memory_free(peak->chosen);
    pfa_memory_free(peak->is_chosen);
    pfa_memory_free(peak->events);
    pfa_memory_free(peak);
}

static size_t bucket_of(const pfa_peak_t *peak, uint64_t time)
{
    uint64_t number = time < peak->first ? 0 : (time - peak->first) >> peak->shift;
    return number < BUCKETS ? (size_t)number : BUCKETS - 1;
}

/* Buckets of twice the width. */
static void widen(pfa_peak_t *peak)
{
    for (size_t i = 0; i < BUCKETS / 2; i++) {
        const bucket_t *even = &peak->buckets[2 * i];
        const bucket_t *odd = even + 1;
        uint32_t room = UINT32_MAX - even->events;
        peak->buckets[i] = (bucket_t){.births = even->births + odd->births,
                                      .deaths = even->deaths + odd->deaths,
                                      .events = even->events + (odd->events < room ? odd->events : room)};
    }
    memset(&peak->buckets[BUCKETS / 2], 0, BUCKETS / 2 * sizeof *peak->buckets);
    peak->shift++;
}

static void add_to_bucket(pfa_peak_t *peak, uint64_t time, double change)
{
    while (time > peak->first && (time - peak->first) >> peak->shift >= BUCKETS) {
        widen(peak);
    }
    bucket_t *bucket = &peak->buckets[bucket_of(peak, time)];
    *(change > 0 ? &bucket->births : &bucket->deaths) += change;
    bucket->events += bucket->events < UINT32_MAX;
}

static void keep(pfa_peak_t *peak, uint64_t time, double change)
{
    peak->events = pfa_memory_grow(peak->events, &peak->room, peak->count + 1, sizeof *peak->events);
    peak->events[peak->count++] = (event_t){.time = time, .change = change};
}

static void forget_events(pfa_peak_t *peak)
{
    pfa_memory_free(peak->events);
    peak->events = NULL;
    peak->count = 0;
    peak->room = 0;
}

/* They were few so far. */
static void put_in_buckets(pfa_peak_t *peak)
{
    peak->buckets = pfa_memory_get(BUCKETS, sizeof *peak->buckets);
    for (size_t i = 0; i < peak->count; i++) {
        add_to_bucket(peak, peak->events[i].time, peak->events[i].change);
    }
    peak->all = false;
    forget_events(peak);
}

static void add_event(pfa_peak_t *peak, uint64_t time, double change)
{
    if (peak->second) {
        size_t bucket = bucket_of(peak, time);
        if ((peak->is_chosen[bucket / 8] >> bucket % 8 & 1) != 0 && peak->count < EVENTS_MAX) {
            keep(peak, time, change);
        }
        return;
    }
    if (peak->all && peak->count == FEW) {
        put_in_buckets(peak);
    }
    if (peak->all) {
        keep(peak, time, change);
    } else {
        add_to_bucket(peak, time, change);
    }
}

void pfa_peak_add(pfa_peak_t *peak, uint64_t alloc_time, uint64_t free_time, double bytes)
{
    if (free_time <= alloc_time || !(bytes > 0)) {
        return;
    }
    add_event(peak, alloc_time, bytes);
    if (free_time != UINT64_MAX) {
        add_event(peak, free_time, -bytes);
    }
}

void pfa_peak_take(pfa_peak_t *peak, uint64_t time, double bytes)
{
    if (bytes > 0) {
        add_event(peak, time, -bytes);
    }
}

static void offer(pfa_peak_t *peak, uint64_t time, double bytes)
{
    if (bytes > peak->best.bytes) {
        peak->best.bytes = bytes;
        peak->best.time = time;
    }
}

/* The last tick of a bucket; the last bucket has all that is later, too. */
static uint64_t end_of(const pfa_peak_t *peak, size_t bucket)
{
    return bucket + 1 == BUCKETS ? UINT64_MAX - 1 : peak->first + ((uint64_t)(bucket + 1) << peak->shift) - 1;
}

typedef struct bound {
    double most;
    size_t bucket;
} bound_t;

static int compare_bounds(const void *a, const void *b)
{
    double left = ((const bound_t *)a)->most;
    double right = ((const bound_t *)b)->most;
    return left > right ? -1 : left < right;
}

/* Buckets in which the heap can have been larger than at any end of a bucket. */
static bound_t *list_candidates(pfa_peak_t *peak, size_t *count)
{
    size_t room = 0;
    bound_t *list = NULL;
    double live = 0;
    for (size_t i = 0; i < BUCKETS; i++) {
        live += peak->buckets[i].births + peak->buckets[i].deaths;
        offer(peak, end_of(peak, i), live);
    }
    live = 0;
    for (size_t i = 0; i < BUCKETS; i++) {
        const bucket_t *bucket = &peak->buckets[i];
        if (bucket->deaths < 0 && live + bucket->births > peak->best.bytes) {
            list = pfa_memory_grow(list, &room, *count + 1, sizeof *list);
            list[(*count)++] = (bound_t){.most = live + bucket->births, .bucket = i};
        }
        live += bucket->births + bucket->deaths;
    }
    return list;
}

/* What the second walk needs of the buckets, which are many. */
static void keep_chosen(pfa_peak_t *peak, size_t count)
{
    double live = 0;
    peak->chosen = pfa_memory_get(count, sizeof *peak->chosen);
    for (size_t i = 0; i < BUCKETS; i++) {
        if ((peak->is_chosen[i / 8] >> i % 8 & 1) != 0) {
            peak->chosen[peak->chosen_count++] = (chosen_t){.bucket = (uint32_t)i, .live = live};
        }
        live += peak->buckets[i].births + peak->buckets[i].deaths;
    }
}

bool pfa_peak_again(pfa_peak_t *peak)
{
    if (peak->all) {
        return false;
    }
    size_t count = 0;
    size_t events = 0;
    size_t chosen = 0;
    bound_t *list = list_candidates(peak, &count);
    if (count != 0) {
        qsort(list, count, sizeof *list, compare_bounds);
    }
    peak->is_chosen = pfa_memory_get(BUCKETS / 8, 1);
    for (; chosen < count; chosen++) {
        size_t bucket = list[chosen].bucket;
        events += peak->buckets[bucket].events;
        if (events > EVENTS_MAX) {
            break;
        }
        peak->is_chosen[bucket / 8] |= (uint8_t)(1 << bucket % 8);
    }
    peak->best.at_most = chosen < count ? list[chosen].most : 0;
    pfa_memory_free(list);
    peak->second = chosen != 0;
    keep_chosen(peak, chosen);
    pfa_memory_free(peak->buckets);
    peak->buckets = NULL;
    return peak->second;
}

static int compare_events(const void *a, const void *b)
{
    uint64_t left = ((const event_t *)a)->time;
    uint64_t right = ((const event_t *)b)->time;
    return left < right ? -1 : left > right;
}

/* From one tick to the next, all changes of a tick at once. */
static void sweep(pfa_peak_t *peak, size_t from, size_t to, double live)
{
    for (size_t i = from; i < to;) {
        uint64_t time = peak->events[i].time;
        for (; i < to && peak->events[i].time == time; i++) {
            live += peak->events[i].change;
        }
        offer(peak, time, live);
    }
}

static void sweep_chosen(pfa_peak_t *peak)
{
    size_t at = 0;
    for (size_t i = 0; i < peak->chosen_count; i++) {
        size_t end = at;
        while (end < peak->count && bucket_of(peak, peak->events[end].time) == peak->chosen[i].bucket) {
            end++;
        }
        sweep(peak, at, end, peak->chosen[i].live);
        at = end;
    }
}

pfa_peak_result_t pfa_peak_finish(pfa_peak_t *peak)
{
    if (peak->count != 0) {
        qsort(peak->events, peak->count, sizeof *peak->events, compare_events);
    }
    if (peak->all) {
        sweep(peak, 0, peak->count, 0);
    } else if (peak->second) {
        sweep_chosen(peak);
    }
    peak->best.at_most = peak->best.at_most > peak->best.bytes ? peak->best.at_most : peak->best.bytes;
    return peak->best;
}
